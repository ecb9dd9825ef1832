"""Let all items finish at about the same time, so that few answers arrive too late to count."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Allocation, JobContext
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses


class Dispatch(Allocation):
    """Ask where most work is left (Gao et al., SIGMOD 2013, Alg. 6).

        E = C - P.

    C is the expected number of further answers and P the number under way. Under `profit`, C is exactly that
    expectation (Alg. 5). The other requirements have no such expectation, and their shortfall, the fewest answers that
    could satisfy them, takes its place. With the prior B(6, 2) and a loss of five answers, one answer is expected:

    >>> import numpy as np
    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Profit
    >>> from app.policy.worker_models import Anonymous
    >>> new = Lookahead.of(Anonymous(), State(np.zeros((1, 2)), np.empty((1, 0))), ItemContext.plain(1))
    >>> Dispatch().value(new, JobContext(Profit(value=5, loss=5)))
    array([1.])
    """

    kind: Literal["dispatch"] = "dispatch"
    uses: ClassVar[Uses] = Uses.OPEN_ASSIGNMENTS
    per_cost: ClassVar[bool] = False

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        expected = job.requirement.answers_to_come(lookahead.by_new_workers())  # not by the one who asks
        return expected - lookahead.context.open_assignments
