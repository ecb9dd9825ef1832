"""Stop when the votes could hardly have come from guessing."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief
from app.policy.binomial_tail import chance_of_so_few, votes_that_outweigh
from app.policy.requirements.on_counts import OnCounts
from app.policy.shares import strongest_other

_STRICTLY_BELOW = 1 - 1e-9  # p = alpha does not do, whatever the last bit of a float says


class Significance(OnCounts):
    """Fisher's exact test against guessing (Li et al., WSDM 2016, section 3.1).

    Tested on votes plus one pseudo-vote per class: with a >= b the two strongest, satisfied when

        p = P(X <= b) < alpha,  X ~ Bin(a + b, 1/2).

    Weighted votes make a and b real; then p = I_{1/2}(a, b + 1). With alpha = 0.2 and one (pseudo-)vote for the losing
    class, r(1) = 5 are needed in all (Table 2), which are three real votes:

    >>> Significance(alpha=0.2).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    """

    kind: Literal["significance"] = "significance"
    alpha: Annotated[
        float, Field(gt=0, le=0.5, description="How likely mere guessing may be to give votes as uneven as these")
    ] = 0.05

    def reason(self, belief: Belief, item: int) -> Reason:
        second, first = np.sort(belief.counts[item])[-2:]
        p = float(chance_of_so_few(second, first))
        met = bool(self.satisfied(belief)[item])
        return Reason(
            "significance" if met else "significance-not-reached",
            f"{first - 1:.4g}:{second - 1:.4g} votes, {first:.4g}:{second:.4g} with a pseudo-vote each, "
            f"p = {p:.3g} is {'below' if met else 'not below'} {self.alpha:g}",
        )

    def missing(self, counts: Array) -> Array:
        return votes_that_outweigh(strongest_other(counts) + 1, self.alpha * _STRICTLY_BELOW) - counts
