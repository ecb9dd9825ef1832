"""Bayesian softmax regression against posteriors on a grid, other optimisers and closed forms."""

import numpy as np
import pytest
from scipy import optimize, special

from app.policy.worker_models.inference.feature_model import FeatureModel, standardised

VARIANCE = np.array([0.8, 1.5])  # of the weights of a class; that of the difference of two classes is twice as large
X = np.array([[1.0, 0.5], [-0.5, 1.0], [1.0, -1.0], [0.3, 0.3], [2.0, 0.1]])
POSITIVE = np.array([True, False, True, False, True])


def certain(label) -> np.ndarray:
    """What answers say that leave no doubt."""
    return np.eye(int(np.max(label)) + 1)[np.asarray(label, dtype=int)]


class Grid:
    """The exact posterior of w_1 - w_0 for two weights, on a fine grid."""

    def __init__(self, variance, reach=9.0, nodes=401):
        axis = np.linspace(-reach, reach, nodes)
        self.weights = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
        self.log = -(self.weights**2 / (4 * variance)).sum(axis=1)

    def learn(self, features, likelihood):
        positive = special.expit(self.weights @ features.T)
        self.log = self.log + np.log(likelihood[:, 0] * (1 - positive) + likelihood[:, 1] * positive).sum(axis=1)
        return self

    def mode(self):
        return self.weights[self.log.argmax()]

    def probability(self, features):
        mass = np.exp(self.log - self.log.max())
        return (mass / mass.sum()) @ special.expit(self.weights @ features.T)


@pytest.mark.parametrize(
    "likelihood", [certain(POSITIVE), np.where(POSITIVE[:, None] == [False, True], 0.8, 0.2)], ids=["certain", "noisy"]
)
def test_two_labels_are_a_bayesian_logistic_regression(likelihood):
    """Chen et al. (ICML 2013, section 5): the mode, and predictions that are integrals over the weights."""
    fitted, grid = FeatureModel.fit(X, likelihood, VARIANCE), Grid(VARIANCE).learn(X, likelihood)
    assert fitted.weights[:, 1] - fitted.weights[:, 0] == pytest.approx(grid.mode(), abs=0.03)
    asked = np.array([[1.0, 1.0], [-1.0, 0.5], [0.0, 0.0], [3.0, -2.0]])
    assert fitted.probability(asked)[:, 1] == pytest.approx(grid.probability(asked), abs=0.04)


def test_the_mode_is_what_another_optimiser_finds():
    """Three labels with noisy answers: Nelder and Mead (1965), who need no slope, find no higher point."""
    rng = np.random.default_rng(4)
    features, likelihood = rng.normal(size=(30, 2)), rng.dirichlet([1, 1, 1], 30)

    def depth(flat):
        weights = flat.reshape(2, 3)
        probability = special.softmax(features @ weights, axis=1)
        return (weights**2 / (2 * VARIANCE[:, None])).sum() - np.log((probability * likelihood).sum(axis=1)).sum()

    found = FeatureModel.fit(features, likelihood, VARIANCE).weights
    options = {"xatol": 1e-7, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000, "adaptive": True}
    other = optimize.minimize(depth, np.zeros(6), method="Nelder-Mead", options=options)
    assert found.ravel() == pytest.approx(other.x, abs=1e-4)
    assert depth(found.ravel()) <= other.fun + 1e-9


def test_noisy_answers_do_not_blur_the_classes():
    """With an intercept alone and answers that are right with a, the share p solves a p + (1 - a)(1 - p) = observed."""
    right, observed, items = 0.8, 0.65, 4000
    said = (np.arange(items) < observed * items)[:, None] == np.array([False, True])
    fitted = FeatureModel.fit(np.ones((items, 1)), np.where(said, right, 1 - right), np.array([1e6]))
    share = (observed - (1 - right)) / (2 * right - 1)
    assert fitted.probability(np.ones((1, 1)))[0] == pytest.approx([1 - share, share], abs=1e-3)


