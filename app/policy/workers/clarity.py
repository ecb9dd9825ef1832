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

    def joint(self, evidence: Array, classes: int) -> Array:
        """The logarithm of P(t, g), shape (items, classes, degrees).

        >>> Clarity((1.0, 0.0), (0.75, 0.25)).joint(np.log([[0.8, 0.2]]), 2).round(2).tolist()
        [[[-0.51, -1.61], [-1.9, -3.0]]]
        """
        alone = evidence[:, :classes, None] + np.log(self.shares)
        if evidence.shape[1] == classes:
            return np.asarray(alone)
        short = np.isnan(evidence[:, classes])
        known = evidence.reshape(alone.shape)
        return np.where(short[:, None, None], alone, known) if short.any() else known

    def of_known(self, truth: IntArray, classes: int) -> Array:
        """The same where the class is known: beyond doubt, and clear, so that whoever errs cannot blame the item."""
        right = (truth[:, None] == np.arange(classes))[:, :, None] & (self._degrees == 1)
        return np.where(right, 0.0, IMPOSSIBLE)

    def chances(self, fitting: Array, classes: int) -> Array:
        """What `fitting`, the chance of an answer on a clear item, is on an item of each degree; one axis more."""
        return np.asarray(fitting[..., None] * self._degrees + (1 - self._degrees) / classes)

    def heeding(self, joint: Array, fitting: Array, classes: int) -> Array:
        """P(t, and the answer came of knowledge, not of a guess) for answers so likely, shape as `fitting`.

        `joint` is P(t, g) with that answer, one axis more.

        >>> Clarity((1.0, 0.5), (0.5, 0.5)).heeding(np.array([[0.6, 0.4]]), np.array([0.5]), 2).tolist()
        [0.8]
        """
        known = fitting[..., None] * self._degrees / self.chances(fitting, classes)
        return np.asarray(np.einsum("...g,...g->...", joint, known))  # numpy sums short axes slowly

    def clear(self, joint: Array) -> Array:
        """P(t, and the next answer will come of knowledge), shape (items, classes)."""
        return np.asarray(joint @ self._degrees)


ALL_CLEAR = Clarity((1.0,), (1.0,))
OF_CROWDS = Clarity((1.0, 0.75, 0.5, 0.25, 0.0), (0.7, 0.12, 0.08, 0.06, 0.04))
