"""The random policy that the papers compare with."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.allocation import Allocation, JobContext
from app.policy.core.belief import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.job_policy import JobPolicy


class UniformAllocation(Allocation):
    """Value all open items equally, so that the next one is drawn at random.

    For comparison only: `random` of the service does the same with fixed draws per item, so it can be repeated.
    """

    kind: Literal["anything"] = "anything"
    uses: ClassVar[Uses] = Uses.NOTHING

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  no requirement matters
        return np.zeros(len(lookahead.state.votes))


def with_allocation(allocation: Allocation, policy: JobPolicy) -> JobPolicy:
    """The same policy with an allocation that only experiments have.

    >>> with_allocation(UniformAllocation(), JobPolicy(labels=("a", "b"))).allocation.kind
    'anything'
    """
    return policy.model_copy(update={"allocation": allocation})
