"""Ask where the better part of the possible answers would teach most: between hope and expectation."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import rewards
from app.policy.belief import Array
from app.policy.prospect import Prospect


class ValueAtRiskKnowledgeGradient(Allocation):
    """CVaR_alpha of the gain: its mean over the luckiest alpha of the possible answers (Chen et al., ICML 2013, 3.2).

        CVaR_alpha = max sum_c q_c R_c  subject to  0 <= q_c <= P(answer c) / alpha,  sum_c q_c = 1.

    alpha = 1 is the knowledge gradient; alpha -> 0 is the optimistic one, and with two classes every alpha <= 1/2 is,
    since there the luckier answer is the likelier. With votes (1, 0), chances 2/3 and 1/3, gains 1/8 and -1/4:

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[1.0, 0.0]]), np.empty((1, 0)))
    >>> prospect = Prospect.of(Anonymous(), state, Facts.plain(1))
    >>> for alpha in (0.5, 0.8):
    ...     print(ValueAtRiskKnowledgeGradient(alpha=alpha).value(prospect, Circumstances(Ratio())).round(6))
    [0.125]
    [0.0625]
    """

    kind: Literal["cvar-kg"] = "cvar-kg"
    alpha: Annotated[
        float, Field(gt=0, le=1, description="The share of the luckiest answers that counts; 1: all, the expectation")
    ] = 0.75

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        gains = rewards(prospect)
        luckiest_first = np.argsort(-gains, axis=1, kind="stable")
        chances = np.take_along_axis(prospect.chances, luckiest_first, axis=1)
        filled = np.minimum(np.cumsum(chances, axis=1) / self.alpha, 1.0)
        share = np.diff(filled, axis=1, prepend=0.0)
        return np.asarray((share * np.take_along_axis(gains, luckiest_first, axis=1)).sum(axis=1))
