"""Ask where the better part of the possible answers would add most certainty."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, JobContext
from app.policy.allocation.certainty_gains import certainty_gains
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses


class CvarKnowledgeGradient(Allocation):
    """Ask where the best of the possible answers would on average add most certainty (Chen et al., ICML 2013, 3.2).

        CVaR_alpha = max sum_c q_c R_c  subject to  0 <= q_c <= P(answer c) / alpha,  sum_c q_c = 1.

    This is the mean gain over the most favourable share alpha of the answers. alpha = 1 is `kg` and alpha -> 0 is
    `opt-kg`. With two labels every alpha <= 1/2 is `opt-kg`, since the more favourable answer is the more likely one.
    With votes (1, 0), chances 2/3 and 1/3, gains 1/8 and -1/4:

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> state = State(np.array([[1.0, 0.0]]), np.empty((1, 0)))
    >>> lookahead = Lookahead.of(Anonymous(), state, ItemContext.plain(1))
    >>> for alpha in (0.5, 0.8):
    ...     print(CvarKnowledgeGradient(alpha=alpha).value(lookahead, JobContext(Ratio())).round(6))
    [0.125]
    [0.0625]
    """

    kind: Literal["cvar-kg"] = "cvar-kg"
    uses: ClassVar[Uses] = Uses.WORKER
    alpha: Annotated[
        float,
        Field(
            gt=0,
            le=1,
            description="The share of the most favourable answers that counts; 1: all of them",
            examples=[0.75],
        ),
    ] = 0.75

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the goal is accuracy
        gains = certainty_gains(lookahead)
        best_first = np.argsort(-gains, axis=1, kind="stable")
        chances = np.take_along_axis(lookahead.chances, best_first, axis=1)
        filled = np.minimum(np.cumsum(chances, axis=1) / self.alpha, 1.0)
        share = np.diff(filled, axis=1, prepend=0.0)
        return np.asarray((share * np.take_along_axis(gains, best_first, axis=1)).sum(axis=1))
