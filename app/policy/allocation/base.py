"""What every allocation can say: what one more label on an item is worth."""

from abc import ABC, abstractmethod

from pydantic import BaseModel, ConfigDict

from app.policy.belief import Array, Belief
from app.policy.requirements.base import Requirement


class Allocation(ABC, BaseModel):
    """Which item to ask about next: the open one with the highest priority."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str

    @abstractmethod
    def value(self, belief: Belief, requirement: Requirement) -> Array:
        """What one more label is worth, shape (items,); the engine divides it by the item's cost."""
