"""Ask where the most favourable answer would add most certainty."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.allocation.base import Allocation, JobContext
from app.policy.allocation.certainty_gains import certainty_gains
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses


class OptimisticKnowledgeGradient(Allocation):
    """Ask where the most favourable next answer would add most certainty (Chen et al., ICML 2013, Alg. 1).

        R+ = max_c h(P after the answer c) - h(P now),    h(P) = max_c P_c.

    Unlike the expected gain it is positive for every open item, and falls to 0 with the number of answers, so with a
    growing budget every item gets its share (Theorem 3.2). Between equal values the job's seed decides.

    With votes (0, 0), (1, 0), (1, 1) and (2, 0):

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), np.empty((4, 0)))
    >>> lookahead = Lookahead.of(Anonymous(), state, ItemContext.plain(4))
    >>> OptimisticKnowledgeGradient().value(lookahead, JobContext(Ratio())).tolist()
    [0.25, 0.125, 0.1875, 0.0625]
    """

    kind: Literal["opt-kg"] = "opt-kg"
    uses: ClassVar[Uses] = Uses.WORKER

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the goal is accuracy
        return np.asarray(certainty_gains(lookahead).max(axis=1))
