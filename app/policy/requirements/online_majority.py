"""Stop when the remaining votes cannot change the majority."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, sole_leader, strongest_other
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import Requirement
from app.policy.requirements.on_counts import two_highest, votes_in_words


class OnlineMajority(Requirement):
    """Stop when the rest of n votes cannot change the majority (online majority of Gao et al., SIGMOD 2013, 6.1).

        a > b + max(n - t, 0)    or    t >= n,    a >= b the votes of the two strongest labels, t of all, n = labels.

    The label is always the one that has most of the first n votes, but with fewer votes: one that has more than half of
    n is decided, and with many labels even earlier. If n votes end in a tie, the item is given up. Every vote counts
    one, whatever the worker model says.

    >>> OnlineMajority(labels=5).satisfied(Belief.of([[2, 0], [3, 0], [2, 1], [3, 1]]))
    array([False,  True, False,  True])
    """

    kind: Literal["online-majority"] = "online-majority"
    labels: Annotated[
        int, Field(ge=1, le=10_000, description="How many labels the majority is taken of, at most", examples=[5])
    ]

    uses: ClassVar[Uses] = Uses.NOTHING

    def satisfied(self, belief: Belief) -> Mask:
        remaining = self._remaining(belief)
        lead = (belief.votes - strongest_other(belief.votes)).max(axis=1)
        return np.asarray((lead > remaining) | (remaining == 0))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.votes)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """By formula: k votes help class c if own + k > other + max(n - t - k, 0)."""
        votes, remaining = lookahead.now.votes, self._remaining(lookahead.now)[:, None]
        behind = strongest_other(votes) - votes
        further = np.where(behind >= remaining, behind, np.floor((behind + remaining) / 2)) + 1
        return np.asarray(np.maximum(further, 0.0))

    def reason(self, belief: Belief, item: int) -> Reason:
        counted = votes_in_words(*two_highest(belief.votes, item))
        remaining = int(self._remaining(belief)[item])
        satisfied = bool(self.satisfied(belief)[item])
        code = "online-majority" if satisfied else "online-majority-not-reached"
        if not remaining:
            return Reason(code, f"{counted}. The majority of {self.labels} decides, and all votes are in.")
        rest, can = (
            "1 vote that is" if remaining == 1 else f"{remaining} votes that are",
            "cannot" if satisfied else "can",
        )
        return Reason(code, f"{counted}. The {rest} missing from {self.labels} {can} change the majority.")

    def _remaining(self, belief: Belief) -> Array:
        """How many of the votes are still to come, shape (items,)."""
        return np.maximum(self.labels - belief.total, 0.0)
