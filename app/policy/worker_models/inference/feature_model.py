"""Bayesian logistic regression for items with features, where an answer on one item says something about all."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, Mask

_NEWTON_STEPS = 100
_PARTS = 0.5 ** np.arange(12)  # of a Newton step
_CONVERGED = 1e-12


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

    def probability_of_positive(self, features: Array) -> Array:
        """P(theta_i >= 1/2) = Phi(mean / deviation of w . x_i): how likely item i is positive; shape (items,).

        >>> FeatureModel(np.array([1.0]), np.eye(1)).probability_of_positive(np.array([[2.0]])).round(4).tolist()
        [0.8413]
        """
        return _above_zero(*self.projected(features))

    def fit(self, features: Array, positive: Mask) -> "FeatureModel":
        """The belief after all these answers at once: the joint mode and the curvature there.

        features is (answers, dimensions), positive (answers,). Independent of the order of
        the answers.
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


def _above_zero(centre: Array, variance: Array) -> Array:
    """P(x >= 0) for x ~ N(centre, variance); where the variance is 0 the sign decides, and 0 itself is even."""
    deviation = np.sqrt(variance)
    settled = np.where(centre == 0, 0.0, np.copysign(np.inf, centre))
    scaled = np.divide(centre, deviation, out=settled, where=deviation > 0)
    return np.asarray(special.ndtr(scaled))
