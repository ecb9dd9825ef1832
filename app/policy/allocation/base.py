"""What every allocation can say: what one more label on an item is worth."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.policy.belief import Array, Facts
from app.policy.member import Member
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.rounding import DECIMALS


@dataclass(frozen=True)
class Circumstances:
    """What an allocation may know of the job as a whole."""

    requirement: Requirement
    budget: float | None = None  # None: unlimited
    inverse_costs: float = 1.0  # the sum of 1 / cost over all items of the job
    picks_workers: bool = False  # the job compares what answers of different workers are worth

    def paid_for(self, facts: Facts) -> Array:
        """How many answers the whole budget buys on each item if it is split as CrowdBudget does; inf: unlimited.

        n_k = B / (c_k^2 sum_j 1 / c_j)        (Tran-Thanh et al., AAMAS 2013), which is B / (N c) at equal costs.
        """
        budget = np.inf if self.budget is None else self.budget
        return np.asarray(budget / (facts.cost**2 * self.inverse_costs))


class Allocation(Member, ABC):
    """Which item to ask about next: the open one with the highest priority."""

    heeds_in_flight: ClassVar[bool] = False  # the priority changes when an answer goes out or comes back unanswered
    heeds_number: ClassVar[bool] = False  # the priority tells apart items of equal value, by luck or by place
    heeds_worker: ClassVar[bool] = True  # whose answer it would be can play a part in its value
    heeds_budget: ClassVar[bool] = False  # the priority changes with the job's budget and with the costs of all items

    @property
    def by_votes_alone(self) -> bool:
        """Items with equal votes have equal value; not so where an item's cost, luck or number plays a part in it."""
        return True

    @abstractmethod
    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        """What one more label is worth, shape (items,)."""

    def priority(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        """The value that a unit of money buys; members for which cost plays another part say so."""
        return np.round(self._pooled_value(prospect, circumstances), DECIMALS) / prospect.facts.cost

    def _pooled_value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        """The value, computed once for all items with the same votes where that is the same."""
        alike = self.by_votes_alone and circumstances.requirement.by_votes_alone
        pooled = prospect.distinct() if alike else None
        if pooled is None:
            return self.value(prospect, circumstances)
        representatives, stands_for = pooled
        return np.asarray(self.value(representatives, circumstances)[stands_for])
