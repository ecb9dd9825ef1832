"""What is believed about items whose answer is a number: an estimate, and how far off it may be."""

import numpy as np
from propcache.api import cached_property
from scipy import special

from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.belief import Belief, ItemContext

USUAL_HALF_WIDTH = 0.05  # of the range


class NumberBelief(Belief):
    """The true number of each item is normal: around `mean`, with the standard deviation `deviation`.

    An item has one estimate, so there is one class, which always leads. `votes` is (items, 1), the answers that count.
    """

    def __init__(
        self, votes: Array, mean: Array, deviation: Array, ends: tuple[float, float], context: ItemContext
    ) -> None:
        super().__init__(votes, votes, votes.sum(axis=1), votes + 1, context)
        for name, value in {"mean": mean, "deviation": deviation, "ends": ends}.items():
            object.__setattr__(self, name, value)

    mean: Array  # (items,)
    deviation: Array  # (items,)
    ends: tuple[float, float]  # the smallest and the largest number that may be answered

    def rows(self, which: IntArray | Mask | slice) -> "NumberBelief":
        rows = self.votes[which], self.mean[which], self.deviation[which]
        return NumberBelief(*rows, self.ends, self.context.rows(which))

    @property
    def value(self) -> Array:
        """The estimate, shape (items,), never outside the range."""
        return np.clip(self.mean, *self.ends)

    def within(self, half_width: float) -> Array:
        """P(the true number is at most this far from the estimate), shape (items,).

        >>> context = ItemContext.plain(2)
        >>> belief = NumberBelief(np.ones((2, 1)), np.zeros(2), np.array([1.0, 0.0]), (-9, 9), context)
        >>> belief.within(1.96).round(4).tolist()
        [0.95, 1.0]
        """
        distance = np.divide(half_width, self.deviation, out=np.full(len(self.mean), np.inf), where=self.deviation > 0)
        return np.asarray(special.erf(distance / np.sqrt(2)))

    def half_width(self, confidence: float) -> Array:
        """How far from the estimate the true number may be, with this probability; shape (items,)."""
        return np.asarray(special.ndtri((1 + confidence) / 2) * self.deviation)

    def interval(self, confidence: float) -> Array:
        """Where the true number lies with this probability, shape (items, 2), never outside the range."""
        reach = self.half_width(confidence)
        return np.clip(np.stack([self.mean - reach, self.mean + reach], axis=1), *self.ends)

    @cached_property
    def posterior(self) -> Array:
        return np.ones_like(self.votes)

    @cached_property
    def certainty(self) -> Array:
        """P(the true number is within a twentieth of the range from the estimate), shape (items,)."""
        low, high = self.ends
        return self.within(USUAL_HALF_WIDTH * (high - low))

    @cached_property
    def leader(self) -> Index:
        return np.zeros(len(self.mean), dtype=np.intp)

    @cached_property
    def winner(self) -> Index:
        return self.leader
