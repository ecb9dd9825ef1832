"""What people see of a worker's skill, and the optimistic skill."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted
from tests.policy.worker_models.cases import ANY_WORKER, CASES, IN_ORDER, LIGHT, MODELS, evidence, lopsided

RATED = [Weighted(), OneCoin(), TwoCoin(), Confusion(), Auto(), IN_ORDER]


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(worker=ANY_WORKER)
def test_an_interval_holds_the_accuracy(model, classes, worker):
    """It lies between 0 and 1 and contains the mean, or is unknown."""
    skill = lopsided(model, classes, *worker)[None]
    (low, high), accuracy = model.interval(skill)[0], model.accuracy(skill)[0]
    if isinstance(model, Anonymous | Tiers):
        assert np.isnan([low, high]).all()
    else:
        assert 0 <= low <= accuracy <= high <= 1


@pytest.mark.parametrize("model", [Weighted(), OneCoin(), Auto()], ids=lambda model: model.kind)
@pytest.mark.parametrize(("right", "wrong"), [(4, 1), (30, 12), (0.5, 0.7)])
def test_one_coins_interval_is_the_betas(model, right, wrong):
    """Its ends are exactly scipy's quantiles of Beta(right, wrong)."""
    found = model.interval(np.array([[right, wrong]], dtype=float))[0]
    assert found == pytest.approx(stats.beta(right, wrong).ppf([0.025, 0.975]), rel=1e-9)


def test_the_spam_filters_interval_is_by_agreement():
    """Beta(agreed + 1, disagreed + 1)."""
    found = SpamFilter().interval(np.array([[14.0, 20.0]]))[0]
    assert found == pytest.approx(stats.beta(15, 7).ppf([0.025, 0.975]), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "skill"),
    [(TwoCoin(), [9.0, 3.0, 20.0, 2.0]), (Confusion(), [8.0, 1.0, 1.0, 2.0, 12.0, 2.0, 1.0, 3.0, 9.0])],
    ids=["two-coin", "confusion"],
)
def test_an_interval_of_several_rows_is_near_the_true_one(model, skill):
    """Within 0.01 of the quantiles of 200,000 draws of every row."""
    rng, rows = np.random.default_rng(6), model.dirichlets(np.array([skill]))[0]
    drawn = np.mean([rng.dirichlet(row, 200_000)[:, j] for j, row in enumerate(rows)], axis=0)
    assert model.interval(np.array([skill]))[0] == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=0.01)


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(worker=ANY_WORKER, bonus=st.floats(0, 2))
def test_optimism_raises_accuracy_and_keeps_the_evidence(model, classes, worker, bonus):
    """The evidence stays, the accuracy does not fall and stays below 1, and a bonus of 0 changes nothing."""
    skill = lopsided(model, classes, *worker)[None]
    hoped = model.optimistic(skill, bonus)
    assert hoped.shape == skill.shape
    if model not in RATED:
        assert hoped is skill
        return
    assert evidence(model, hoped) == pytest.approx(evidence(model, skill), rel=1e-9)
    assert (hoped > 0).all()
    assert model.accuracy(skill)[0] - 1e-12 <= model.accuracy(hoped)[0] < 1
    assert model.optimistic(skill, 0.0) == pytest.approx(skill, rel=1e-9)


@pytest.mark.parametrize("model", RATED, ids=lambda model: model.kind)
def test_optimism_fades_as_answers_come(model):
    """The accuracy grows by bonus / sqrt(n), where n is the number of answers behind the skill."""
    for worth in (1.0, 10.0, 100.0):
        skill = type(model)(prior=(6.0 * worth, 4.0 * worth)).newcomer(2)[None]
        raised = model.accuracy(model.optimistic(skill, 0.3)) - model.accuracy(skill)
        assert raised == pytest.approx(0.3 / np.sqrt(evidence(model, skill)), rel=1e-9)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_only_the_anonymous_are_all_alike(model):
    """In every model but one, the value of an answer depends on its worker."""
    assert (model.newcomer(2).size > 0) == (model.kind != "anonymous")
