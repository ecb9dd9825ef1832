"""Priors below 1, such as Jeffreys' Beta(1/2, 1/2), whose density is infinite at 0 and 1."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, special, stats

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.dirichlet import chance_of_being_largest
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted

HALF = (0.5, 0.5)
SHARES = [model(pseudo_votes=0.5) for model in (Anonymous, SpamFilter, Weighted, Tiers)]
SHARES += [model(pseudo_votes=0.5, prior=HALF) for model in (OneCoin, TwoCoin)]
SKILLS = [model(prior=HALF) for model in (Weighted, OneCoin, TwoCoin, Confusion, Auto)]


def named(model):
    return model.kind


def moments_after(right, wrong, alpha, beta, said_one):
    """E theta, E theta^2, E rho, E rho^2 after a label, by summing over the perfect answer and over who is right.

    theta ~ Beta(alpha, beta) and rho ~ Beta(right, wrong); (theta, rho) are independent given both.
    """
    joint = {}
    for perfect_one in (True, False):
        is_right = perfect_one == said_one
        theta = (alpha + perfect_one, beta + (not perfect_one))
        rho = (right + is_right, wrong + (not is_right))
        weight = (alpha if perfect_one else beta) * (right if is_right else wrong)
        joint[theta, rho] = weight
    total = sum(joint.values())
    each = [(stats.beta(*theta), stats.beta(*rho), weight / total) for (theta, rho), weight in joint.items()]
    theta = [sum(weight * of_theta.moment(k) for of_theta, _, weight in each) for k in (1, 2)]
    rho = [sum(weight * of_rho.moment(k) for _, of_rho, weight in each) for k in (1, 2)]
    return theta, rho


def same_moments(found, expected):
    mean, second = found[0] / found.sum(), stats.beta(*found).moment(2)
    assert [mean, second] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("skill", [(0.5, 0.5), (0.5, 0.05), (3.5, 0.5), (0.05, 0.5)])
@pytest.mark.parametrize("given", [(), (0,), (0, 0, 0), (0, 1, 1)])
def test_one_coin_matches_the_moments_of_the_exact_mixture(skill, given):
    model, context = OneCoin(pseudo_votes=0.5, prior=HALF), ItemContext.plain(1)
    state, row = model.start(context, 2), np.array([skill])
    for label in given:
        state, _ = model.learn(state, context, np.array([[4.0, 1.0]]), np.array([label]))
    theta, rho = moments_after(*skill, *state.model_state[0], said_one=True)
    after, learned = model.learn(state, context, row, np.array([0]))
    same_moments(after.model_state[0], theta)
    same_moments(learned[0], rho)


def test_two_coin_keeps_the_coin_of_the_other_class():
    """With theta = Beta(1/2, 1/2) and both coins Jeffreys, an answer leaves the mean of the item at 1/2."""
    model, context = TwoCoin(pseudo_votes=0.5, prior=HALF), ItemContext.plain(1)
    skill = model.newcomer(2)[None, :]
    after, learned = model.learn(model.start(context, 2), context, skill, np.array([0]))
    theta = stats.beta(*after.model_state[0])
    # Either (perfect answer 0, rho_0 right) or (perfect answer 1, rho_1 wrong), each with weight 1/2 * 1/2.
    exact = [0.5 * stats.beta(1.5, 0.5).moment(k) + 0.5 * stats.beta(0.5, 1.5).moment(k) for k in (1, 2)]
    assert [theta.moment(1), theta.moment(2)] == pytest.approx(exact, rel=1e-9)
    # rho_0 was right with probability 1/2, and otherwise nothing is learned about it.
    exact = [0.5 * stats.beta(1.5, 0.5).moment(k) + 0.5 * stats.beta(*HALF).moment(k) for k in (1, 2)]
    assert [stats.beta(*learned[0, :2]).moment(k) for k in (1, 2)] == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("votes", [(0, 0), (1, 0), (3, 1), (10, 10), (0, 7)])
def test_two_labels_have_scipys_tail(votes):
    model, context = Anonymous(pseudo_votes=0.5), ItemContext.plain(1)
    state = model.start(context, 2)
    for label, times in enumerate(votes):
        for _ in range(times):
            state, _ = model.learn(state, context, np.empty((1, 0)), np.array([label]))
    expected = stats.beta(votes[0] + 0.5, votes[1] + 0.5).sf(0.5)
    assert model.read(state, context).posterior[0, 0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    "alpha", [(0.5, 0.5, 0.5), (1.5, 0.5, 0.5), (0.05, 0.05, 0.05), (0.05, 1.05, 2.05, 0.05), (7.5, 6.5, 0.5)]
)
def test_many_labels_have_the_integral_of_the_definition(alpha):
    """P(c is largest) over the distribution functions of the gammas, by scipy's adaptive quadrature over log x."""
    gammas = [stats.gamma(each) for each in alpha]

    def chance(c):
        def integrand(y):
            x = np.exp(y)
            return x * gammas[c].pdf(x) * np.prod([each.cdf(x) for j, each in enumerate(gammas) if j != c])

        return integrate.quad(integrand, -600, 6, limit=2000, points=[-100, -20, -5, 0, 3])[0]

    expected = np.array([chance(c) for c in range(len(alpha))])
    found = chance_of_being_largest(np.array([alpha]))[0]
    assert expected.sum() == pytest.approx(1, abs=1e-6)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("model", SKILLS, ids=named)
