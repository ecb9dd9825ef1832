"""Opinions of sources about items, as answers and not as facts: the `prior` of an item, and what its features say."""

from dataclasses import dataclass

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, Mask

NO_SOURCE = -1
_LEAST = 1e-150  # so that a product of two is no 0


@dataclass(frozen=True)
class Opinions:
    """What sources say about items; row s of every array is source s, which is one of the workers.

    An opinion counts until its source answers the item: nothing counts twice.
    """

    shares: Array  # (sources, items, classes) the probability that the source states; NaN: no opinion about the item
    source: Index  # (sources,) the worker whose opinions they are; -1: a source that has none

    @classmethod
    def of(cls, shares: Array, source: int) -> "Opinions":
        """The opinions of one source, (items, classes)."""
        return cls(shares[None], np.array([source]))

    def rows(self, which: Mask) -> "Opinions":
        """The opinions about these items, in their order."""
        return Opinions(self.shares[:, which], self.source)

    def joined_by(self, other: "Opinions") -> "Opinions":
        """The opinions of these sources, and then those of the others."""
        return Opinions(np.concatenate([self.shares, other.shares]), np.concatenate([self.source, other.source]))

    def unless_answered(self, item: Index, worker: Index, echoes: Mask | None = None) -> "Opinions":
        """Only the opinions whose source has not answered the item, nor a worker who echoes it; one entry per answer.

        `echoes` is (sources, workers).

        >>> two = Opinions.of(np.array([[0.7, 0.3], [0.6, 0.4]]), source=3)
        >>> two.unless_answered(item=np.array([0, 1]), worker=np.array([3, 2])).shares.tolist()
        [[[nan, nan], [0.6, 0.4]]]
        """
        own = worker == self.source[:, None]
        if echoes is not None:
            own |= echoes[:, worker]
        source, answer = np.nonzero(own)
        return self.without(source, item[answer])

    def without(self, source: Index, item: Index) -> "Opinions":
        """All opinions but that of source[a] about item[a]."""
        if not len(item):
            return self
        shares = self.shares.copy()
        shares[source, item] = np.nan
        return Opinions(shares, self.source)

    @cached_property
    def given(self) -> Mask:
        """Which items have one, shape (sources, items)."""
        return ~np.isnan(self.shares[:, :, 0])


def combined(shares: Array) -> Array:
    """What independent sources say together, the normalised product; NaN where none says anything.

    `shares` is (sources, items, classes), the result (items, classes).

    >>> both, one = [[0.8, 0.2], [0.6, 0.4]], [[0.7, 0.3], [np.nan, np.nan]]
    >>> combined(np.array([both, one]).swapaxes(0, 1)).round(3).tolist()
    [[0.857, 0.143], [0.7, 0.3]]
    """
    if len(shares) == 1:
        return np.asarray(shares[0])
    given = ~np.isnan(shares[:, :, :1])
    product = np.where(given, np.maximum(shares, _LEAST), 1.0).prod(axis=0)
    return np.where(given.any(axis=0), product / product.sum(axis=1, keepdims=True), np.nan)
