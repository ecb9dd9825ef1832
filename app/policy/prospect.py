"""An item as it is, and as it would be after one more answer."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.policy.belief import Array, Belief, Facts, IntArray, State
from app.policy.workers.base import Foresight, WorkerModel


@dataclass(frozen=True)
class Prospect:
    """Items, and what a given worker's next answer would make of them."""

    model: WorkerModel
    state: State
    facts: Facts
    skill: Array  # (items, parameters) of the worker who would answer item i; a newcomer's where nobody is named

    @classmethod
    def of(cls, model: WorkerModel, state: State, facts: Facts, skill: Array | None = None) -> "Prospect":
        if skill is None:
            newcomer = model.newcomer(state.votes.shape[1])
            skill = np.broadcast_to(newcomer, (len(state.votes), len(newcomer)))
        return cls(model, state, facts, skill)

    @property
    def only_counts(self) -> bool:
        """Nothing is kept of answers and workers but the votes, so every further vote weighs one."""
        return not self.state.evidence.shape[1] and not self.skill.shape[1]

    @property
    def votes_weigh_one(self) -> bool:
        """Whoever answers, a vote is a vote; what else the model keeps does not touch the counts."""
        return self.only_counts or self.now.weights is self.now.votes

    @cached_property
    def now(self) -> Belief:
        return self.model.read(self.state, self.facts)

    @cached_property
    def foresight(self) -> Foresight | None:
        """What any number of answers of one class would make of the items, where the model can tell at once."""
        return self.model.foresight(self.state, self.skill)

    def posterior_after(self, c: int) -> Array:
        """P(class) should the next answer be c, shape (items, classes)."""
        if self.foresight is None:
            return self.after_all(c).now.posterior
        return self.foresight(c, np.ones(len(self.state.votes)))

    @cached_property
    def chances(self) -> Array:
        """How likely the next answer is each class, shape (items, classes)."""
        return self.model.chances(self.now, self.skill)

    @cached_property
    def namesakes(self) -> IntArray:
        """For each class the first one that differs from it only in name, shape (classes,).

        Classes that nobody has voted for on any of these items, and of which the worker model says the same.
        """
        votes = self.state.votes
        each = np.arange(votes.shape[1])
        if self.model.tells_classes_apart or len(each) <= 2:  # noqa: PLR2004  nothing to save
            return each
        said = self.now.alpha if self.now.probability is None else self.now.probability
        unvoted = np.flatnonzero(~votes.any(axis=0))
        for c in unvoted:
            same = unvoted[(said[:, unvoted] == said[:, c : c + 1]).all(axis=0)]
            each[c] = same[0]
        return each

    def once(self, name: object, compute: "Callable[[Prospect], Array]") -> Array:
        """What was computed of this prospect under that name before, or is now."""
        if name not in self._computed:
            self._computed[name] = compute(self)
        return self._computed[name]

    @cached_property
    def _computed(self) -> dict[object, Array]:
        return {}

    def after(self, label: npt.NDArray[np.intp]) -> "Prospect":
        """The same items once item i has been answered with `label[i]` by the worker of this prospect."""
        state = self.model.answered(self.state, self.facts, self.skill, label)
        return Prospect(self.model, state, self.facts, self.skill)

    def distinct(self) -> "tuple[Prospect, IntArray] | None":
        """One item for each different count of votes, and which of them stands for each item.

        A million items have a few dozen different votes between them, and equal votes have equal value. None where
        items differ in more than votes, or where nearly all differ.
        """
        votes, items = self.state.votes, len(self.state.votes)
        if not self.only_counts or self.facts.prior is not None or not items:
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
        facts = Facts.plain(len(present), self.facts.seed)
        return Prospect(self.model, state, facts, np.empty((len(present), 0))), position[key]

    def after_all(self, c: int) -> "Prospect":
        """The same items once each has been answered with class c."""
        return self.after(np.full(len(self.state.votes), c, dtype=np.intp))
