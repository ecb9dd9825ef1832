"""What the answers so far say about each item: the state that is kept, and the belief that follows from it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.dirichlet import chance_of_being_largest, chance_of_the_strongest
from app.policy.core.prices import MIN_PRICE
from app.policy.core.randomness import uniform

__all__ = ["NOBODY", "Index", "sole_leader", "strongest_other", "two_strongest"]  # Index is that of `arrays`

NOBODY = -1  # no class leads alone
_TIE = 1e-9  # scores that are equal on paper differ in the last bits of a float

_HALF = 0.5 - _TIE
_BINARY = 2  # the common case needs no sorting, and is four times faster without


def strongest_other(counts: Array) -> Array:
    """For each class, the largest count among the other classes; shape (items, classes).

    >>> strongest_other(np.array([[5.0, 2.0, 3.0]]))
    array([[3., 5., 5.]])
    """
    if counts.shape[1] == _BINARY:
        return counts[:, ::-1]
    ordered = np.sort(counts, axis=1)
    top, second = ordered[:, -1:], ordered[:, -2:-1]
    # Where several classes share the top, the second equals the top, so every class correctly gets the top.
    return np.where(counts == top, second, top)


def sole_leader(scores: Array) -> Index:
    """The class with the highest score of each item, shape (items,); -1 where several share it.

    >>> sole_leader(np.array([[1.0, 4.0, 2.0], [2.0, 1.0, 2.0]]))
    array([ 1, -1])
    """
    leader = scores.argmax(axis=1)
    shared = scores.max(axis=1) - strongest_other(scores).min(axis=1) <= _TIE
    return np.where(shared, NOBODY, leader)


def two_strongest(counts: Array) -> tuple[Index, Index]:
    """The positions of the strongest and the second strongest class of each item; earlier classes win ties.

    >>> two_strongest(np.array([[1.0, 4.0, 2.0], [2.0, 2.0, 2.0]]))
    (array([1, 0]), array([2, 1]))
    """
    if counts.shape[1] == _BINARY:
        leader = (counts[:, 1] > counts[:, 0]).astype(np.intp)
        return leader, 1 - leader
    order = np.argsort(-counts, axis=1, kind="stable")
    return order[:, 0], order[:, 1]


__all__ = [
    "PSEUDO_VOTE",
    "Array",
    "Belief",
    "IntArray",
    "ItemContext",
    "Mask",
    "State",
]  # the types are those of `arrays`

PSEUDO_VOTE = 1.0  # per class, unless a requirement says otherwise: no class is at zero (Requallo, section 3.3)


@dataclass(frozen=True)
class State:
    """What is stored about each item between answers; row i of every array is item i."""

    votes: Array  # (items, classes) answers that count
    model_state: Array  # (items, *) what the worker model keeps besides the votes; its width depends on the model


@dataclass(frozen=True)
class ItemContext:
    """What is known about each item besides its answers."""

    cost: Array  # (items,) of one answer
    open_assignments: Array  # (items,) answers under way
    number: IntArray  # (items,) position in the job, which fixes the item's random draws
    prior: Array | None = None  # (items, classes) probabilities given with the item; a row of NaN: none
    seed: int = 0
    gold: IntArray | None = None  # (items,) the class that is known to be the true one; -1: unknown
    gold_value: Array | None = None  # (items,) the true number, where answers are numbers and `gold` is 0
    joined: Array | None = None  # (items,) by the clock of `random`, when each item joined the job; None: at 0
    price: float = 1.0  # that the job expects its workers to charge, in units of an item's cost

    @classmethod
    def plain(cls, items: int, seed: int = 0) -> "ItemContext":
        """Items of cost one without open assignments."""
        return cls(np.ones(items), np.zeros(items), np.arange(1, items + 1), None, seed)

    @property
    def expected_cost(self) -> Array:
        """What the next answer on each item is expected to cost: the item's cost times the expected price."""
        return self.cost * max(self.price, MIN_PRICE)

    @property
    def known(self) -> Mask:
        """Where the true class is known, shape (items,)."""
        return np.zeros(len(self.cost), dtype=bool) if self.gold is None else np.asarray(self.gold >= 0)

    def rows(self, which: IntArray | Mask | slice) -> "ItemContext":
        """The context of these items, in this order; an item may be named more than once.

        >>> ItemContext.plain(3, seed=7).rows(np.array([2, 0, 0])).number
        array([3, 1, 1])
        """
        return ItemContext(
            cost=self.cost[which],
            open_assignments=self.open_assignments[which],
            number=self.number[which],
            prior=None if self.prior is None else self.prior[which],
            seed=self.seed,
            gold=None if self.gold is None else self.gold[which],
            gold_value=None if self.gold_value is None else self.gold_value[which],
            joined=None if self.joined is None else self.joined[which],
            price=self.price,
        )


