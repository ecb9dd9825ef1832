"""Stop when one class is likely enough to be the true one."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.binomial_tail import votes_that_outweigh
from app.policy.dirichlet import chance_of_the_strongest
from app.policy.prospect import Prospect
from app.policy.requirements.base import HORIZON, Requirement
from app.policy.shares import strongest_other

_BINARY = 2  # two classes have a closed form
_SURE = 1 - 2**-53  # the largest chance that leaves something to take the logarithm of
_STEP = 1e-9  # of a vote, or of log-odds: what rounding may take away from a bar that is met exactly
_ROUNDING = 1e-9  # of what may be missing to certainty: 57/64 does reach 0.890625


class Posterior(Requirement):
    """A minimum probability of the likeliest class, as the worker model sees it (h of Chen et al., ICML 2013).

        max_c P(class c is the true one | answers) >= min_probability.

    More than one half, so that no two classes can both have it. With four votes to one and no prior it is
    P(theta >= 1/2) under Beta(5, 2) = 57/64:

    >>> Posterior(min_probability=0.89).satisfied(Belief.of([[4, 1], [4, 2]]))
    array([ True, False])
    """

    kind: Literal["posterior"] = "posterior"
    min_probability: Annotated[
        float, Field(gt=0.5, le=0.999999, description="How likely the leading class must be to be the true one")
    ] = 0.95

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(1 - belief.certainty <= self._doubt)

    def shortfalls(self, prospect: Prospect) -> Array:
        """By formula, for two classes and counted votes: 1 - P(theta >= 1/2) = I_{1/2}(own, other)."""
        alpha = prospect.now.alpha
        if prospect.now.probability is not None:
            gain = prospect.model.gain(prospect.skill, alpha.shape[1])
            return super().shortfalls(prospect) if gain is None else self._by_log_odds(prospect.now.probability, gain)
        if not prospect.only_counts:
            return super().shortfalls(prospect)
        if alpha.shape[1] == _BINARY:
            return np.maximum(np.ceil(votes_that_outweigh(strongest_other(alpha), self._doubt) - alpha), 0.0)
        pooled = prospect.distinct()
        if pooled is None:
            return self._search_each(alpha)
        representatives, stands_for = pooled
        return np.asarray(self._search_each(representatives.now.alpha)[stands_for])

    def reason(self, belief: Belief, item: int) -> Reason:
        met = bool(self.satisfied(belief)[item])
        return Reason(
            "posterior" if met else "posterior-not-reached",
            f"the likeliest label is right with {belief.certainty[item]:.4g}, "
            f"{'which reaches' if met else 'short of'} {self.min_probability:g}",
        )

    def _by_log_odds(self, probability: Array, gain: Array) -> Array:
        """Votes until log-odds that grow by `gain` with each reach those of the minimum; both (items, classes)."""
        certain = np.clip(probability, np.finfo(float).tiny, 1.0)
        missing = np.log((1 - self._doubt) / self._doubt) - np.log(certain) + np.log1p(-np.minimum(certain, _SURE))
        steps = np.ceil(np.divide(missing, gain, out=np.full_like(missing, HORIZON), where=gain > 0) - _STEP)
        return np.where(missing <= _STEP, 0.0, np.clip(steps, 0.0, HORIZON))

    @property
    def _doubt(self) -> float:
        return (1 - self.min_probability) * (1 + _ROUNDING)

    def _search_each(self, alpha: Array) -> Array:
        """Classes that stand alike on all of these items are searched once: of a thousand labels, a handful."""
        _, first, same = np.unique(alpha, axis=1, return_index=True, return_inverse=True)
        found = np.stack([self._search(alpha, int(c)) for c in first], axis=1)
        return np.asarray(found[:, same.ravel()])

    def _search(self, alpha: Array, c: int) -> Array:
        """Bisection up to the horizon: the chance of class c only grows with its votes."""
        low, high = np.full(len(alpha), -1.0), np.full(len(alpha), float(HORIZON))
        while (high - low > 1).any():
            middle = np.ceil((low + high) / 2)
            likelier = alpha.copy()
            likelier[:, c] += middle
            met = (likelier[:, c] > strongest_other(likelier)[:, c]) & self._likely_enough(likelier)
            low, high = np.where(met, low, middle), np.where(met, middle, high)
        return high

    def _likely_enough(self, alpha: Array) -> Mask:
        return np.asarray(1 - chance_of_the_strongest(alpha) <= self._doubt)
