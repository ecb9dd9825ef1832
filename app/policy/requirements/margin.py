"""Stop when the lead is larger than chance alone would make it."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import Index, sole_leader, strongest_other

_ROUNDING = 1e-9  # 0.3 * sqrt(100) is 2.9999999999999996 in floats, and three votes do satisfy it


class Margin(Requirement):
    """A lead that grows with the square root of the votes (Abraham et al., SIGIR 2016, Eq. 2, 5 and 8).

    On real votes, from the first one on, satisfied when

        top - second >= C sqrt(t) - epsilon t,          weighted: C sqrt(sum of w^2) - epsilon sum of w.

    The right side is at most 0 from t = (C / epsilon)^2 on, and then the rule always stops. It may be rounded at
    random, up with the probability of its fraction, anew with every vote. One more vote for the leader can undo what
    held before only then, and where a vote may weigh far more than those before it.

    >>> Margin(c=2, epsilon=0.5).satisfied(Belief.of([[1, 0], [2, 0], [2, 1], [8, 8]]))
    array([False,  True, False,  True])
    """

    kind: Literal["margin"] = "margin"
    c: Annotated[float, Field(ge=0, le=1000, description="C: how many standard deviations the lead must have")] = 1.5
    epsilon: Annotated[
        float, Field(ge=0, le=10, description="How small a majority among all workers need not be found out")
    ] = 0.1
    rounding: Annotated[
        Literal["none", "random"], Field(description="Whether the required lead is rounded to a whole number by chance")
    ] = "none"

    @property
    def by_votes_alone(self) -> bool:
        return self.rounding == "none"

    @property
    def steady(self) -> bool:
        return self.rounding == "none"

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray((belief.total >= 1) & (_lead(belief.weights).max(axis=1) >= self._bar(belief) - _ROUNDING))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.weights)

    def shortfalls(self, prospect: Prospect) -> Array:
        """For votes of weight one, none rounded, by formula.

        Let class c have d votes more than the strongest other. After k more there are s = t + k, and the rule
        (1 + epsilon) s - C sqrt(s) >= t - d holds from the larger root in sqrt(s) on; the smaller is not positive.
        """
        if self.rounding == "random" or not prospect.only_counts:
            return super().shortfalls(prospect)
        lead, total = _lead(prospect.now.votes), prospect.now.total[:, None]
        slope = 1 + self.epsilon
        root = (self.c + np.sqrt(self.c**2 + 4 * slope * (total - lead))) / (2 * slope)
        further = np.maximum(np.ceil(root**2 - total) - 1, np.maximum(1 - lead, 0))
        for _ in range(2):  # floats may put the root just beyond a whole number
            further = further + (lead + further < self._threshold(total + further, total + further) - _ROUNDING)
        return np.asarray(further)

    def reason(self, belief: Belief, item: int) -> Reason:
        second, first = np.sort(belief.weights[item])[-2:]
        met = bool(self.satisfied(belief)[item])
        return Reason(
            "margin" if met else "margin-not-reached",
            f"{first:.4g}:{second:.4g} votes, a lead of {first - second:.4g} "
            f"{'reaches' if met else 'is short of'} {self._bar(belief)[item]:.3g}",
        )

    def _bar(self, belief: Belief) -> Array:
        """The lead that is needed, shape (items,)."""
        exact = self._threshold(belief.squares, belief.weights.sum(axis=1))
        if self.rounding == "none":
            return exact
        whole = np.floor(exact + _ROUNDING)
        return np.asarray(whole + (belief.luck() < exact - whole))

    def _threshold(self, squares: Array, total: Array) -> Array:
        return np.asarray(self.c * np.sqrt(squares) - self.epsilon * total)


def _lead(votes: Array) -> Array:
    """By how much each class is ahead of the strongest other, shape (items, classes)."""
    return votes - strongest_other(votes)