@dataclass(frozen=True)
class Belief:
    """What a worker model concludes from the state: the input of requirements and allocations."""

    votes: Array  # (items, classes) answers that count
    weights: Array  # (items, classes) the same answers, each with the weight of its worker
    squares: Array  # (items,) the sum of the squared weights
    alpha: Array  # (items, classes) Dirichlet parameters of the classes' shares in an infinite crowd, prior included
    context: ItemContext
    probability: Array | None = None  # (items, classes) where the model gives the classes' probabilities directly
    by_median: bool = False  # classes are in order, and the median leads instead of the most likely one

    @classmethod
    def of(cls, votes: npt.ArrayLike, context: ItemContext | None = None) -> "Belief":
        """The belief from plain votes of weight one: one row, or many.

        >>> Belief.of([3, 1]).alpha
        array([[4., 2.]])
        """
        counted = np.atleast_2d(np.asarray(votes, dtype=np.float64))
        context = context or ItemContext.plain(len(counted))
        return cls(counted, counted, counted.sum(axis=1), counted + 1, context)

    def rows(self, which: IntArray | Mask | slice) -> "Belief":
        """The belief about these items alone."""
        return replace(
            self,
            votes=self.votes[which],
            weights=self.weights[which],
            squares=self.squares[which],
            alpha=self.alpha[which],
            context=self.context.rows(which),
            probability=None if self.probability is None else self.probability[which],
        )

    @cached_property
    def total(self) -> Array:
        """Answers per item, shape (items,)."""
        return np.asarray(self.votes.sum(axis=1))

    @cached_property
    def posterior(self) -> Array:
        """P(class c is the true one), shape (items, classes)."""
        return self.probability if self.probability is not None else chance_of_being_largest(self.alpha)

    @cached_property
    def certainty(self) -> Array:
        """The posterior of the leading class, shape (items,): the largest one, h of Chen et al. (ICML 2013)."""
        if self.by_median:
            return np.asarray(np.take_along_axis(self.posterior, self.leader[:, None], axis=1)[:, 0])
        if self.probability is not None:
            return np.asarray(self.probability.max(axis=1))
        return chance_of_the_strongest(self.alpha)

    @cached_property
    def leader(self) -> Index:
        """The most likely class of each item, or the median; earlier classes win ties."""
        if self.by_median:
            return np.asarray((self.posterior.cumsum(axis=1) >= _HALF).argmax(axis=1))
        return np.asarray((self.probability if self.probability is not None else self.alpha).argmax(axis=1))

    @cached_property
    def winner(self) -> Index:
        """The single most likely class, or the median, shape (items,); -1 where several are equally likely."""
        if self.by_median:
            return self.leader
        return sole_leader(self.probability if self.probability is not None else self.alpha)

    def confidence(self, accuracy: Callable[[Array, Array], Array]) -> Array:
        """How likely the leading class is right, shape (items,), by what certainty and dissent have been worth."""
        return accuracy(self.certainty, self.dissent)

    @cached_property
    def dissent(self) -> Array:
        """Answers for other classes than the leader, shape (items,)."""
        return np.asarray(self.total - self.votes[np.arange(len(self.votes)), self.leader])

    def leads_alone(self, c: Index | int) -> Mask:
        """Where class c, or c[i] of item i, is the single most likely class; shape (items,).

        >>> Belief.of([[2, 1], [1, 1]]).leads_alone(0)
        array([ True, False])
        """
        return np.asarray(self.winner == c)

    def uniform_draws(self) -> Array:
        """A uniform number per item and round, fixed by the job's seed, shape (items,)."""
        return uniform(self.context.seed, self.context.number, self.total.astype(np.int64))


def one_more_vote(votes: Array, label: Index) -> Array:
    """The votes with one more for label[i] on item i."""
    counted = votes.copy()
    counted[np.arange(len(votes)), label] += 1
    return counted
