"""Stop at a fixed number of labels: what most platforms offer today."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import strongest_other


class Count(Requirement):
    """A fixed number of real labels, whatever they say (the minimum label count of Li et al., WSDM 2016).

        sum_c v_c >= labels.

    >>> Count(labels=3).satisfied(Belief.of([[1, 1], [2, 1]]))
    array([False,  True])
    """

    kind: Literal["count"] = "count"
    labels: Annotated[int, Field(ge=1, le=10_000, description="How many labels every item gets")]

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(belief.total >= self.labels)

    def shortfalls(self, prospect: Prospect) -> Array:
        votes = prospect.now.votes
        votes_to_lead = strongest_other(votes) + 1 - votes
        votes_to_count = self.labels - prospect.now.total[:, None]
        return np.maximum(np.maximum(votes_to_lead, votes_to_count), 0.0)

    def reason(self, belief: Belief, item: int) -> Reason:
        given = belief.total[item]
        code = "count" if given >= self.labels else "count-not-reached"
        return Reason(code, f"{given:g} of {self.labels} labels")
