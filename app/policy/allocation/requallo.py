"""Finish items that are nearly finished: the greedy policy of Requallo."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, JobContext
from app.policy.core.arrays import Array
from app.policy.core.belief import two_strongest
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import expected_completeness, race_of_two


class Requallo(Allocation):
    """Ask where one more label brings an item furthest towards its requirement (Li et al., WSDM 2016, Alg. 1).

        R = max(V+, V-) - V,    or  P V+ + (1 - P) V- - V.

    V is the expected completeness, V+ and V- what it becomes when the next vote goes to the stronger or to the weaker
    of the two strongest labels, and P the probability that the stronger one wins (Eq. 2 and 7). Where the worker model
    weighs votes, all of them are of weighted votes (Eq. 10).
    """

    kind: Literal["requallo"] = "requallo"
    uses: ClassVar[Uses] = Uses.WORKER
    reward: Annotated[
        Literal["optimistic", "expected"],
        Field(description="Count the better of the two possible outcomes, or their mean (Eq. 7)"),
    ] = "optimistic"

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        requirement = job.requirement
        now = expected_completeness(lookahead, requirement)
        both = np.concatenate(two_strongest(requirement.counts(lookahead.now)))
        twice = lookahead.rows(np.tile(np.arange(len(now)), 2))
        up, down = expected_completeness(twice.after(both), requirement).reshape(2, -1)
        if self.reward == "optimistic":
            return np.maximum(up, down) - now
        leader_wins = race_of_two(lookahead, requirement).leader_wins
        return leader_wins * up + (1 - leader_wins) * down - now
