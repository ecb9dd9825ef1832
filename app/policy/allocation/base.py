"""What every allocation answers: what one more label on an item is worth."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.policy.core.arrays import Array
from app.policy.core.belief import ItemContext
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Policy, Uses
from app.policy.requirements.base import Requirement


@dataclass(frozen=True)
class JobContext:
    """What an allocation may know about the job as a whole."""

    requirement: Requirement
    budget: float | None = None  # None: unlimited
    inverse_costs: float = 1.0  # the sum of 1 / cost over all items of the job
    picks_workers: bool = False  # whether the job chooses workers by what their answers are worth

    def paid_for(self, context: ItemContext) -> Array:
        """How many answers on each item the whole budget buys at the price 1, split as by CrowdBudget; inf: unlimited.

        n_k = B / (c_k^2 sum_j 1 / c_j)        (Tran-Thanh et al., AAMAS 2013), which is B / (N c) at equal costs.
        """
        budget = np.inf if self.budget is None else self.budget
        return np.asarray(budget / (context.cost**2 * self.inverse_costs))


class Allocation(Policy, ABC):
    """Which item to ask about next: the open one with the highest priority.

    A new allocation must define `value`. The engine makes the priority from it. `uses` makes it faster: it promises
    what the value does not depend on.
    """

    uses: ClassVar[Uses] = Uses.EVERYTHING
    per_cost: ClassVar[bool] = True  # the priority is the value divided by the item's cost; False: the value itself
    has_clock: ClassVar[bool] = False  # minus the priority is a time, and a new item's time starts at that of the head
    breaks_ties: ClassVar[bool] = False  # `tie_break` says which of several items of equal value comes first

    @abstractmethod
    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        """What one more label is worth, shape (items,)."""

    def tie_break(self, lookahead: Lookahead) -> Array:
        """What to add to the value, shape (items,): less than any difference of values that matters."""
        return np.zeros(len(lookahead.state.votes))


def asked(lookahead: Lookahead) -> Array:
    """Answers that an item has or that are under way, shape (items,)."""
    return lookahead.now.total + lookahead.context.open_assignments
