"""Stop when the lead is larger than chance alone explains."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, sole_leader, strongest_other
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import Requirement
from app.policy.requirements.on_counts import shown, two_highest, votes_in_words

_ROUNDING = 1e-9  # 0.3 * sqrt(100) is 2.9999999999999996 in floats, and three votes do satisfy it


class Margin(Requirement):
    """Stop when the lead is large for the number of votes (Abraham et al., SIGIR 2016, Eq. 2, 5 and 8).

        top - second >= C sqrt(t) - epsilon t,          weighted: C sqrt(sum of w^2) - epsilon sum of w.

    t counts the real votes; at least one is needed. The right side is at most 0 from t = (C / epsilon)^2 on, and then
    the rule always stops. With `rounding` = `random` the right side is rounded up with the probability of its fraction,
    else down, with a new draw for every vote. Only then, or if a vote weighs far more than those before it, can one
    more vote for the leader make a satisfied item unsatisfied.

    >>> Margin(c=2, epsilon=0.5).satisfied(Belief.of([[1, 0], [2, 0], [2, 1], [8, 8]]))
    array([False,  True, False,  True])
    """

    kind: Literal["margin"] = "margin"
    c: Annotated[
        float, Field(ge=0, le=1000, description="C: how many standard deviations the lead must have", examples=[1.5])
    ] = 1.5
    epsilon: Annotated[
        float,
        Field(
            ge=0,
            le=10,
            description="How small a majority among all workers may go undetected; larger stops earlier",
            examples=[0.1],
        ),
    ] = 0.1
    rounding: Annotated[
        Literal["none", "random"],
        Field(description="Whether the required lead is rounded to a whole number at random, as in the paper"),
    ] = "none"

    @property
    def uses(self) -> Uses:
        """Random rounding draws by the item's number."""
        return Uses.NOTHING if self.rounding == "none" else Uses.NUMBER

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(
            (belief.total >= 1) & (_lead(belief.weights).max(axis=1) >= self._required_lead(belief) - _ROUNDING)
        )

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.weights)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """By formula for votes of weight one without rounding.

        Let class c have d votes more than the strongest other. After k more there are s = t + k, and the rule
        (1 + epsilon) s - C sqrt(s) >= t - d holds from the larger root in sqrt(s) on; the smaller is not positive.
        """
        if self.rounding == "random" or not lookahead.votes_weigh_one:
            return super().shortfalls(lookahead)
        lead, total = _lead(lookahead.now.votes), lookahead.now.total[:, None]
        slope = 1 + self.epsilon
        root = (self.c + np.sqrt(self.c**2 + 4 * slope * (total - lead))) / (2 * slope)
        further = np.maximum(np.ceil(root**2 - total) - 1, np.maximum(1 - lead, 0))
        for _ in range(2):  # floats may put the root just beyond a whole number
            further = further + (lead + further < self._threshold(total + further, total + further) - _ROUNDING)
        return np.asarray(further)

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = two_highest(belief.weights, item)
        required = max(float(self._required_lead(belief)[item]), 0.0)
        return Reason(
            "margin" if self.satisfied(belief)[item] else "margin-not-reached",
            f"{votes_in_words(first, second)}, a lead of {shown(first - second)}; the job asks for a lead of "
            f"{shown(required)} at this number of votes.",
        )

    def _required_lead(self, belief: Belief) -> Array:
        """Shape (items,)."""
        exact = self._threshold(belief.squares, belief.weights.sum(axis=1))
        if self.rounding == "none":
            return exact
        whole = np.floor(exact + _ROUNDING)
        return np.asarray(whole + (belief.uniform_draws() < exact - whole))

    def _threshold(self, squares: Array, total: Array) -> Array:
        return np.asarray(self.c * np.sqrt(squares) - self.epsilon * total)


def _lead(votes: Array) -> Array:
    """By how much each class is ahead of the strongest other, shape (items, classes)."""
    return votes - strongest_other(votes)
