"""Stop at a fixed number of labels: what most platforms offer today."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import strongest_other

_TIE = 1e-9  # a lead smaller than this is none


class Count(Requirement):
    """A fixed number of real labels, whatever they say (the minimum label count of Li et al., WSDM 2016).

        sum_c v_c >= labels.

    >>> Count(labels=3).satisfied(Belief.of([[1, 1], [2, 1]]))
    array([False,  True])
    """

    kind: Literal["count"] = "count"
    picks_a_class: ClassVar[bool] = False
    labels: Annotated[int, Field(ge=1, le=10_000, description="How many labels every item gets")]

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(belief.total >= self.labels)

    def shortfalls(self, prospect: Prospect) -> Array:
        """The votes that are missing, or those that class c needs to lead alone, an item's own prior included."""
        if not prospect.only_counts or prospect.now.probability is not None:
            return super().shortfalls(prospect)
        alpha = prospect.now.alpha
        votes_to_lead = np.floor(strongest_other(alpha) - alpha + _TIE) + 1
        votes_to_count = self.labels - prospect.now.total[:, None]
        return np.asarray(np.maximum(np.maximum(votes_to_lead, votes_to_count), 0.0))

    def reason(self, belief: Belief, item: int) -> Reason:
        given = belief.total[item]
        code = "count" if given >= self.labels else "count-not-reached"
        return Reason(code, f"{given:g} of {self.labels} labels")
