"""Stop when the leading class has a given multiple of the votes of the next one."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask, strongest_other
from app.policy.requirements.base import Requirement

_ROUNDING = 1e-9  # 1.1 * 10 is 11.000000000000002 in floats, and eleven votes do satisfy it


class Ratio(Requirement):
    """Minimum ratio between the two strongest classes (Li et al., WSDM 2016, section 3.1).

    Tested on votes plus one pseudo-vote per class: with a >= b the two strongest, satisfied when a / b >= c. With
    x votes for the losing class, r(x) = (c + 1) x votes are needed in all:

    >>> Ratio(min_ratio=4).shortfalls(Belief.of([2, 0]))  # Example 3: (3, 1) needs 5 votes in all, or 15
    array([[ 1., 11.]])
    >>> Ratio(min_ratio=4).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    """

    kind: Literal["ratio"] = "ratio"
    min_ratio: Annotated[
        float, Field(gt=1, le=1000, description="How many times the votes of the runner-up the leader needs")
    ] = 4.0

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(self.shortfalls(belief).min(axis=1) == 0)

    def shortfalls(self, belief: Belief) -> Array:
        counts = belief.smoothed
        missing = np.ceil(self.min_ratio * strongest_other(counts) - counts - _ROUNDING)
        return np.maximum(missing, 0.0)

    def reason(self, votes: Array) -> Reason:
        second, first = np.sort(votes)[-2:]
        met = bool(self.satisfied(Belief.of(votes))[0])
        counted = f"{first:g}:{second:g} votes, {first + 1:g}:{second + 1:g} with a pseudo-vote each"
        return Reason(
            "ratio" if met else "ratio-not-reached",
            f"{counted}, {'reaches' if met else 'is short of'} {self.min_ratio:g}:1",
        )
