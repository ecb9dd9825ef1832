"""Stop when one class is likely enough to be the true one."""

from collections.abc import Callable
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
from app.policy.workers.base import Foresight

_BINARY = 2  # two classes have a closed form
_MANY_AT_ONCE = 8  # numbers of votes that are looked at together; the horizon is a power of it
_FEW = 640  # items times classes up to which that is quicker than bisection
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
        if (foresight := prospect.foresight) is not None:
            found = {c: self._foreseen(foresight, c, alpha.shape) for c in np.unique(prospect.namesakes).tolist()}
            return np.stack([found[c] for c in prospect.namesakes.tolist()], axis=1)
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

    def _foreseen(self, foresight: Foresight, c: int, shape: tuple[int, ...]) -> Array:
        """Of a model that can tell what any number of votes for class c would make of the items, shape (items,)."""
        items, classes = shape
        at_once = _MANY_AT_ONCE if items * classes <= _FEW else 2
        return _fewest(lambda votes: np.asarray(1 - foresight(c, votes)[..., c] <= self._doubt), items, at_once)

    @property
    def _doubt(self) -> float:
        return (1 - self.min_probability) * (1 + _ROUNDING)

    def _search_each(self, alpha: Array) -> Array:
        """Classes that stand alike on all of these items are searched once: of a thousand labels, a handful."""
        _, first, same = np.unique(alpha, axis=1, return_index=True, return_inverse=True)
        found = np.stack([self._search(alpha, int(c)) for c in first], axis=1)
        return np.asarray(found[:, same.ravel()])

    def _search(self, alpha: Array, c: int) -> Array:
        def met(votes: Array) -> Mask:
            likelier = np.tile(alpha, (len(votes), 1))
            likelier[:, c] += votes.ravel()
            met = (likelier[:, c] > strongest_other(likelier)[:, c]) & self._likely_enough(likelier)
            return np.asarray(met.reshape(votes.shape))

        return _fewest(met, len(alpha))

    def _likely_enough(self, alpha: Array) -> Mask:
        return np.asarray(1 - chance_of_the_strongest(alpha) <= self._doubt)


def _fewest(met: Callable[[Array], Mask], items: int, at_once: int = 2) -> Array:
    """The fewest votes with which each item meets it, shape (items,), up to the horizon.

    `met` is asked about several numbers of votes at once, (numbers, items), `at_once` times closer to each other every
    time: two make a bisection. More votes for a class only make it likelier, but for workers who are wrong more often
    than right.

    >>> needed = np.array([0.0, 5.0, 63.0, 99.0])
    >>> [_fewest(lambda votes: votes >= needed, 4, at_once).tolist() for at_once in (2, 8)]
    [[0.0, 5.0, 63.0, 64.0], [0.0, 5.0, 63.0, 64.0]]
    """
    enough, low, step = met(np.zeros((1, items)))[0], np.zeros(items), float(HORIZON)
    while step > 1:
        step /= at_once
        missed = ~met(low + step * np.arange(1, at_once)[:, None])
        low = low + step * missed.cumprod(axis=0).sum(axis=0)
    return np.where(enough, 0.0, low + 1)
