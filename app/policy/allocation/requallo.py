"""Finish what is nearly finished: the greedy policy of Requallo."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.belief import Array
from app.policy.completeness import chance_and_needs, expected_completeness
from app.policy.prospect import Prospect
from app.policy.shares import two_strongest


class Requallo(Allocation):
    """Ask where one more label may bring an item most closer to its requirement (Li et al., WSDM 2016, Alg. 1).

        R = max(V+, V-) - V,    or  P V+ + (1 - P) V- - V.

    With V the expected completeness and V+, V- what it becomes when the next vote goes to the stronger or to the
    weaker of the two strongest classes, the reward is max(V+, V-) - V, or its expectation under P of Eq. 2 (Eq. 7).
    """

    kind: Literal["requallo"] = "requallo"
    reward: Annotated[
        Literal["optimistic", "expected"],
        Field(description="The better of the two possible outcomes, or their mean (Eq. 7)"),
    ] = "optimistic"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        requirement = circumstances.requirement
        now = expected_completeness(prospect, requirement)
        up, down = (
            expected_completeness(prospect.after(label), requirement) for label in two_strongest(prospect.now.counts)
        )
        if self.reward == "optimistic":
            return np.maximum(up, down) - now
        leader_wins = chance_and_needs(prospect, requirement)[0]
        return leader_wins * up + (1 - leader_wins) * down - now