def test_the_variance_is_the_curvature_at_the_mode():
    """Where all items are alike: 1 / v = n p (1 - p) + 1 / (2 variance), and the prediction is MacKay's (1992)."""
    items, positive, variance = 12, 9, 2.0
    fitted = FeatureModel.fit(np.ones((items, 1)), certain(np.arange(items) < positive), np.array([variance]))
    logit = float(fitted.weights[0, 1] - fitted.weights[0, 0])
    share = special.expit(logit)
    assert positive - items * share - logit / (2 * variance) == pytest.approx(0, abs=1e-5)
    spread = 1 / (items * share * (1 - share) + 1 / (2 * variance))
    expected = special.expit(logit / np.sqrt(1 + np.pi / 8 * spread))
    assert fitted.probability(np.ones((1, 1)))[0, 1] == pytest.approx(expected)


def test_labels_have_no_order():
    """Renaming the labels renames the predictions."""
    rng = np.random.default_rng(2)
    features, likelihood = standardised(rng.normal(size=(40, 3))), rng.dirichlet([1, 1, 1, 1], 40)
    order, variance = np.array([2, 0, 3, 1]), np.ones(4)
    plain = FeatureModel.fit(features, likelihood, variance).probability(features)
    renamed = FeatureModel.fit(features, likelihood[:, order], variance).probability(features)
    assert renamed == pytest.approx(plain[:, order], abs=1e-5)
    assert plain.sum(axis=1) == pytest.approx(1)


def test_separable_answers_have_a_finite_mode():
    """Two hundred answers that a line separates, under a wide prior."""
    features = np.random.default_rng(1).normal(size=(200, 2)) * 5
    label = features[:, 0] > 0
    fitted = FeatureModel.fit(features, certain(label), np.array([50.0, 50.0]))
    weights = fitted.weights[:, 1] - fitted.weights[:, 0]
    slope = features.T @ (label - special.expit(features @ weights)) - weights / 100
    assert slope == pytest.approx(np.zeros(2), abs=1e-3)


def test_the_scale_of_features_does_not_matter():
    """Other units, another origin, a column that is constant or nearly as large as a number may be."""
    rng = np.random.default_rng(3)
    plain = rng.normal(size=(50, 2))
    other = plain * [1e3, 1e-3] + [1e6, 0]
    assert standardised(other) == pytest.approx(standardised(plain), abs=1e-6)
    assert standardised(np.column_stack([plain, np.full(50, 0.1)]))[:, 2].tolist() == [0.0] * 50
    assert np.isfinite(standardised(plain * 1e307)).all()


def test_the_prior_variance_is_estimated():
    """Random features are held near 0, and telling ones are not; both better than one variance for all."""
    rng = np.random.default_rng(6)
    features, test = (standardised(rng.normal(size=(items, 20))) for items in (150, 2000))
    weights = np.append(rng.normal(size=20), 0.0)
    for truth_of in (lambda x: rng.random(len(x)) < 0.5, lambda x: x @ weights > 0):
        label, asked = truth_of(features), truth_of(test)
        losses = [
            -np.log(model.probability(test)[np.arange(2000), asked.astype(int)]).mean()
            for model in (
                FeatureModel.fit(features, certain(label), np.full(21, 0.2)),
                FeatureModel.learned(features, certain(label)),
            )
        ]
        assert losses[1] < losses[0]


def test_a_fit_that_begins_elsewhere_ends_at_the_same_mode():
    rng = np.random.default_rng(8)
    features, likelihood = standardised(rng.normal(size=(60, 4))), rng.dirichlet([1, 1, 1], 60)
    variance = np.array([0.5, 0.5, 0.5, 0.5, 4.0])
    plain = FeatureModel.fit(features, likelihood, variance)
    other = FeatureModel.fit(features, likelihood, 4 * variance)
    begun = FeatureModel.fit(features, likelihood, variance, gram=features.T @ features, near=other)
    assert begun.weights == pytest.approx(plain.weights, abs=1e-4)
