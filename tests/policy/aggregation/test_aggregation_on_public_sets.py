"""Our aggregations on recorded crowds: known figures, and agreement with crowd-kit, an independent implementation."""

import os
import warnings

import numpy as np
import pytest

from app.policy.aggregation import Ballots, DawidSkene, Glad, Kos, Majority, OneCoinEM
from tests.policy.recorded_ballots import accuracy, recorded

NAMES = ["adult2", "bluebirds", "d_possent", "millionaire", "rte", "temp", "weather_amt"]
BINARY = ["bluebirds", "d_possent", "rte", "temp"]
HALF_A_POINT = 0.005

# crowd-kit needs minutes for these; set SUFFICE_SLOW_TESTS to wait for them.
patient = bool(os.environ.get("SUFFICE_SLOW_TESTS"))
SLOW_ONE_COIN = {"millionaire"}
SLOW_GLAD = {"millionaire", "adult2", "d_possent", "rte", "temp"}

every_set = pytest.mark.parametrize("name", NAMES)
# Warnings of crowd-kit and its dependencies are not ours to fix.
theirs = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize(
    ("name", "member", "figure"),
    [
        ("rte", Majority(), 717.5 / 800),
        ("rte", OneCoinEM(), 0.926),
        ("rte", DawidSkene(), 0.9275),
        ("rte", DawidSkene(smoothing=1), 0.930),
        ("bluebirds", Majority(), 82 / 108),
        ("bluebirds", OneCoinEM(), 0.722),
        ("bluebirds", DawidSkene(), 0.898),
        ("adult2", Majority(), 253 / 333),
        ("d_possent", Majority(), 0.9335),
        ("millionaire", Majority(), 1711 / 1891),
        ("temp", Majority(), 432.5 / 462),
        ("weather_amt", Majority(), 256 / 300),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_known_figures(name, member, figure):
    """Accuracies computed independently of this code, ties one half: equal within 0.15 points, one item of RTE."""
    ballots, truth = recorded(name)
    assert accuracy(member.fit(ballots).posterior, truth) == pytest.approx(figure, abs=0.0015)


@pytest.mark.parametrize("member", [DawidSkene(), OneCoinEM(), Glad()], ids=lambda member: member.kind)
def test_models_of_workers_beat_the_majority_on_rte(member):
    """Estimating skills gains at least two points of accuracy on RTE."""
    ballots, truth = recorded("rte")
    majority = accuracy(Majority().fit(ballots).posterior, truth)
    assert accuracy(member.fit(ballots).posterior, truth) > majority + 0.02


def test_kos_collapses_on_rte():
    """A few busy workers who mostly say yes dominate the messages, as the docstring of `Kos` says."""
    ballots, truth = recorded("rte")
    assert accuracy(Kos().fit(ballots).posterior, truth) == pytest.approx(0.5, abs=0.02)


@pytest.fixture(scope="module")
def crowdkit():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("crowdkit.aggregation", reason="crowd-kit is not installed: nothing to compare with")


def table(ballots: Ballots):
    pandas = pytest.importorskip("pandas", reason="pandas, which crowd-kit reads, is not installed")
    return pandas.DataFrame({"task": ballots.item, "worker": ballots.worker, "label": ballots.label})


def their_posterior(model, ballots: Ballots) -> np.ndarray:
    chances = model.fit_predict_proba(table(ballots))
    return chances.reindex(index=range(ballots.items), columns=range(ballots.classes)).fillna(0.0).to_numpy()


@theirs
@every_set
def test_majority_is_crowdkits(crowdkit, name):
    """Both give the same shares of the votes. (crowd-kit breaks ties, so labels may differ on ties.)"""
    ballots, _ = recorded(name)
    expected = their_posterior(crowdkit.MajorityVote(), ballots)
    np.testing.assert_allclose(Majority().fit(ballots).posterior, expected, atol=1e-12)


@theirs
@every_set
def test_dawid_skene_is_crowdkits(crowdkit, name):
    """After the same number of rounds, and with crowd-kit's floor of 1e-10 for each count, posteriors are the same.

    They differ in the last digits: for a worker without an item of some class, crowd-kit assumes equal chances of the
    answers that the worker has given, and we assume equal chances of all answers. Without the floor the two differ on 5
    of 333 items of adult2.
    """
    ballots, truth = recorded(name)
    ours = DawidSkene(smoothing=1e-10, max_iterations=10, tolerance=0).fit(ballots).posterior
    # crowd-kit stops on a quantity that may fall while the likelihood rises, so early stopping is switched off.
    expected = their_posterior(crowdkit.DawidSkene(n_iter=10, tol=-np.inf), ballots)
    assert abs(accuracy(ours, truth) - accuracy(expected, truth)) <= HALF_A_POINT
    assert np.abs(ours - expected).mean() < 1e-3
    assert np.mean(ours.argmax(axis=1) == expected.argmax(axis=1)) > 0.995


@theirs
@every_set
def test_one_coin_is_crowdkits(crowdkit, name):
    """With estimated class shares and nearly no pseudo-answers it is the same model."""
    if name in SLOW_ONE_COIN and not patient:
        pytest.skip(f"crowd-kit takes over 10 s for {name}; set SUFFICE_SLOW_TESTS=1 to wait")
    ballots, truth = recorded(name)
    bare = OneCoinEM(class_shares="estimated", prior_right=1e-9, prior_wrong=1e-9, max_iterations=5, tolerance=0)
    ours = bare.fit(ballots).posterior
    expected = their_posterior(crowdkit.OneCoinDawidSkene(n_iter=5, tol=-np.inf), ballots)
    assert abs(accuracy(ours, truth) - accuracy(expected, truth)) <= HALF_A_POINT
    assert np.abs(ours - expected).mean() < 1e-3


@theirs
@every_set
def test_glad_is_crowdkits(crowdkit, name):
    """Another optimiser of the same likelihood: posteriors differ a little, accuracies by at most half a point."""
    if name in SLOW_GLAD and not patient:
        pytest.skip(f"crowd-kit takes 10 s to many minutes for {name}; set SUFFICE_SLOW_TESTS=1 to wait")
    ballots, truth = recorded(name)
    ours = Glad().fit(ballots).posterior
    expected = their_posterior(crowdkit.GLAD(), ballots)
    assert abs(accuracy(ours, truth) - accuracy(expected, truth)) <= HALF_A_POINT
    assert np.abs(ours - expected).mean() < 0.01


@theirs
@pytest.mark.parametrize("name", BINARY)
def test_kos_is_crowdkits(crowdkit, name):
    """crowd-kit starts from random messages and finds the same labels, even where they are useless."""
    ballots, truth = recorded(name)
    expected = crowdkit.KOS(n_iter=40, random_state=0).fit_predict(table(ballots)).reindex(range(ballots.items))
    ours = Kos().fit(ballots)
    assert abs(accuracy(ours.posterior, truth) - float(np.mean(expected == truth))) <= HALF_A_POINT
    assert np.mean(ours.labels() == expected) > 0.99
