"""What the answers so far say about each item: the small state that decides an item's future, and its reading."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.policy.chance import uniform
from app.policy.dirichlet import chance_of_being_largest, chance_of_the_strongest
from app.policy.shares import sole_leader

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

PSEUDO_VOTE = 1.0  # one per class, so that no class ever stands at zero (Requallo, section 3.3)


@dataclass(frozen=True)
class State:
    """What is kept of each item between answers; row i of every array is item i."""

    votes: Array  # (items, classes) answers that count
    evidence: Array  # (items, *) what the worker model keeps beside the votes; its width is the model's affair


@dataclass(frozen=True)
class Facts:
    """What is known of each item whatever its answers say."""

    cost: Array  # (items,) of one answer
    in_flight: Array  # (items,) answers that are out
    number: IntArray  # (items,) position in the job: what chance hangs on
    prior: Array | None = None  # (items, classes) probabilities believed beforehand; a row of NaN: none
    seed: int = 0
    gold: IntArray | None = None  # (items,) the class that is known to be the true one; -1: unknown

    @classmethod
    def plain(cls, items: int, seed: int = 0) -> "Facts":
        """Items of cost one with nothing out."""
        return cls(np.ones(items), np.zeros(items), np.arange(1, items + 1), None, seed)

    @property
    def known(self) -> Mask:
        """Where the true class is known, shape (items,)."""
        return np.zeros(len(self.cost), dtype=bool) if self.gold is None else np.asarray(self.gold >= 0)

    def rows(self, which: IntArray | slice) -> "Facts":
        """The facts of these items alone, in this order; an item may be named more than once.

        >>> Facts.plain(3, seed=7).rows(np.array([2, 0, 0])).number
        array([3, 1, 1])
        """
        return Facts(
            cost=self.cost[which],
            in_flight=self.in_flight[which],
            number=self.number[which],
            prior=None if self.prior is None else self.prior[which],
            seed=self.seed,
            gold=None if self.gold is None else self.gold[which],
        )


@dataclass(frozen=True)
class Belief:
    """A worker model's reading of the state: what requirements and allocations decide by."""

    votes: Array  # (items, classes) answers that count
    weights: Array  # (items, classes) the same answers, each as heavy as its worker was when it came
    squares: Array  # (items,) the sum of the squared weights
    alpha: Array  # (items, classes) Dirichlet parameters of the classes' shares in an endless crowd, prior included
    facts: Facts
    probability: Array | None = None  # (items, classes) where the model gives the classes' probabilities directly
    clear: Array | None = None  # (items, classes) the same, if only what the next answer tells of knowledge counts

    @classmethod
    def of(cls, votes: npt.ArrayLike, facts: Facts | None = None) -> "Belief":
        """Plain votes, each as heavy as any other: one row, or many.

        >>> Belief.of([3, 1]).alpha
        array([[4., 2.]])
        """
        counted = np.atleast_2d(np.asarray(votes, dtype=np.float64))
        facts = facts or Facts.plain(len(counted))
        return cls(counted, counted, counted.sum(axis=1), counted + 1, facts)

    @cached_property
    def total(self) -> Array:
        """Answers per item, shape (items,)."""
        return np.asarray(self.votes.sum(axis=1))

    @cached_property
    def counts(self) -> Array:
        """Weighted votes with one pseudo-vote per class, shape (items, classes)."""
        return self.weights + PSEUDO_VOTE

    @cached_property
    def posterior(self) -> Array:
        """P(class c is the true one), shape (items, classes)."""
        return self.probability if self.probability is not None else chance_of_being_largest(self.alpha)

    @cached_property
    def certainty(self) -> Array:
        """The largest posterior of each item, shape (items,): h of Chen et al. (ICML 2013)."""
        if self.probability is not None:
            return np.asarray(self.probability.max(axis=1))
        return chance_of_the_strongest(self.alpha)

    @cached_property
    def leader(self) -> npt.NDArray[np.intp]:
        """The likeliest class of each item; earlier classes win ties."""
        return np.asarray((self.probability if self.probability is not None else self.alpha).argmax(axis=1))

    @cached_property
    def winner(self) -> npt.NDArray[np.intp]:
        """The class that is likelier than every other, shape (items,); -1 where several are equally likely."""
        return sole_leader(self.probability if self.probability is not None else self.alpha)

    def leads_alone(self, c: int) -> Mask:
        """Where class c is likelier than every other, shape (items,).

        >>> Belief.of([[2, 1], [1, 1]]).leads_alone(0)
        array([ True, False])
        """
        return np.asarray(self.winner == c)

    def luck(self) -> Array:
        """A uniform number per item and round, fixed by the job's seed, shape (items,)."""
        return uniform(self.facts.seed, self.facts.number, self.total.astype(np.int64))
