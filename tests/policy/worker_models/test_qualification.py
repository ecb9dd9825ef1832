"""A reliability that is known from outside, such as from a qualification test, is the one that the formulas use."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from app.policy.core.belief import ItemContext
from app.policy.worker_models import Auto, Confusion, OneCoin, SpamFilter, TwoCoin, Weighted

THETAS, LABELS = (0.9, 0.8, 0.6), (0, 0, 1)
KNOWN = 10_000.0  # checked answers: as good as known


def after_votes(model):
    """The belief about an item after the labels of workers of these stated accuracies."""
    context = ItemContext.plain(1)
    state = model.start(context, 2)
    for theta, label in zip(THETAS, LABELS, strict=True):
        skill = model.stated_skill(theta, KNOWN, 2)[None, :]
        state, _ = model.learn(state, context, skill, np.array([label]))
    return model.read(state, context)


def test_weighted_has_the_most_likely_share_of_equation_9():
    """Found by scipy's search on Eq. 8, a perfect pseudo-label of each class included."""

    def minus_log(share):
        chances = [t * share + (1 - t) * (1 - share) for t in THETAS]
        ballots = [c if label == 0 else 1 - c for c, label in zip(chances, LABELS, strict=True)]
        return -np.log([*ballots, share, 1 - share]).sum()

    share = optimize.minimize_scalar(minus_log, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-10}).x
    found = after_votes(Weighted()).weights[0] + 1
    assert found == pytest.approx([5 * share, 5 * (1 - share)], abs=1e-6)


@pytest.mark.parametrize("model", [OneCoin(), TwoCoin()], ids=lambda model: model.kind)
def test_one_vote_gives_the_moments_of_the_exact_posterior(model):
    """Theta is uniform beforehand: the posterior density is rho theta + (1 - rho)(1 - theta), times 2."""
    context, rho = ItemContext.plain(1), 0.9
    skill = model.stated_skill(rho, KNOWN, 2)[None, :]
    state, _ = model.learn(model.start(context, 2), context, skill, np.array([0]))
    moments = [integrate.quad(lambda t, k=k: 2 * t**k * (rho * t + (1 - rho) * (1 - t)), 0, 1)[0] for k in (1, 2)]
    approximated = stats.beta(*state.model_state[0])
    assert [approximated.moment(k) for k in (1, 2)] == pytest.approx(moments, rel=1e-9)


@pytest.mark.parametrize("model", [Confusion(), Auto()], ids=lambda model: model.kind)
def test_votes_are_weighed_by_bayes_rule(model):
    odds = np.prod([(t / (1 - t)) ** (1 if label == 0 else -1) for t, label in zip(THETAS, LABELS, strict=True)])
    assert after_votes(model).posterior[0, 0] == pytest.approx(odds / (1 + odds), abs=1e-3)


@pytest.mark.parametrize("test", ["exact", "interval"])
@pytest.mark.parametrize(("right", "questions"), [(10, 20), (14, 20), (16, 20), (3, 20)])
def test_a_spam_filter_tests_the_qualification(test, right, questions):
    model = SpamFilter(test=test)
    skill = model.stated_skill(right / questions, questions, 2)[None, :]
    interval = stats.binomtest(right, questions).proportion_ci(0.9, "wilson" if test == "interval" else "exact")
    assert model.is_spammer(skill, 2).tolist() == [interval.low <= 0.5 <= interval.high]
