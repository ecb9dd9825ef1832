"""Ask about every item in turn, as most platforms do today."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Allocation, JobContext, asked
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import EVERY_KIND, Uses


class RoundRobin(Allocation):
    """Ask about the item with the fewest answers, including those under way (`looping`, Li et al., WSDM 2016, 4.1).

        -(answers + answers under way).

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> import numpy as np
    >>> votes = State(np.array([[2.0, 1.0], [0.0, 1.0]]), np.empty((2, 0)))
    >>> RoundRobin().value(Lookahead.of(Anonymous(), votes, ItemContext.plain(2)), JobContext(Ratio()))
    array([-3., -1.])
    """

    kind: Literal["round-robin"] = "round-robin"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND
    uses: ClassVar[Uses] = Uses.OPEN_ASSIGNMENTS
    per_cost: ClassVar[bool] = False

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the requirement does not matter
        return -asked(lookahead)
