"""Items as they are now, and as they would be after further answers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.equal_rows import first_equal_rows
from app.policy.worker_models.base import PosteriorAfter, WorkerModel

if TYPE_CHECKING:
    from app.policy.requirements.base import Requirement


DECIMALS = 12  # to which values are computed: what differs less is equal
_MOST_DECIMALS = 300  # ten to this power is still a float
_MANY_CLASSES = 32  # from which on items with votes for different classes are not computed together


@dataclass(frozen=True)
class Lookahead:
    """Items, and what the next answer of a given worker would change: what requirements and allocations look at."""

    model: WorkerModel
    state: State
    context: ItemContext
    skill: Array  # (items, parameters) of the worker who would answer item i; a new worker's where none is named

    @classmethod
    def of(cls, model: WorkerModel, state: State, context: ItemContext, skill: Array | None = None) -> "Lookahead":
        if skill is None:
            newcomer = model.newcomer(state.votes.shape[1])
            skill = np.broadcast_to(newcomer, (len(state.votes), len(newcomer)))
        return cls(model, state, context, skill)

    @property
    def only_counts(self) -> bool:
        """Whether votes are all that is kept of answers and workers, so that every further vote weighs one."""
        return not self.state.model_state.shape[1] and not self.skill.shape[1]

    @property
    def votes_weigh_one(self) -> bool:
        """Whether each vote counts as one, whatever else the model keeps."""
        return self.only_counts or self.now.weights is self.now.votes

    @cached_property
    def now(self) -> Belief:
        """What the worker model believes about the items now."""
        return self.model.read(self.state, self.context)

    @cached_property
    def posterior_after_votes(self) -> PosteriorAfter | None:
        """P(class) after any number of answers of one class, where the model can compute it in one step."""
        return self.model.posterior_after(self.state, self.skill)

    def posterior_after(self, c: int) -> Array:
        """P(class) if the next answer is c, shape (items, classes)."""
        if self.posterior_after_votes is None:
            return self.after_all(c).now.posterior
        return self.posterior_after_votes(c, np.ones(len(self.state.votes)))

    @cached_property
    def chances(self) -> Array:
        """How likely the next answer is each class, shape (items, classes)."""
        return self.model.chances(self.now, self.skill)

    @cached_property
    def namesakes(self) -> IntArray:
        """For each class the first one that differs from it only in its name, shape (classes,).

        These are classes without a vote on any of these items, about which the worker model says the same. With a
        thousand labels, only a handful of different classes are left to compute.
        """
        votes = self.state.votes
        each = np.arange(votes.shape[1])
        if not self.model.treats_labels_alike or len(each) <= 2:  # noqa: PLR2004  nothing to save
            return each
        said = self.now.alpha if self.now.probability is None else self.now.probability
        unvoted = np.flatnonzero(~votes.any(axis=0))
        each[unvoted] = unvoted[first_equal_rows(said[:, unvoted].T)]
        return each

    def different_answers(self) -> list[tuple[int, IntArray]]:
        """The different possible answers: the first of each kind, and all answers that differ from it only in name.

        Classes without a vote on any of these items, about which the worker model says the same, lead to the same
        outcome. With a thousand labels, only a handful of outcomes are left to look at.

        >>> from app.policy.worker_models import Anonymous
        >>> state = State(np.array([[2.0, 0.0, 1.0, 0.0, 0.0]]), np.empty((1, 0)))
        >>> kinds = Lookahead.of(Anonymous(), state, ItemContext.plain(1)).different_answers()
        >>> [(first, answers.tolist()) for first, answers in kinds]
        [(0, [0]), (1, [1, 3, 4]), (2, [2])]
        """
        namesake = self.namesakes
        return [(c, np.flatnonzero(namesake == c)) for c in np.unique(namesake).tolist()]

    def per_class(self, compute: Callable[[int], Array]) -> Array:
        """The column `compute(c)`, shape (items,), of every class, computed once for classes that differ only in name.

        >>> from app.policy.worker_models import Anonymous
        >>> state = State(np.array([[2.0, 0.0, 0.0, 0.0]]), np.empty((1, 0)))
        >>> lookahead, asked = Lookahead.of(Anonymous(), state, ItemContext.plain(1)), []
        >>> lookahead.per_class(lambda c: asked.append(c) or lookahead.state.votes[:, c]), asked
        (array([[2., 0., 0., 0.]]), [0, 1])
        """
        first, position = np.unique(self.namesakes, return_inverse=True)
        return np.stack([compute(c) for c in first.tolist()], axis=1)[:, position.ravel()]

    def shortfalls(self, requirement: "Requirement") -> Array:
        """The requirement's shortfalls of these items, shape (items, classes), computed once for equal requirements."""
        if requirement not in self._shortfalls:
            self._shortfalls[requirement] = self.in_parts(requirement.shortfalls, only_votes=not requirement.uses)
        return self._shortfalls[requirement]

    def once_per_votes(self, compute: "Callable[[Lookahead], Array]") -> Array:
        """What `compute` gives for these items, computed once for items with equal votes.

        Only for what depends on votes and the worker model alone.
        """
        pooled = self.distinct()
        if pooled is None:
            return self.in_parts(compute, only_votes=True)
        representatives, stands_for = pooled
        return np.asarray(compute(representatives)[stands_for])

    def in_parts(self, compute: "Callable[[Lookahead], Array]", *, only_votes: bool) -> Array:
        """Apply `compute` to these items; with many classes in small parts, which gives the same result.

        Classes are computed once only where they have no vote on any of the items (`namesakes`). If 32 items have two
        votes each among a thousand labels, up to 64 classes differ on all items together, but only three in each part
        of items with votes for the same classes. With `only_votes`, items with equal votes and model state are computed
        once.
        """
        if self.state.votes.shape[1] <= _MANY_CLASSES or len(self.state.votes) <= 1:
            return compute(self)
        first = first_equal_rows(np.hstack(self._distinguishing())) if only_votes else np.arange(len(self.state.votes))
        firsts, position = np.unique(first, return_inverse=True)
        voted = first_equal_rows(self.state.votes[firsts] > 0)
        parts = [np.flatnonzero(voted == part) for part in np.unique(voted)]
        found = [compute(self._rows(firsts[part])) for part in parts]
        values = np.concatenate(found)[np.argsort(np.concatenate(parts), kind="stable")]
        return np.asarray(values[position.ravel()])

    def _distinguishing(self) -> list[Array]:
        """Everything in which two items may differ besides their context, (items, *) each."""
        rows = [self.state.votes, self.state.model_state]
        if self.skill.strides[0]:  # else one worker's skill is repeated
            rows.append(self.skill)
        return rows if self.context.prior is None else [*rows, self.context.prior]

    def _rows(self, which: Index) -> "Lookahead":
        state = State(self.state.votes[which], self.state.model_state[which])
        return Lookahead(self.model, state, self.context.rows(which), self.skill[which])

    @cached_property
    def _shortfalls(self) -> "dict[Requirement, Array]":
        return {}

    def after(self, label: Index) -> "Lookahead":
        """The same items after this lookahead's worker has answered item i with `label[i]`."""
        state = self.model.after_answer(self.state, self.context, self.skill, label)
        return Lookahead(self.model, state, self.context, self.skill)

    def after_all(self, c: int) -> "Lookahead":
        """The same items after each has been answered with class c."""
        return self.after(np.full(len(self.state.votes), c, dtype=np.intp))

    def distinct(self) -> "tuple[Lookahead, IntArray] | None":
        """One item for each different count of votes, and for each item the position of the one that represents it.

        A million items have a few dozen different votes between them. The items returned have cost one and no open
        assignments: use it only for what depends on votes alone. None where items differ in more than their votes, or
        where nearly all have different votes.
        """
        votes, items = self.state.votes, len(self.state.votes)
        if not self.only_counts or self.context.prior is not None or not items:
            return None
        base = int(votes.max()) + 1
        keys = base ** votes.shape[1]
        if keys > items:
            return None
        key = (votes @ float(base) ** np.arange(votes.shape[1])).astype(np.int64)
        present = np.flatnonzero(np.bincount(key, minlength=keys))
        position = np.zeros(keys, dtype=np.int64)
        position[present] = np.arange(len(present))
        pooled = np.stack([present // base**c % base for c in range(votes.shape[1])], axis=1).astype(np.float64)
        state = State(pooled, np.empty((len(present), 0)))
        context = ItemContext.plain(len(present), self.context.seed)
        return Lookahead(self.model, state, context, np.empty((len(present), 0))), position[key]


class FreshLookahead(Lookahead):
    """Items without any answer and without a prior, before a new worker's answers: all classes are alike."""

    @classmethod
    def of_one_item(cls, model: WorkerModel, classes: int) -> "FreshLookahead":
        context, newcomer = ItemContext.plain(1), model.newcomer(classes)
        return cls(model, model.start(context, classes), context, newcomer[None])

    @cached_property
    def namesakes(self) -> IntArray:
        """The first class represents all of them, even if the model treats classes differently."""
        return np.zeros(self.state.votes.shape[1], dtype=np.int64)


def significant(numbers: Array) -> Array:
    """Values rounded to twelve significant digits, or to 300 decimals where that is less: equal values become equal.

    >>> significant(np.array([0.1 + 0.2, 1e-15 / 3, 0.0, -2.5, -np.inf])).tolist()
    [0.3, 3.33333333333e-16, 0.0, -2.5, -inf]
    >>> significant(np.array([1e-295 / 3, 1e-310])).tolist()
    [3.3333e-296, 0.0]
    """
    size = np.floor(np.log10(np.where((numbers == 0) | np.isinf(numbers), 1.0, np.abs(numbers))))
    scale = 10.0 ** np.minimum(DECIMALS - 1 - size, _MOST_DECIMALS)
    return np.asarray(np.round(numbers * scale) / scale)
