"""The probability to be the largest share, compared with sampling, closed forms and symmetry."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import special

from app.policy.core.dirichlet import _by_quadrature, chance_of_being_largest, chance_of_the_strongest

ALPHA = arrays(np.float64, st.tuples(st.just(1), st.integers(3, 6)), elements=st.floats(0.05, 500))


@pytest.mark.parametrize(
    "alpha",
    [
        [1.0, 1.0, 2.0],
        [5.0, 4.0, 3.0, 2.0],
        [0.2, 0.3, 0.1],
        [0.5, 3.0, 40.0],
        [300.0, 310.0, 290.0],
        [2000.0, 1990.0, 1.0],
        [1.2, 1.1, 0.9, 1.0, 1.0, 1.3],
    ],
)
def test_agrees_with_sampling(alpha):
    """Every probability is within five standard errors of the share in 400,000 samples."""
    samples = np.random.default_rng(5).standard_gamma(alpha, size=(400_000, len(alpha)))
    share = np.bincount(samples.argmax(axis=1), minlength=len(alpha)) / len(samples)
    chance = chance_of_being_largest(np.array([alpha]))[0]
    error = np.sqrt(chance * (1 - chance) / len(samples)) + 1e-6
    assert (np.abs(chance - share) < 5 * error).all()


@settings(deadline=None)
@given(a=st.floats(0.05, 5000), b=st.floats(0.05, 5000))
def test_quadrature_agrees_with_the_incomplete_beta(a, b):
    """For two classes the quadrature for many classes agrees with the closed form."""
    assert _by_quadrature(np.array([[a, b]]))[0, 0] == pytest.approx(special.betainc(b, a, 0.5), abs=1e-11)


@settings(deadline=None)
@given(ALPHA)
def test_chances_sum_to_one_and_follow_the_parameters(alpha):
    """The strongest class has the largest chance; chances are ordered as the parameters are."""
    chance = chance_of_being_largest(alpha)
    assert chance.sum() == pytest.approx(1)
    assert (np.diff(chance[0, np.argsort(alpha[0])]) >= -1e-12).all()
    assert chance_of_the_strongest(alpha)[0] == pytest.approx(chance.max())


@settings(deadline=None)
@given(ALPHA)
def test_an_impossible_class_changes_nothing(alpha):
    """One more class with nearly no share does not change the probabilities of the others."""
    wider = np.concatenate([alpha + 1, [[1e-9]]], axis=1)
    assert chance_of_being_largest(wider)[0, :-1] == pytest.approx(chance_of_being_largest(alpha + 1)[0], abs=1e-6)


def test_rows_do_not_mind_their_company():
    """A row has the same result alone as among thousands of rows with other parameters."""
    alpha = np.random.default_rng(3).uniform(0.1, 30, size=(5000, 4))
    alone = np.concatenate([chance_of_being_largest(row[None]) for row in alpha[:20]])
    assert chance_of_being_largest(alpha)[:20] == pytest.approx(alone, abs=1e-11)


@settings(deadline=None)
@given(ALPHA, st.randoms(use_true_random=False))
def test_names_of_classes_change_nothing(alpha, luck):
    """Reordering the classes reorders the results; classes with equal parameters have equal results."""
    doubled = np.concatenate([alpha, alpha[:, :2]], axis=1)
    order = luck.sample(range(doubled.shape[1]), doubled.shape[1])
    chance = chance_of_being_largest(np.concatenate([doubled, doubled[:, order]]))
    assert chance[1] == pytest.approx(chance[0, order], abs=1e-12)
    assert chance[0, -2:] == pytest.approx(chance[0, :2], abs=1e-12)


def test_no_items_have_no_chances():
    """An empty array gives an empty array."""
    assert chance_of_being_largest(np.empty((0, 3))).shape == (0, 3)
