"""Bayesian logistic regression against posteriors computed by brute force on a grid."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from app.policy.features import FeatureModel

NUMBER = st.floats(-3, 3)


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
    """E sigmoid(w . x) and P(w . x >= 0), summed over the grid."""
    grid, features = Grid(PRIOR), np.array([[1.0, 0.5], [-2.0, 0.3], [0.1, 0.1]])
    projected = grid.weights @ features.T
    assert PRIOR.chance_of_positive(features) == pytest.approx(grid.mass @ special.expit(projected), abs=1e-6)
    assert PRIOR.probability_of_positive(features) == pytest.approx(grid.chance_above_zero(features), abs=2e-3)


def test_one_answer_moves_to_the_mode_of_the_exact_posterior():
    """Laplace's mean is the highest point, and its covariance the curvature there."""
    features = np.array([1.0, 0.5])
    grid, after = Grid(PRIOR), PRIOR.learn(features, positive=True)
    grid.answer(features, positive=True)
    assert after.mean == pytest.approx(grid.mode(), abs=0.03)
    share = special.expit(features @ after.mean)
    slope = features * (1 - share) - np.linalg.inv(PRIOR.covariance) @ (after.mean - PRIOR.mean)
    curvature = np.linalg.inv(PRIOR.covariance) + share * (1 - share) * np.outer(features, features)
    assert slope == pytest.approx(np.zeros(2), abs=1e-9)
    assert after.covariance == pytest.approx(np.linalg.inv(curvature))


def test_answers_one_by_one_stay_near_the_exact_posterior():
    """Five answers: the mean is within a quarter of a deviation of the exact one, in order or all at once."""
    grid, model = Grid(PRIOR), PRIOR
    for features, positive in ANSWERS:
        grid.answer(np.array(features), positive)
        model = model.learn(np.array(features), positive=positive)
    fitted = PRIOR.fit(np.array([x for x, _ in ANSWERS]), np.array([y for _, y in ANSWERS]))
    deviation = np.sqrt(np.diag(fitted.covariance))
    assert (np.abs(model.mean - grid.mean()) < 0.25 * deviation).all()
    assert (np.abs(fitted.mean - grid.mean()) < 0.25 * deviation).all()
    assert fitted.mean == pytest.approx(grid.mode(), abs=0.03)
    asked = np.array([[1.0, 1.0], [-1.0, 0.5]])
    assert model.probability_of_positive(asked) == pytest.approx(grid.chance_above_zero(asked), abs=0.04)


def test_fitting_one_answer_is_learning_it():
    """Both find the same mode."""
    once, fitted = (
        PRIOR.learn(np.array([1.0, 2.0]), positive=False),
        PRIOR.fit(np.array([[1.0, 2.0]]), np.array([False])),
    )
    assert once.mean == pytest.approx(fitted.mean)
    assert once.covariance == pytest.approx(fitted.covariance)


def test_fitting_separable_answers_converges():
    """Two hundred answers that a line separates, under a wide prior, have a finite mode."""
    features = np.random.default_rng(1).normal(size=(200, 2)) * 5
    wide = FeatureModel.flat(2, variance=100.0)
    fitted = wide.fit(features, features[:, 0] > 0)
    share = special.expit(features @ fitted.mean)
    slope = features.T @ ((features[:, 0] > 0) - share) - fitted.mean / 100
    assert slope == pytest.approx(np.zeros(2), abs=1e-8)


@settings(deadline=None)
@given(mean=st.tuples(NUMBER, NUMBER), spread=st.floats(0.05, 30), x=st.tuples(NUMBER, NUMBER), positive=st.booleans())
def test_an_answer_moves_belief_its_way_and_narrows_it(mean, spread, x, positive):
    """The answered item becomes likelier what it was called, and no direction becomes less certain."""
    before, features = FeatureModel(np.array(mean), spread * np.eye(2)), np.array(x)
    after = before.learn(features, positive=positive)
    moved = features @ (after.mean - before.mean)
    assert moved >= -1e-12 if positive else moved <= 1e-12
    assert (np.linalg.eigvalsh(before.covariance - after.covariance) >= -1e-9).all()
    assert (np.linalg.eigvalsh(after.covariance) > 0).all()


def test_the_gain_is_what_learning_would_give():
    """R+ of each candidate, from the model after either answer."""
    rng = np.random.default_rng(4)
    items = rng.normal(size=(30, 2))
    candidates = items[:5]

    def certainty(model):
        probability = model.probability_of_positive(items)
        return np.maximum(probability, 1 - probability).sum()

    expected = [
        max(certainty(PRIOR.learn(x, positive=answer)) for answer in (True, False)) - certainty(PRIOR)
        for x in candidates
    ]
    assert PRIOR.optimistic_gain(candidates, items) == pytest.approx(expected, abs=1e-10)


def test_an_item_without_features_teaches_nothing():
    """Its answer is a coin's whatever the weights are."""
    nothing = np.zeros((1, 2))
    assert PRIOR.optimistic_gain(nothing, np.eye(2)) == pytest.approx([0.0], abs=1e-12)
    assert PRIOR.probability_of_positive(nothing)[0] == 0.5


def test_asking_by_gain_learns_faster_than_at_random():
    """Sixty items on a line through two dimensions, fifteen answers: the gain picks telling items."""
    rng = np.random.default_rng(9)
    truth = np.array([2.0, -1.5])
    right = {"gain": [], "random": []}
    for _ in range(25):
        items = rng.normal(size=(60, 2))
        for how, scores in right.items():
            model = FeatureModel.flat(2, variance=4.0)
            for _ in range(15):
                best = model.optimistic_gain(items, items).argmax() if how == "gain" else rng.integers(60)
                model = model.learn(items[best], positive=bool(rng.random() < special.expit(items[best] @ truth)))
            scores.append((((items @ model.mean) > 0) == ((items @ truth) > 0)).mean())
    assert np.mean(right["gain"]) > np.mean(right["random"])
