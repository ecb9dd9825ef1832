"""Requirements that are decided by the two strongest classes' votes, one pseudo-vote each included."""

from abc import abstractmethod

import numpy as np

from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import Index, sole_leader


class OnCounts(Requirement):
    """A member says how many votes each class is short of being accepted; the rest follows."""

    @abstractmethod
    def missing(self, counts: Array) -> Array:
        """The votes that each class lacks against the strongest other, at most 0 if none; shape (items, classes)."""

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(self.missing(belief.counts).min(axis=1) <= 0)

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.weights)

    def shortfalls(self, prospect: Prospect) -> Array:
        """By formula where a vote weighs one, else by walking."""
        if not prospect.votes_weigh_one:
            return super().shortfalls(prospect)
        return np.maximum(np.ceil(self.missing(prospect.now.counts)), 0.0)
