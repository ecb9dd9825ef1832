"""Stop when the leading class has a given multiple of the votes of the next one."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief
from app.policy.requirements.on_counts import OnCounts
from app.policy.shares import strongest_other

_ROUNDING = 1e-9  # 1.1 * 10 is 11.000000000000002 in floats, and eleven votes do satisfy it


class Ratio(OnCounts):
    """Minimum ratio between the two strongest classes (Li et al., WSDM 2016, section 3.1).

        (a + 1) / (b + 1) >= c,    a >= b the votes of the two strongest classes.

    Tested on votes plus one pseudo-vote per class: with a >= b the two strongest, satisfied when a / b >= c. With
    x votes for the losing class, r(x) = (c + 1) x votes are needed in all.

    >>> Ratio(min_ratio=4).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    """

    kind: Literal["ratio"] = "ratio"
    min_ratio: Annotated[
        float, Field(gt=1, le=1000, description="How many times the votes of the runner-up the leader needs")
    ] = 4.0

    def reason(self, belief: Belief, item: int) -> Reason:
        second, first = np.sort(belief.weights[item])[-2:]
        met = bool(self.satisfied(belief)[item])
        counted = f"{first:.4g}:{second:.4g} votes, {first + 1:.4g}:{second + 1:.4g} with a pseudo-vote each"
        return Reason(
            "ratio" if met else "ratio-not-reached",
            f"{counted}, {'reaches' if met else 'is short of'} {self.min_ratio:g}:1",
        )

    def missing(self, counts: Array) -> Array:
        return self.min_ratio * strongest_other(counts) - counts - _ROUNDING
