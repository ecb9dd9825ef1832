"""Stop when the leading class has a given multiple of the votes of the next one."""

from typing import Annotated, Literal

from pydantic import Field

from app.policy.core.arrays import Array
from app.policy.core.belief import Belief, strongest_other
from app.policy.core.decision import Reason
from app.policy.requirements.on_counts import OnCounts, shown, two_highest, votes_in_words

_ROUNDING = 1e-9  # 1.1 * 10 is 11.000000000000002 in floats, and eleven votes do satisfy it


class Ratio(OnCounts):
    """Stop when the leading label has a given multiple of the runner-up's votes (Li et al., WSDM 2016, section 3.1).

        (a + 1) / (b + 1) >= min_ratio,    a >= b the votes of the two strongest labels.

    Every label has one extra vote, so that no ratio divides by zero. With x votes for the losing label, extra votes
    included, r(x) = (min_ratio + 1) x votes are needed in total.

    >>> Ratio(min_ratio=4).satisfied(Belief.of([[2, 0], [3, 0]]))
    array([False,  True])
    """

    kind: Literal["ratio"] = "ratio"
    min_ratio: Annotated[
        float,
        Field(
            gt=1,
            le=1000,
            description="The leading label's votes over the runner-up's, one extra vote each, must reach this ratio",
            examples=[4],
        ),
    ] = 4.0

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = two_highest(belief.counts, item)
        return Reason(
            "ratio" if self.satisfied(belief)[item] else "ratio-not-reached",
            f"{votes_in_words(first - 1, second - 1)}. With one extra vote per label the ratio is "
            f"{shown(first / second)}; the job asks for {self.min_ratio:g}.",
        )

    def missing(self, counts: Array) -> Array:
        return self.min_ratio * strongest_other(counts) - counts - _ROUNDING