def test_the_interval_of_a_new_worker_is_scipys(model):
    skill = model.newcomer(2)[None, :]
    # Two coins have a mean of variance 1/16, as Beta(3/2, 3/2) has; Confusion has one coin per class too.
    expected = stats.beta(1.5, 1.5) if isinstance(model, TwoCoin | Confusion) else stats.beta(*HALF)
    assert model.interval(skill)[0] == pytest.approx(expected.interval(0.95), rel=1e-6)
    assert model.accuracy(skill)[0] == pytest.approx(0.5)


@pytest.mark.parametrize("model", SKILLS, ids=named)
@pytest.mark.parametrize("bonus", [0.3, -0.3, 3.0, -3.0])
def test_an_optimistic_skill_keeps_its_evidence(model, bonus):
    skill = model.newcomer(2)[None, :]
    raised = model.optimistic(skill, bonus)
    assert raised.sum() == pytest.approx(skill.sum())
    evidence = skill.sum()
    expected = np.clip(0.5 + bonus / np.sqrt(evidence), 0.001, 0.999)
    assert model.accuracy(raised)[0] == pytest.approx(expected)


@pytest.mark.parametrize("model", [*SHARES, *SKILLS], ids=named)
@pytest.mark.parametrize("classes", [2, 4])
def test_a_refit_and_every_decision_are_finite(model, classes):
    """Three workers, of whom two are always right: the fit finds them better than the third, or keeps no skills.

    Ten items are gold: by symmetry, answers alone cannot say who is right where a worker is expected to be right with
    one half.
    """
    if isinstance(model, TwoCoin) and classes > 2:
        return
    rng = np.random.default_rng(1)
    truth = rng.integers(classes, size=40)
    item, worker = (part.ravel() for part in np.mgrid[:40, :3])
    label = np.where(worker < 2, truth[item], rng.integers(classes, size=len(item)))
    gold = np.where(np.arange(40) < 10, truth, -1)
    ballots = Ballots.of(item, worker, label, classes=classes, gold=gold)
    context = replace(ItemContext.plain(40), gold=gold)
    prior = np.tile(model.newcomer(classes), (3, 1))
    found = model.refit(ballots, context, prior, prior)
    belief = model.read(found.state, context)
    assert np.isfinite(belief.posterior).all()
    learns = not isinstance(model, Weighted) or model.prior != HALF  # it learns when items finish, not in a fit
    assert (belief.posterior.argmax(axis=1) == truth).mean() > 0.9 or not learns
    if model.fits_skills:
        accuracy = model.accuracy(found.skill)
        assert accuracy[:2].min() > accuracy[2]
    labels = tuple(f"l{c}" for c in range(classes))
    for allocation in ("information", "opt-kg", "kg", "requallo", "label-uncertainty"):
        engine = Engine(JobPolicy(labels=labels, worker_model=model, allocation={"kind": allocation}))
        for state in (engine.initial(context), found.state):
            judged = engine.judge(state, context)
            assert np.isfinite(judged.priority).all()
            assert np.isfinite(judged.max_open_assignments).all()
            assert ((judged.progress >= 0) & (judged.progress <= 1)).all()


@pytest.mark.parametrize("model", SHARES, ids=named)
def test_the_shortfall_is_what_trying_finds(model):
    """The fewest equal answers of a new worker after which the label is probable enough."""
    engine, context = Engine(JobPolicy(labels=("a", "b"), worker_model=model)), ItemContext.plain(1)
    lookahead = engine.lookahead(engine.initial(context), context)
    if isinstance(model, OneCoin | TwoCoin | Weighted):  # a worker expected to be right with 1/2 never gets there
        skill = np.tile([9.0, 1.0], (1, 2 if isinstance(model, TwoCoin) else 1))
        lookahead = Lookahead.of(engine.model, engine.initial(context), context, skill)
    needed = engine.requirement.shortfall(lookahead)[0]
    given = 0
    while not engine.requirement.satisfied(lookahead.now)[0] and given < 100:
        lookahead, given = lookahead.after(0), given + 1
    assert needed == given


@pytest.mark.parametrize("prior", [Prior(0.5, 0.25), Prior(0.5, 0.01), Prior(0.05, 0.04)], ids=str)
@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 1), (2, 2)])
def test_the_profit_rule_has_the_integrals_of_its_definition(prior, first, second):
    """Theorem 4.2: how likely the leading answer is right, by betas instead of log-gammas."""
    right = special.beta(prior.a + first, prior.b + second)
    wrong = special.beta(prior.a + second, prior.b + first)
    assert float(prior.result_accuracy(first, second)) == pytest.approx(right / (right + wrong), rel=1e-9)
    requirement = {"kind": "profit", "value": 1, "loss": 20, "prior": (prior.a, prior.b)}
    engine = Engine(JobPolicy(labels=("a", "b"), requirement=requirement, worker_model=Anonymous()))
    judged = engine.judge(engine.initial(ItemContext.plain(1)), ItemContext.plain(1))
    assert np.isfinite(judged.priority).all()
