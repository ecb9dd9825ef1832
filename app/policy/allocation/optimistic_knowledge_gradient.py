"""Ask where the luckiest answer would teach most."""

from typing import Literal

import numpy as np

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import rewards
from app.policy.belief import Array
from app.policy.prospect import Prospect


class OptimisticKnowledgeGradient(Allocation):
    """R+ = max_c R_c, the gain in certainty of the luckiest next answer (Chen et al., ICML 2013, Alg. 1).

        R+ = max_c h(P after the answer c) - h(P now),    h(P) = max_c P_c.

    Unlike the expected gain it is positive while anything is open, and falls to 0 with the number of answers, so
    with a growing budget every item gets its share (Theorem 3.2). Equal values are drawn by the job's seed.

    With votes (0, 0), (1, 0), (1, 1) and (2, 0):

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [2.0, 0.0]]), np.empty((4, 0)))
    >>> prospect = Prospect.of(Anonymous(), state, Facts.plain(4))
    >>> OptimisticKnowledgeGradient().priority(prospect, Circumstances(Ratio())).tolist()
    [0.25, 0.125, 0.1875, 0.0625]
    """

    kind: Literal["opt-kg"] = "opt-kg"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        return np.asarray(rewards(prospect).max(axis=1))
