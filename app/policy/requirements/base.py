"""What every requirement can say: is this answer good enough, and how many more votes would make it so."""

from abc import ABC, abstractmethod

import numpy as np
from pydantic import BaseModel, ConfigDict

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask


class Requirement(ABC, BaseModel):
    """When an item's answer is good enough to stop."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str

    @abstractmethod
    def satisfied(self, belief: Belief) -> Mask:
        """Which items are good enough, shape (items,)."""

    @abstractmethod
    def shortfalls(self, belief: Belief) -> Array:
        """The fewest further votes, all for class c, that make c the accepted answer; shape (items, classes)."""

    @abstractmethod
    def reason(self, votes: Array) -> Reason:
        """Why an item with these votes, shape (classes,), is or is not good enough."""

    def shortfall(self, belief: Belief) -> Array:
        """The fewest further votes that could satisfy the requirement, shape (items,)."""
        return np.where(self.satisfied(belief), 0.0, self.shortfalls(belief).min(axis=1))
