"""Bayesian logistic regression against posteriors computed by brute force on a grid."""

import numpy as np
import pytest
from scipy import special

from app.policy.worker_models.inference.feature_model import FeatureModel


class Grid:
    """The exact posterior of two weights under a Gaussian prior, on a fine grid."""

    def __init__(self, model, reach=9.0, nodes=401):
        axis = np.linspace(-reach, reach, nodes)
        self.weights = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        away = self.weights - model.mean
        self.log = -0.5 * np.einsum("nd,de,ne->n", away, np.linalg.inv(model.covariance), away)

    def answer(self, features, positive):
        self.log = self.log + special.log_expit((1 if positive else -1) * (self.weights @ features))

    @property
    def mass(self):
        mass = np.exp(self.log - self.log.max())
        return mass / mass.sum()

    def chance_above_zero(self, features):
        projected = self.weights @ features.T
        return self.mass @ (0.5 + np.sign(projected.round(9)) / 2)

    def mean(self):
        return self.mass @ self.weights

    def mode(self):
        return self.weights[self.log.argmax()]


PRIOR = FeatureModel(np.array([0.3, -0.2]), np.array([[1.5, 0.4], [0.4, 0.8]]))
ANSWERS = [([1.0, 0.5], True), ([-0.5, 1.0], False), ([1.0, -1.0], True), ([0.3, 0.3], False), ([2.0, 0.1], True)]


def test_predictions_are_integrals_over_the_weights():
    """P(w . x >= 0), summed over the grid."""
    grid, features = Grid(PRIOR), np.array([[1.0, 0.5], [-2.0, 0.3], [0.1, 0.1]])
    assert PRIOR.probability_of_positive(features) == pytest.approx(grid.chance_above_zero(features), abs=2e-3)


def test_a_fit_is_near_the_exact_posterior():
    """After five answers the mean is the mode, and within a quarter of a standard deviation of the exact mean."""
    grid = Grid(PRIOR)
    for features, positive in ANSWERS:
        grid.answer(np.array(features), positive)
    fitted = PRIOR.fit(np.array([x for x, _ in ANSWERS]), np.array([y for _, y in ANSWERS]))
    deviation = np.sqrt(np.diag(fitted.covariance))
    assert (np.abs(fitted.mean - grid.mean()) < 0.25 * deviation).all()
    assert fitted.mean == pytest.approx(grid.mode(), abs=0.03)
    asked = np.array([[1.0, 1.0], [-1.0, 0.5]])
    assert fitted.probability_of_positive(asked) == pytest.approx(grid.chance_above_zero(asked), abs=0.05)


def test_the_covariance_is_the_curvature_at_the_mode():
    """After one answer the slope at the mode is 0, and the covariance is the inverse of the curvature."""
    features = np.array([1.0, 0.5])
    after = PRIOR.fit(features[None], np.array([True]))
    share = special.expit(features @ after.mean)
    slope = features * (1 - share) - np.linalg.inv(PRIOR.covariance) @ (after.mean - PRIOR.mean)
    curvature = np.linalg.inv(PRIOR.covariance) + share * (1 - share) * np.outer(features, features)
    assert slope == pytest.approx(np.zeros(2), abs=1e-9)
    assert after.covariance == pytest.approx(np.linalg.inv(curvature))


def test_fitting_separable_answers_converges():
    """Two hundred answers that a line separates, under a wide prior, have a finite mode."""
    features = np.random.default_rng(1).normal(size=(200, 2)) * 5
    wide = FeatureModel.flat(2, variance=100.0)
    fitted = wide.fit(features, features[:, 0] > 0)
    share = special.expit(features @ fitted.mean)
    slope = features.T @ ((features[:, 0] > 0) - share) - fitted.mean / 100
    assert slope == pytest.approx(np.zeros(2), abs=1e-8)


def test_an_item_without_features_is_even():
    """It is as likely positive as negative, whatever the weights are."""
    assert PRIOR.probability_of_positive(np.zeros((1, 2)))[0] == 0.5
