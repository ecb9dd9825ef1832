"""Stop when several requirements hold at once."""

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.requirements.base import Requirement

if TYPE_CHECKING:
    from app.policy.requirements import AnyRequirement


class AllOf(Requirement):
    """All of the given requirements. Votes count towards each alike, so the slowest member sets the shortfall.

    >>> from app.policy.requirements import Count, Ratio
    >>> AllOf(of=(Ratio(min_ratio=4), Count(labels=5))).shortfall(Belief.of([[0, 0], [4, 0], [5, 0]]))
    array([5., 1., 0.])
    """

    kind: Literal["all"] = "all"
    of: Annotated["tuple[AnyRequirement, ...]", Field(min_length=1, max_length=8, description="What must hold")]

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(np.logical_and.reduce([member.satisfied(belief) for member in self.of]))

    def shortfalls(self, belief: Belief) -> Array:
        return np.asarray(np.maximum.reduce([member.shortfalls(belief) for member in self.of]))

    def reason(self, votes: Array) -> Reason:
        """The first member that is not met; where all are met, the first of all."""
        belief = Belief.of(votes)
        unmet = (member for member in self.of if not member.satisfied(belief)[0])
        return next(unmet, self.of[0]).reason(votes)
