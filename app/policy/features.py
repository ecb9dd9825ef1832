"""Where items have features, an answer about one item teaches about all: Bayesian logistic regression."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

Array = npt.NDArray[np.float64]

_NEWTON_STEPS = 100
_PARTS = 0.5 ** np.arange(12)  # of a Newton step
_CONVERGED = 1e-12
_HALVINGS = 60
_NODES, _NODE_WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_PAIRS = 4_000_000  # numbers of a (candidates, items) table held at a time


@dataclass(frozen=True)
class FeatureModel:
    """A Gaussian belief N(mean, covariance) about the weights w of theta_i = sigmoid(w . x_i).

    Chen et al. (ICML 2013, section 5): theta_i is the share of a perfect crowd that calls item i positive, and the
    item is positive where theta_i >= 1/2, which is where w . x_i >= 0.
    """

    mean: Array  # (dimensions,)
    covariance: Array  # (dimensions, dimensions)

    @classmethod
    def flat(cls, dimensions: int, variance: float = 1.0) -> "FeatureModel":
        """Independent weights around 0."""
        return cls(np.zeros(dimensions), variance * np.eye(dimensions))

    def projected(self, features: Array) -> tuple[Array, Array]:
        """Mean and variance of w . x_i, each (items,); features is (items, dimensions)."""
        return features @ self.mean, np.einsum("id,de,ie->i", features, self.covariance, features)

    def chance_of_positive(self, features: Array) -> Array:
        """E sigmoid(w . x_i): how likely a perfect worker calls item i positive, by Gauss-Hermite; shape (items,).

        >>> FeatureModel.flat(1).chance_of_positive(np.array([[0.0], [3.0]])).round(6).tolist()
        [0.5, 0.5]
        """
        centre, variance = self.projected(features)
        at = centre[:, None] + np.sqrt(variance)[:, None] * _NODES
        return np.asarray(special.expit(at) @ _NODE_WEIGHTS / np.sqrt(2 * np.pi))

    def probability_of_positive(self, features: Array) -> Array:
        """P(theta_i >= 1/2) = Phi(mean / deviation of w . x_i): how likely item i is positive; shape (items,).

        >>> FeatureModel(np.array([1.0]), np.eye(1)).probability_of_positive(np.array([[2.0]])).round(4).tolist()
        [0.8413]
        """
        return _above_zero(*self.projected(features))

    def learn(self, features: Array, positive: bool) -> "FeatureModel":  # noqa: FBT001  an answer is yes or no
        """The belief after one answer on the item with these features, (dimensions,), by Laplace's method.

        The new mode moves along covariance x only: with m, s the mean and variance of w . x and y = +-1 the answer,
        w . x becomes the root z of z = m + s y sigmoid(-y z), and with k = sigmoid(z) sigmoid(-z)

            mean' = mean + covariance x (z - m) / s,    covariance' = covariance - k / (1 + k s) (covariance x)(...)^T

        which is Laplace's approximation exactly, by the formula of Sherman and Morrison (Bishop 2007, section 4.5).

        >>> FeatureModel.flat(1).learn(np.array([1.0]), positive=True).mean.round(4).tolist()  # z = sigmoid(-z)
        [0.4011]
        """
        along = self.covariance @ features
        centre, variance = np.atleast_1d(features @ self.mean), np.atleast_1d(features @ along)
        push, curvature = _laplace_step(centre, variance, 1.0 if positive else -1.0)
        shrink = curvature / (1 + curvature * variance)
        return FeatureModel(self.mean + along * push, self.covariance - shrink * np.outer(along, along))

    def fit(self, features: Array, positive: npt.NDArray[np.bool_]) -> "FeatureModel":
        """The belief after all these answers at once: the joint mode and the curvature there.

        features is (answers, dimensions), positive (answers,). Unlike one `learn` after another, independent of the
        answers' order.
        """
        precision = np.linalg.inv(self.covariance)
        signed = features * np.where(positive, 1.0, -1.0)[:, None]
        weights = self.mean
        for _ in range(_NEWTON_STEPS):
            wrong = special.expit(-signed @ weights)
            slope = signed.T @ wrong - precision @ (weights - self.mean)
            curvature = precision + (features.T * (wrong * (1 - wrong))) @ features
            step = np.linalg.solve(curvature, slope)
            if np.abs(step).max() < _CONVERGED:
                break
            # Far from the mode a whole Newton step overshoots: take the part of it that climbs highest.
            tried = weights + _PARTS[:, None] * step
            away = tried - self.mean
            height = special.log_expit(tried @ signed.T).sum(axis=1) - ((away @ precision) * away).sum(axis=1) / 2
            weights = tried[height.argmax()]
        return FeatureModel(weights, np.asarray(np.linalg.inv(curvature), dtype=np.float64))

    def optimistic_gain(self, candidates: Array, items: Array) -> Array:
        """R+ of one more answer on each candidate, summed over all items, shape (candidates,).

        An answer about one item moves w and with it all items, so the reward counts them all:
        max over y of sum_i h(P_i after y) - h(P_i now), h(p) = max(p, 1 - p). Time grows with candidates x items.
        """
        rows = max(1, _PAIRS // max(1, len(items)))
        parts = [self._gain(candidates[start : start + rows], items) for start in range(0, len(candidates), rows)]
        return np.concatenate(parts) if parts else np.empty(0)

    def _gain(self, candidates: Array, items: Array) -> Array:
        centre, variance = self.projected(candidates)
        item_centre, item_variance = self.projected(items)
        shared = candidates @ self.covariance @ items.T  # (candidates, items)
        now = _certainty(item_centre, item_variance).sum()
        after = []
        for answer in (1.0, -1.0):
            push, curvature = _laplace_step(centre, variance, answer)
            shrink = curvature / (1 + curvature * variance)
            moved = item_centre + shared * push[:, None]
            left = np.maximum(item_variance - shared**2 * shrink[:, None], 0.0)
            after.append(_certainty(moved, left).sum(axis=1))
        return np.asarray(np.maximum(*after) - now)


def _laplace_step(centre: Array, variance: Array, answer: float) -> tuple[Array, Array]:
    """(z - m) / s and sigmoid(z) sigmoid(-z) at the root z of z = m + s y sigmoid(-y z), by halving.

    In y z one sign serves both answers: y z - y m - s sigmoid(-y z) rises, and is 0 between y m and y m + s.
    """
    start = answer * centre
    low, high = start, start + variance
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = middle - start < variance * special.expit(-middle)
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    root = (low + high) / 2
    return np.asarray(answer * special.expit(-root)), np.asarray(special.expit(root) * special.expit(-root))


def _certainty(centre: Array, variance: Array) -> Array:
    return np.maximum(_above_zero(centre, variance), _above_zero(-centre, variance))


def _above_zero(centre: Array, variance: Array) -> Array:
    """P(x >= 0) for x ~ N(centre, variance); where the variance is 0 the sign decides, and 0 itself is even."""
    deviation = np.sqrt(variance)
    settled = np.where(centre == 0, 0.0, np.copysign(np.inf, centre))
    scaled = np.divide(centre, deviation, out=settled, where=deviation > 0)
    return np.asarray(special.ndtr(scaled))
