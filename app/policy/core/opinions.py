"""Opinions about items that a source gave beforehand: the `prior` of an item, as an answer and not as a fact."""

from dataclasses import dataclass

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, Mask


@dataclass(frozen=True)
class Opinions:
    """What sources say about items; row i is item i. The source of an item is one of the workers.

    An opinion counts until its source answers the item: nothing counts twice.
    """

    shares: Array  # (items, classes) the probability that the source states; a row of NaN: no opinion
    source: Index  # (items,) the worker whose opinion it is

    @classmethod
    def of(cls, prior: Array, source: int) -> "Opinions":
        """The opinions of one source."""
        return cls(prior, np.full(len(prior), source))

    def rows(self, which: Mask) -> "Opinions":
        """The opinions about these items, in their order."""
        return Opinions(self.shares[which], self.source[which])

    def unless_answered(self, item: Index, worker: Index, echoes: Mask | None = None) -> "Opinions":
        """Only the opinions whose source has not answered the item, nor a worker who echoes it; one entry per answer.

        >>> two = Opinions.of(np.array([[0.7, 0.3], [0.6, 0.4]]), source=3)
        >>> two.unless_answered(item=np.array([0, 1]), worker=np.array([3, 2])).shares.tolist()
        [[nan, nan], [0.6, 0.4]]
        """
        own = worker == self.source[item]
        return self.without(item[own if echoes is None else own | echoes[worker]])

    def without(self, item: Index) -> "Opinions":
        """All opinions but those about these items."""
        if not len(item):
            return self
        shares = self.shares.copy()
        shares[item] = np.nan
        return Opinions(shares, self.source)

    @cached_property
    def given(self) -> Mask:
        """Which items have one, shape (items,)."""
        return ~np.isnan(self.shares[:, 0])
