"""Stop when the leading class has a given multiple of the votes of the next one."""

from typing import Annotated, Literal

from pydantic import Field

from app.policy.core.arrays import Array
from app.policy.core.belief import Belief, strongest_other
from app.policy.core.decision import Reason
from app.policy.requirements.on_counts import OnCounts, two_highest, votes_in_words

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
            description="How many times the votes of the runner-up the leading label needs, one extra vote each",
            examples=[4],
        ),
    ] = 4.0

    def reason(self, belief: Belief, item: int) -> Reason:
        counted = votes_in_words(*two_highest(belief.weights, item))
        asked = f"{counted}, counting one extra vote per label; the job asks for a ratio of {self.min_ratio:g}."
        return Reason("ratio" if self.satisfied(belief)[item] else "ratio-not-reached", asked)

    def missing(self, counts: Array) -> Array:
        return self.min_ratio * strongest_other(counts) - counts - _ROUNDING
