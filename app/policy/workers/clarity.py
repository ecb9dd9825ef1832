"""Items are not all equally clear: how far an answer heeds the truth of an item."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.policy.belief import Array, IntArray

IMPOSSIBLE = -1e9  # the logarithm of a chance that no number of answers ever lifts, and still a finite number


@dataclass(frozen=True)
class Clarity:
    """How clear an item may be, and how common that is before its answers are heard.

        P(answer l | truth t, degree g, worker) = g P(l | t, worker) + (1 - g) / K.

    On an item of degree 1 workers answer as well as they can, on one of degree 0 everybody guesses. The evidence of an
    item is log P(t, g), class by class, all degrees of a class together; or log P(t) alone, K numbers, as long as
    nothing is known of its degree. Rows of both kinds may stand in one array, the short ones padded with NaN.
    """

    degrees: tuple[float, ...]
    shares: tuple[float, ...]

    @cached_property
    def _degrees(self) -> Array:
        return np.array(self.degrees)

    @cached_property
    def _all_clear(self) -> bool:
        return self.degrees == (1.0,)

    def _each(self, fitting: Array) -> Array:
        """The degrees, so shaped that they go first with what has the shape of `fitting`."""
        return self._degrees.reshape(-1, *(1,) * fitting.ndim)

    def joint(self, evidence: Array, classes: int) -> Array:
        """The logarithm of P(t, g), shape (degrees, items, classes): numpy is several times slower along a short axis.

        >>> Clarity((1.0, 0.0), (0.75, 0.25)).joint(np.log([[0.8, 0.2]]), 2).round(2).tolist()
        [[[-0.51, -1.9]], [[-1.61, -3.0]]]
        """
        if evidence.shape[1] == classes:
            return self._before(evidence)
        known = np.ascontiguousarray(evidence.reshape(len(evidence), classes, len(self.degrees)).transpose(2, 0, 1))
        short = np.isnan(evidence[:, classes])
        return np.where(short[:, None], self._before(evidence[:, :classes]), known) if short.any() else known

    def rows(self, joint: Array) -> Array:
        """The evidence that reads as this log P(t, g): the way back.

        >>> few = Clarity((1.0, 0.0), (0.75, 0.25))
        >>> few.rows(few.joint(np.log([[0.8, 0.2]]), 2)).round(2).tolist()
        [[-0.51, -1.61, -1.9, -3.0]]
        """
        degrees, items, classes = joint.shape
        return joint.transpose(1, 2, 0).reshape(items, classes * degrees)

    def _before(self, evidence: Array) -> Array:
        return np.asarray(evidence + np.log(self.shares)[:, None, None])

    def of_known(self, truth: IntArray, classes: int) -> Array:
        """The same where the class is known: beyond doubt, and clear, so that whoever errs cannot blame the item."""
        right = truth[:, None] == np.arange(classes)
        return np.where(right & (self._each(right) == 1), 0.0, IMPOSSIBLE)

    def chances(self, fitting: Array, classes: int) -> Array:
        """What `fitting`, the chance of an answer on a clear item, is on an item of each degree; one axis before."""
        if self._all_clear:
            return fitting[None]
        each = self._each(fitting)
        found = fitting * each
        found += (1 - each) / classes  # in place: new memory costs as much as the sum
        return np.asarray(found)

    def heeding(self, joint: Array, fitting: Array, classes: int) -> Array:
        """P(t, and the answer came of knowledge, not of a guess) for answers so likely, shape as `fitting`.

        `joint` is P(t, g) with that answer, one axis before.

        >>> Clarity((1.0, 0.5), (0.5, 0.5)).heeding(np.array([[0.6], [0.4]]), np.array([0.5]), 2).tolist()
        [0.8]
        """
        if self._all_clear:
            return np.asarray(joint[0])
        share = fitting * self._each(fitting)
        share /= self.chances(fitting, classes)
        return np.asarray(np.einsum("g...,g...->...", joint, share))

    def clear(self, joint: Array) -> Array:
        """P(t, and the next answer will come of knowledge), shape (items, classes)."""
        return np.asarray((joint * self._each(joint[0])).sum(axis=0))


ALL_CLEAR = Clarity((1.0,), (1.0,))
OF_CROWDS = Clarity((1.0, 0.75, 0.5, 0.25, 0.0), (0.7, 0.12, 0.08, 0.06, 0.04))
