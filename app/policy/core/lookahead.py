"""Items as they are now, and as they would be after further answers."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.belief import Belief, ItemContext, State, two_strongest
from app.policy.core.equal_rows import first_equal_rows
from app.policy.worker_models.base import PosteriorAfter, WorkerModel

if TYPE_CHECKING:
    from app.policy.requirements.base import Requirement


DECIMALS = 12  # to which values are computed: what differs less is equal
_MOST_DECIMALS = 300  # ten to this power is still a float
_MANY_CLASSES = 32  # from which on looking for equal items takes less time than it saves
_FEW = 8  # different answers per item; a prior over a few labels takes no time
_LARGEST_PART = 100_000  # classes times answers that are looked at together


@dataclass(frozen=True)
class NextAnswers:
    """The different answers that each item may get next, item by item; entry a of every (answers,) array is answer a.

    An answer may stand for several that differ from it only in their name; `label` is the first of them.
    """

    item: Index  # (answers,)
    label: Index  # (answers,)
    position: Index  # (items, classes) the answer that stands for each class

    @classmethod
    def all_different(cls, items: int, classes: int) -> "NextAnswers":
        each = np.arange(items * classes)
        return cls(each // classes, each % classes, each.reshape(items, classes))

    @classmethod
    def grouped(cls, kinds: Array) -> "NextAnswers":
        """Of each item, classes of the same kind differ only in name; shape (items, classes)."""
        order = np.argsort(kinds, axis=1, kind="stable")
        first = np.diff(np.take_along_axis(kinds, order, axis=1), axis=1, prepend=-np.inf) != 0
        item, place = np.nonzero(first)
        position = np.empty_like(order)
        np.put_along_axis(position, order, first.ravel().cumsum().reshape(order.shape) - 1, axis=1)
        return cls(item, order[item, place], position)

    def per_class(self, values: Array) -> Array:
        """What was found for each of these answers, (answers,), for every class: shape (items, classes)."""
        return np.asarray(values[self.position])

    @cached_property
    def stand_alone(self) -> bool:
        """Whether each stands for one class."""
        return len(self.label) == self.position.size

    def chance(self, chances: Array) -> Array:
        """How likely each of these answers is, (answers,), by the chances of the classes, (items, classes)."""
        if self.stand_alone:
            return np.asarray(chances[self.item, self.label])
        return np.bincount(self.position.ravel(), chances.ravel()).astype(np.float64)

    def sum_by_item(self, values: Array) -> Array:
        """The sum over the answers of each item; values are (answers, *)."""
        begin = np.flatnonzero(np.diff(self.item, prepend=-1))
        return np.asarray(np.add.reduceat(values, begin, axis=0))


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

    def by_new_workers(self) -> "Lookahead":
        """The same items before an answer of a new worker."""
        new = (self.skill == self.model.newcomer(self.state.votes.shape[1])).all()
        return self if new else Lookahead.of(self.model, self.state, self.context)

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
    def of_questions(self) -> "Lookahead":
        """The questions of the items, and what the next answer would change about each."""
        return Lookahead(*self.model.of_questions(self.state, self.context, self.skill))

    def posterior_after(self, label: Index | int) -> Array:
        """P(class) if the next answer to item i is `label[i]`, shape (items, classes)."""
        at_once = self.posterior_after_votes(label)
        return self.after(label).now.posterior if at_once is None else at_once(np.ones(len(self.state.votes)))

    def posterior_after_votes(self, label: Index | int) -> PosteriorAfter | None:
        """P(class) after any number of answers `label[i]`, where the model can compute it in one step."""
        return self.model.posterior_after(self.state, self.skill, self._of_each(label))

    @cached_property
    def chances(self) -> Array:
        """How likely the next answer is each class, shape (items, classes)."""
        return self.model.chances(self.now, self.skill)

    @cached_property
    def answers(self) -> "NextAnswers":
        """The different possible next answers; those that differ only in their name are one.

        Classes without a vote, about which the worker model says the same, lead to the same outcome. With a thousand
        labels, only a handful of outcomes are left to look at.

        >>> from app.policy.worker_models import Anonymous
        >>> state = State(np.array([[2.0, 0.0, 1.0, 0.0, 0.0]]), np.empty((1, 0)))
        >>> answers = Lookahead.of(Anonymous(), state, ItemContext.plain(1)).answers
        >>> answers.label.tolist(), answers.position.tolist()
        ([2, 0, 1], [[1, 2, 0, 2, 2]])
        """
        votes = self.state.votes
        if not self.model.treats_labels_alike or votes.shape[1] <= 2:  # noqa: PLR2004  nothing to save
            return NextAnswers.all_different(*votes.shape)
        said = self.now.alpha if self.now.probability is None else self.now.probability
        return NextAnswers.grouped(np.where(votes > 0, -1.0 - np.arange(votes.shape[1]), said))

    @cached_property
    def each_answer(self) -> "Lookahead":
        """The items once for each of those answers, in their order."""
        return self.rows(self.answers.item)

    @cached_property
    def contenders(self) -> "NextAnswers":
        """The classes to which a requirement looks ahead; the likeliest stands for the others without votes.

        Priors, and fits that estimate how common each class is, make every class different. But a less likely class
        never needs fewer votes, so it decides nothing, unless it is one of the two with most votes (`race_of_two`).
        """
        votes = self.state.votes
        if not self.model.treats_labels_alike or votes.shape[1] <= 2 or self.answers.label.size <= _FEW * len(votes):  # noqa: PLR2004  nothing to save
            return self.answers
        said = self.now.alpha if self.now.probability is None else self.now.probability
        kinds, each = np.where(votes > 0, -1.0 - np.arange(votes.shape[1]), 0.0), np.arange(len(votes))
        for label in two_strongest(self.now.weights):
            kinds[each, label] = -1.0 - label
        found = NextAnswers.grouped(kinds)
        likeliest = np.where(votes > 0, -1.0, said).argmax(axis=1)[found.item]
        stands_for_others = kinds[found.item, found.label] == 0
        return replace(found, label=np.where(stands_for_others, likeliest, found.label))

    @cached_property
    def each_contender(self) -> "Lookahead":
        """The items once for each of those classes, in their order."""
        return self.rows(self.contenders.item)

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
        """Apply `compute` to these items; with many classes in parts that fit into a cache, with the same result.

        With `only_votes`, items with equal votes and model state are then computed once.
        """
        items, classes = self.state.votes.shape
        if classes <= _MANY_CLASSES or items <= 1:
            return compute(self)
        first = first_equal_rows(np.hstack(self._distinguishing())) if only_votes else np.arange(items)
        firsts, position = np.unique(first, return_inverse=True)
        size = max(_LARGEST_PART * items // (self.answers.label.size * classes), 1)
        if len(firsts) == items <= size:
            return compute(self)
        parts = [firsts[start : start + size] for start in range(0, len(firsts), size)]
        return np.asarray(np.concatenate([compute(self.rows(part)) for part in parts])[position.ravel()])

    def _distinguishing(self) -> list[Array]:
        """Everything in which two items may differ besides their context, (items, *) each."""
        rows = [self.state.votes, self.state.model_state]
        if self.skill.strides[0]:  # else one worker's skill is repeated
            rows.append(self.skill)
        return rows if self.context.prior is None else [*rows, self.context.prior]

    def rows(self, which: Index) -> "Lookahead":
        """These items alone, in this order; an item may be named more than once."""
        state = State(self.state.votes[which], self.state.model_state[which])
        return Lookahead(self.model, state, self.context.rows(which), self.skill[which])

    @cached_property
    def _shortfalls(self) -> "dict[Requirement, Array]":
        return {}

    def after(self, label: Index | int) -> "Lookahead":
        """The same items after this lookahead's worker has answered item i with `label[i]`."""
        state = self.model.after_answer(self.state, self.context, self.skill, self._of_each(label))
        return Lookahead(self.model, state, self.context, self.skill)

    def after_each(self, label: Index, times: int) -> "Lookahead":
        """The items after one such answer, then the same items after two, and so on; shape (times * items,)."""
        state = self.model.after_answers(self.state, self.context, self.skill, label, times)
        again = np.tile(np.arange(len(label)), times)
        return Lookahead(self.model, state, self.context.rows(again), self.skill[again])

    def _of_each(self, label: Index | int) -> Index:
        return np.full(len(self.state.votes), label, dtype=np.intp)

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
    def answers(self) -> "NextAnswers":
        """The first class represents all of them, even if the model treats classes differently."""
        return NextAnswers.grouped(np.zeros(self.state.votes.shape))

    @cached_property
    def contenders(self) -> "NextAnswers":
        return self.answers


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
