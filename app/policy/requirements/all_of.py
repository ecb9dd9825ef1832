"""Stop when several requirements hold at once."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement

if TYPE_CHECKING:
    from app.policy.requirements import AnyRequirement


class AllOf(Requirement):
    """All of the given requirements. Votes count towards each alike, so the slowest member sets the shortfall.

    >>> from app.policy.requirements import Count, Ratio
    >>> AllOf(of=(Ratio(min_ratio=4), Count(labels=5))).satisfied(Belief.of([[4, 0], [5, 0]]))
    array([False,  True])
    """

    kind: Literal["all"] = "all"
    of: Annotated["tuple[AnyRequirement, ...]", Field(min_length=1, max_length=8, description="What must hold")]

    @property
    def by_votes_alone(self) -> bool:
        return all(member.by_votes_alone for member in self.of)

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(np.logical_and.reduce([member.satisfied(belief) for member in self.of]))

    def shortfalls(self, prospect: Prospect) -> Array:
        return np.asarray(np.maximum.reduce([member.shortfalls(prospect) for member in self.of]))

    def reason(self, belief: Belief, item: int) -> Reason:
        """The first member that is not met; where all are met, the first of all."""
        unmet = (member for member in self.of if not member.satisfied(belief)[item])
        return next(unmet, self.of[0]).reason(belief, item)
