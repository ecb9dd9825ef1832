"""Moment matching keeps the mean and the variance of the exact posterior."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special

from app.policy.core.belief import ItemContext, State
from app.policy.worker_models import OneCoin, TwoCoin
from app.policy.worker_models.inference.moment_matching import match_moments

PARAMETER = st.floats(0.3, 60)
FACTS = ItemContext.plain(1)


def moments_of_beta(a, b):
    """Mean and variance of a Beta."""
    return a / (a + b), a * b / ((a + b) ** 2 * (a + b + 1))


def beta_nodes(a, b):
    """Nodes and weights that integrate polynomials up to degree 15 under Beta(a, b) exactly (Gauss-Jacobi)."""
    nodes, weights = special.roots_jacobi(8, b - 1, a - 1)
    return (1 + nodes) / 2, weights / weights.sum()


def integrated(likelihood, *betas):
    """Mean and variance of each variable under a product of Betas times a likelihood, by two-dimensional quadrature."""
    nodes, weights = zip(*(beta_nodes(a, b) for a, b in betas), strict=True)
    grids = np.meshgrid(*nodes, indexing="ij")
    mass = np.multiply.outer(*weights) * likelihood(*grids)
    mass = mass / mass.sum()
    means = [(mass * grid).sum() for grid in grids]
    return [(mean, (mass * (grid - mean) ** 2).sum()) for mean, grid in zip(means, grids, strict=True)]


@settings(deadline=None)
@given(a=PARAMETER, b=PARAMETER, c=PARAMETER, d=PARAMETER, label=st.integers(0, 1))
def test_one_coin_keeps_the_moments_of_the_exact_posterior(a, b, c, d, label):
    """Item and worker have the mean and the variance that integration over both gives."""
    state = State(np.zeros((1, 2)), np.array([[a, b]]))
    after, skill = OneCoin().learn(state, FACTS, np.array([[c, d]]), np.array([label]))
    positive = label == 0
    exact = integrated(
        lambda theta, rho: (theta if positive else 1 - theta) * rho + (1 - theta if positive else theta) * (1 - rho),
        (a, b),
        (c, d),
    )
    assert moments_of_beta(*after.model_state[0]) == pytest.approx(exact[0], rel=1e-8)
    assert moments_of_beta(*skill[0]) == pytest.approx(exact[1], rel=1e-8)


@settings(deadline=None)
@given(a=PARAMETER, b=PARAMETER, c=PARAMETER, d=PARAMETER)
def test_one_coin_is_the_printed_formula(a, b, c, d):
    """E theta = a((a+1)c + bd) / ((n+1)Z), E theta^2 = a(a+1)((a+2)c + bd) / ((n+1)(n+2)Z), Z = ac + bd, n = a + b."""
    n, z = a + b, a * c + b * d
    first = a * ((a + 1) * c + b * d) / ((n + 1) * z)
    second = a * (a + 1) * ((a + 2) * c + b * d) / ((n + 1) * (n + 2) * z)
    after, _ = OneCoin().learn(
        State(np.zeros((1, 2)), np.array([[a, b]])), FACTS, np.array([[c, d]]), np.zeros(1, dtype=int)
    )
    assert moments_of_beta(*after.model_state[0]) == pytest.approx((first, second - first**2), rel=1e-6)


@settings(deadline=None)
@given(a=PARAMETER, b=PARAMETER, skill=st.tuples(*[PARAMETER] * 4), label=st.integers(0, 1))
def test_two_coin_keeps_the_moments_of_the_exact_posterior(a, b, skill, label):
    """Item and both accuracies, each integrated against the other two."""
    state = State(np.zeros((1, 2)), np.array([[a, b]]))
    after, learned = TwoCoin().learn(state, FACTS, np.array([skill]), np.array([label]))
    mean_0, mean_1 = skill[0] / (skill[0] + skill[1]), skill[2] / (skill[2] + skill[3])

    def likelihood(theta, rho_0, rho_1):
        says_0 = theta * rho_0 + (1 - theta) * (1 - rho_1)
        return says_0 if label == 0 else 1 - says_0

    of_item, of_first = integrated(lambda t, r: likelihood(t, r, mean_1), (a, b), skill[:2])
    of_second = integrated(lambda t, r: likelihood(t, mean_0, r), (a, b), skill[2:])[1]
    assert moments_of_beta(*after.model_state[0]) == pytest.approx(of_item, rel=1e-8)
    assert moments_of_beta(*learned[0, :2]) == pytest.approx(of_first, rel=1e-8)
    assert moments_of_beta(*learned[0, 2:]) == pytest.approx(of_second, rel=1e-8)


@settings(deadline=None)
@given(alpha=st.tuples(*[st.floats(1, 12)] * 3), c=PARAMETER, d=PARAMETER, label=st.integers(0, 2))
def test_three_classes_keep_the_mean_and_the_total_variance(alpha, c, d, label):
    """Errors spread evenly over the other classes, integrated over the triangle of shares."""
    state = State(np.zeros((1, 3)), np.array([alpha]))
    after, _ = OneCoin().learn(state, FACTS, np.array([[c, d]]), np.array([label]))
    # By stick-breaking, the shares are two independent Betas.
    (u, first), (v, second) = (beta_nodes(alpha[0], alpha[1] + alpha[2]), beta_nodes(alpha[1], alpha[2]))
    u, v = np.meshgrid(u, v, indexing="ij")
    shares = np.stack([u, (1 - u) * v, (1 - u) * (1 - v)])
    right = c / (c + d)
    mass = np.multiply.outer(first, second) * (right * shares[label] + (1 - right) / 2 * (1 - shares[label]))
    mass = mass / mass.sum()
    mean = (mass * shares).sum(axis=(1, 2))
    variance = (mass * (shares - mean[:, None, None]) ** 2).sum()
    matched_mean = after.model_state[0] / after.model_state[0].sum()
    assert matched_mean == pytest.approx(mean, rel=1e-9)
    assert (matched_mean * (1 - matched_mean)).sum() / (after.model_state[0].sum() + 1) == pytest.approx(
        variance, rel=1e-8
    )


@pytest.mark.parametrize("wrong", [1e-3, 1e-9, 1e-15, 1e-200])
def test_a_near_perfect_worker_does_not_cancel(wrong):
    """As d -> 0 the item (3, 2) tends to one more vote, and a worker (4, d) to (4.25, 0), the limit on paper.

    There c' + d' = 5 G / (G + 6 w) with G = 5 d + 4 w and w = d / 6, the chance of a mistake.
    """
    state = State(np.zeros((1, 2)), np.array([[3.0, 2.0]]))
    after, skill = OneCoin().learn(state, FACTS, np.array([[4.0, wrong]]), np.array([0]))
    assert after.model_state[0] == pytest.approx([4.0, 2.0], rel=2e-3)
    assert skill[0, 0] == pytest.approx(4.25, rel=2e-3)
    assert 0 < skill[0, 1] < wrong


def test_a_worker_who_cannot_err_is_counted():
    """At d = 0 exactly there is no variance to match: one right answer is added, and nothing is NaN."""
    state = State(np.zeros((1, 2)), np.array([[3.0, 2.0]]))
    after, skill = OneCoin().learn(state, FACTS, np.array([[4.0, 0.0]]), np.array([0]))
    assert after.model_state[0] == pytest.approx([4.0, 2.0])
    assert skill[0] == pytest.approx([5.0, 0.0])


def test_a_certain_mixture_is_counting():
    """Where one class gets all the weight, its parameter grows by one and nothing shrinks."""
    assert match_moments(np.array([[2.0, 3.0, 4.0]]), np.array([[0.0, 1.0, 0.0]]))[0] == pytest.approx([2, 4, 4])


def test_an_unchanged_mixture_stays():
    """Where nothing is gained, nothing changes."""
    assert match_moments(np.array([[2.0, 3.0]]), np.zeros((1, 2)))[0] == pytest.approx([2, 3])


def test_quadrature_of_this_test_is_right():
    """The integration that these tests use agrees with scipy's on one case."""
    (mean, _), _ = integrated(lambda t, r: t * r + (1 - t) * (1 - r), (2.5, 1.5), (4.0, 1.0))

    def density(t, r):
        return (t * r + (1 - t) * (1 - r)) * t**1.5 * (1 - t) ** 0.5 * r**3

    top = integrate.dblquad(lambda t, r: t * density(t, r), 0, 1, 0, 1)[0]
    assert mean == pytest.approx(top / integrate.dblquad(density, 0, 1, 0, 1)[0], rel=1e-7)


@pytest.mark.parametrize("classes", [2, 6, 40])
def test_an_answer_teaches_the_same_alone_and_among_others(classes):
    """To the last bit: the service learns from many answers at once, a replay from one after the other."""
    rng = np.random.default_rng(1)
    for items in (2, 5, 33):
        model, context = OneCoin(), ItemContext.plain(items)
        state = State(np.zeros((items, classes)), rng.uniform(0.5, 9, (items, classes)))
        skill, label = rng.uniform(0.5, 9, (items, 2)), rng.integers(0, classes, items)
        together, skills = model.learn(state, context, skill, label)
        for row in range(items):
            alone = State(state.votes[[row]], state.model_state[[row]])
            state_of_one, skill_of_one = model.learn(alone, FACTS, skill[[row]], label[[row]])
            assert state_of_one.model_state[0].tolist() == together.model_state[row].tolist()
            assert skill_of_one[0].tolist() == skills[row].tolist()
