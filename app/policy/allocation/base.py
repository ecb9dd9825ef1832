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

DECIMALS = 12
_MOST_DECIMALS = 300  # ten to this power is still a float


def significant(numbers: Array) -> Array:
    """Rounded to twelve significant digits, whatever their size, or to 300 decimals where those are fewer.

    >>> significant(np.array([0.1 + 0.2, 1e-15 / 3, 0.0, -2.5, -np.inf])).tolist()
    [0.3, 3.33333333333e-16, 0.0, -2.5, -inf]
    >>> significant(np.array([1e-295 / 3, 1e-310])).tolist()
    [3.3333e-296, 0.0]
    """
    size = np.floor(np.log10(np.where((numbers == 0) | np.isinf(numbers), 1.0, np.abs(numbers))))
    scale = 10.0 ** np.minimum(DECIMALS - 1 - size, _MOST_DECIMALS)
    return np.asarray(np.round(numbers * scale) / scale)


@dataclass(frozen=True)
class JobContext:
    """What an allocation may know about the job as a whole."""

    requirement: Requirement
    budget: float | None = None  # None: unlimited
    inverse_costs: float = 1.0  # the sum of 1 / cost over all items of the job
    picks_workers: bool = False  # whether the job chooses workers by what their answers are worth

    def paid_for(self, context: ItemContext) -> Array:
        """How many answers on each item the whole budget buys, split as by CrowdBudget; inf: unlimited.

        n_k = B / (c_k^2 sum_j 1 / c_j)        (Tran-Thanh et al., AAMAS 2013), which is B / (N c) at equal costs.
        """
        budget = np.inf if self.budget is None else self.budget
        return np.asarray(budget / (context.cost**2 * self.inverse_costs))


class Allocation(Policy, ABC):
    """Which item to ask about next: the open one with the highest priority.

    A new allocation must define `value`. `uses` makes it faster: it promises what the value does not depend on.
    """

    uses: ClassVar[Uses] = Uses.EVERYTHING

    @abstractmethod
    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        """What one more label is worth, shape (items,)."""

    def priority(self, lookahead: Lookahead, job: JobContext) -> Array:
        """The value per unit of money; members for which the cost matters in another way override it."""
        if self.uses.only_votes:
            value = self.value_once(lookahead, job)
        else:
            value = lookahead.in_parts(lambda part: self.value(part, job), only_votes=False)
        return np.round(value, DECIMALS) / lookahead.context.cost

    def value_once(self, lookahead: Lookahead, job: JobContext) -> Array:
        """The value, computed once for all items with equal votes: for values that depend on votes alone."""
        only_votes = job.requirement.uses.only_votes
        pooled = lookahead.distinct() if only_votes else None
        if pooled is None:
            return lookahead.in_parts(lambda part: self.value(part, job), only_votes=only_votes)
        representatives, stands_for = pooled
        return np.asarray(self.value(representatives, job)[stands_for])
