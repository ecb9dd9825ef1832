"""Stop when the leading class has a given multiple of the votes of the next one."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array
from app.policy.core.belief import Belief
from app.policy.core.decision import Reason
from app.policy.requirements.on_counts import OnCounts, shown, two_highest, votes_in_words, with_extra_votes

_ROUNDING = 1e-9  # 1.1 * 10 is 11.000000000000002 in floats, and eleven votes do satisfy it


class Ratio(OnCounts):
    """Stop when the leading label has a given multiple of the runner-up's votes (Li et al., WSDM 2016, section 3.1).

        a + p >= min_ratio (b + p),    a >= b the votes of the two strongest labels,  p = pseudo_votes.

    Every label has one extra vote, unless `pseudo_votes` says otherwise. With x votes for the losing label, extra votes
    included, r(x) = (min_ratio + 1) x votes are needed in total, and also where votes are weighted (Eq. 10). Without
    extra votes the printed Example 1 holds for real votes, but then a single vote is enough where none is against it:
    combine it with `count`. No vote at all is never enough.

    >>> Ratio(min_ratio=4).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    >>> Ratio(min_ratio=4, pseudo_votes=0).satisfied(Belief.of([[1, 2], [1, 4], [0, 0], [1, 0]]))
    array([False,  True, False,  True])
    """

    kind: Literal["ratio"] = "ratio"
    min_ratio: Annotated[
        float,
        Field(
            gt=1,
            le=1000,
            description="The leading label's votes over the runner-up's, extra votes included, must reach this ratio",
            examples=[4],
        ),
    ] = 4.0

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = two_highest(belief.weights, item)
        a, b = first + self.pseudo_votes, second + self.pseudo_votes
        if b > _ROUNDING:
            found = with_extra_votes(self.pseudo_votes, f"the ratio is {shown(a / b)}")
        else:
            found = "No vote is against it" if a > _ROUNDING else "There is no vote yet"
        return Reason(
            "ratio" if self.satisfied(belief)[item] else "ratio-not-reached",
            f"{votes_in_words(first, second)}. {found}; the job asks for a ratio of {self.min_ratio:g}.",
        )

    def needed(self, against: Array) -> Array:
        """Against none, one vote is needed: without it every multiple of nothing would be reached from the start."""
        return np.maximum(self.min_ratio * against, 1.0) - _ROUNDING
