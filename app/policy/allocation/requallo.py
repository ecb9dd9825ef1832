"""Finish what is nearly finished: the greedy policy of Requallo."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation
from app.policy.belief import Array, Belief, two_strongest
from app.policy.completeness import chance_and_needs, expected_completeness
from app.policy.requirements.base import Requirement


class Requallo(Allocation):
    """Ask where one more label may bring an item most closer to its requirement (Li et al., WSDM 2016, Alg. 1).

    With V the expected completeness and V+, V- what it becomes when the next vote goes to the stronger or to the
    weaker of the two strongest classes, the reward is max(V+, V-) - V, or its expectation under P of Eq. 2 (Eq. 7).

    >>> from app.policy.requirements import Ratio
    >>> Requallo().value(Belief.of([[0, 0], [2, 0], [1, 1]]), Ratio(min_ratio=4)).round(4).tolist()
    [0.16, 0.2267, 0.0667]
    """

    kind: Literal["requallo"] = "requallo"
    reward: Annotated[
        Literal["optimistic", "expected"],
        Field(description="The better of the two possible outcomes, or their mean (Eq. 7)"),
    ] = "optimistic"

    def value(self, belief: Belief, requirement: Requirement) -> Array:
        now = expected_completeness(belief, requirement)
        leader, runner_up = two_strongest(belief.votes)
        up, down = (expected_completeness(belief.after(label), requirement) for label in (leader, runner_up))
        if self.reward == "optimistic":
            return np.maximum(up, down) - now
        leader_wins = chance_and_needs(belief, requirement)[0]
        return leader_wins * up + (1 - leader_wins) * down - now
