"""Workers who know or guess, on labels in order: checked by enumeration, by scipy, and on crowds that we simulate."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext, State
from app.policy.job_policy import JobPolicy
from app.policy.worker_models import Auto, Confusion, OneCoin
from app.policy.worker_models.inference.error_rate import ErrorRate
from app.policy.worker_models.inference.repeated_errors import log_factor_where_unequal
from app.policy.worker_models.inference.steps_of_errors import errors_by_steps, weights_of_steps
from tests.public_sets import recorded_crowd

LABELS = 5
ONE = ItemContext.plain(1)
WEIGHTS = st.lists(st.floats(0.05, 1), min_size=LABELS - 1, max_size=LABELS - 1)
SHARE = st.floats(0.05, 0.95)


class Independent(type(Auto().in_order(LABELS))):
    """The model without repeated errors, where Bayes' rule is a product."""

    spread_of_errors = np.inf


def skill_of(knows, sure, weights, guesses, answers=10.0):
    return np.concatenate([[answers * knows, answers * (1 - knows), sure], weights, guesses])


def rows_of(knows, sure, weights, guesses):
    """P(label | truth), written out from the definition."""
    rows = np.empty((LABELS, LABELS))
    for truth, label in product(range(LABELS), repeat=2):
        wrong = [weights[abs(other - truth) - 1] for other in range(LABELS) if other != truth]
        away = abs(label - truth)
        known = sure if away == 0 else (1 - sure) * weights[away - 1] / sum(wrong)
        rows[truth, label] = knows * known + (1 - knows) * guesses[label] / sum(guesses)
    return rows


@given(knows=SHARE, sure=SHARE, weights=WEIGHTS, guesses=st.lists(st.floats(0.05, 1), min_size=LABELS, max_size=LABELS))
def test_chances_and_skills_are_those_of_an_enumeration(knows, sure, weights, guesses):
    """Over truth, and whether the worker knew: the posterior, the next answer, and how likely the worker knew."""
    model, skill = Independent(), skill_of(knows, sure, weights, guesses)[None]
    rows, prior = rows_of(knows, sure, weights, guesses), np.array([0.1, 0.2, 0.4, 0.2, 0.1])
    known = rows - (1 - knows) * np.array(guesses) / sum(guesses)
    before = State(np.zeros((1, LABELS)), np.log(prior)[None])
    assert model.rows(skill)[0] == pytest.approx(rows)
    assert model.chances(model.read(before, ONE), skill)[0] == pytest.approx(prior @ rows)
    assert model.accuracy(skill)[0] == pytest.approx(rows.diagonal().mean())
    for label in range(LABELS):
        after, learned = model.learn(before, ONE, skill, np.array([label]))
        joint = prior * rows[:, label]
        assert np.exp(after.model_state[0]) == pytest.approx(joint / joint.sum())
        knew = (prior * known[:, label]).sum() / joint.sum()
        assert (learned - skill)[0, :2] == pytest.approx([knew, 1 - knew])
        assert (learned == skill)[0, 2:].all()


@given(made=st.lists(st.floats(1, 50), min_size=LABELS**2, max_size=LABELS**2))
def test_weights_of_steps_are_the_most_likely_ones(made):
    """As by scipy's optimiser, over all weights."""
    errors = np.array(made).reshape(LABELS, LABELS) * (1 - np.eye(LABELS))

    def surprise(logits):
        return -(errors * np.log(errors_by_steps(np.exp(np.append(logits, 0.0))) + np.eye(LABELS))).sum()

    found = optimize.minimize(surprise, np.zeros(LABELS - 2), tol=1e-10)
    best = np.exp(np.append(found.x, 0.0))
    assert weights_of_steps(errors) == pytest.approx(best / best.sum(), abs=2e-3)


def test_without_an_order_in_the_errors_it_is_one_accuracy():
    """With equal weights and guesses, items and chances are those of one accuracy per worker."""

    class Plain(ErrorRate):
        kind: str = "plain"
        spread_of_errors = 3.0

    model, even = Auto().in_order(LABELS), np.full(LABELS, 0.2)
    skill = skill_of(0.7, 0.9, even[1:], even)[None]
    right = model.accuracy(skill)
    here, there = (each.start(ONE, LABELS) for each in (model, Plain()))
    assert model.spread_of_errors == Plain.spread_of_errors
    for label in (1, 1, 4, 2):
        beliefs = model.read(here, ONE), Plain().read(there, ONE)
        same = np.stack([right, 1 - right], axis=1)
        assert model.chances(beliefs[0], skill) == pytest.approx(Plain().chances(beliefs[1], same))
        here = model.after_answer(here, ONE, skill, np.array([label]))
        there = Plain().after_answer(there, ONE, same, np.array([label]))
        assert here.model_state == pytest.approx(there.model_state)


def test_a_near_error_says_less_about_its_worker_than_a_far_one():
    model = Auto().in_order(LABELS)
    new = model.newcomer(LABELS)[None]
    known = ItemContext(np.ones(1), np.zeros(1), np.ones(1, dtype=np.int64), gold=np.array([0]))
    accuracies = [
        model.accuracy(model.learn(model.start(known, LABELS), known, new, np.array([label]))[1])[0]
        for label in range(LABELS)
    ]
    assert accuracies == sorted(accuracies, reverse=True)
    assert accuracies[1] - accuracies[4] > 0.03


def test_repeated_errors_are_the_mean_over_the_items_own_errors():
    """With c ~ Dirichlet(a b), P(wrong answers) / product of b is the mean of the product of c / b."""
    errors, votes = errors_by_steps(np.array([0.5, 0.3, 0.2])), np.array([2.0, 1.0, 0.0, 1.0])
    for truth in range(4):
        others = np.arange(4) != truth
        drawn = stats.dirichlet(5.0 * errors[truth, others]).rvs(200_000, random_state=0)
        mean = np.exp(np.log(np.maximum(drawn, 1e-300) / errors[truth, others]) @ votes[others]).mean()
        assert np.exp(log_factor_where_unequal(votes[None], errors, 5.0))[0, truth] == pytest.approx(mean, rel=0.05)


@given(labels=st.lists(st.integers(0, LABELS - 1), max_size=5), c=st.integers(0, LABELS - 1), more=st.integers(1, 4))
def test_several_answers_at_once_are_answers_one_by_one(labels, c, more):
    model = Auto().in_order(LABELS)
    skill, state = model.newcomer(LABELS)[None], model.start(ONE, LABELS)
    for label in labels:
        state = model.after_answer(state, ONE, skill, np.array([label]))
    at_once = model.posterior_after(state, skill, np.array([c]))(np.array([float(more)]))
    for _ in range(more):
        state = model.after_answer(state, ONE, skill, np.array([c]))
    assert at_once == pytest.approx(np.exp(state.model_state))


@given(labels=st.lists(st.integers(0, LABELS - 1), max_size=6))
def test_chances_stay_a_distribution_while_errors_repeat(labels):
    """Without any normalisation: what is left for wrong answers is shared by urn and habit."""
    model = Auto().in_order(LABELS)
    skill, state = model.newcomer(LABELS)[None], model.start(ONE, LABELS)
    for label in labels:
        state = model.after_answer(state, ONE, skill, np.array([label]))
    assert model.chances(model.read(state, ONE), skill).sum() == pytest.approx(1)


@pytest.mark.parametrize("accuracy", [0.25, 0.5, 0.8, 0.95, 0.99])
@pytest.mark.parametrize("labels", [3, 5, 10])
def test_a_stated_accuracy_is_the_accuracy(accuracy, labels):
    """Above the chance of a guess: this model takes nobody to be worse than a guesser."""
    model = Auto().in_order(labels)
    skill = model.stated_skill(accuracy, 40.0, labels)[None]
    assert model.accuracy(skill)[0] == pytest.approx(max(accuracy, 1 / labels), abs=1e-3)
    assert skill[0, :2].sum() == pytest.approx(40.0)
    low, high = model.interval(skill)[0]
    assert low <= model.accuracy(skill)[0] <= high


def test_a_certain_opinion_teaches_as_an_answer_does():
    model = Auto().in_order(LABELS)
    new = model.newcomer(LABELS)[None]
    for label in range(LABELS):
        after, learned = model.learn(model.start(ONE, LABELS), ONE, new, np.array([label]))
        taught = model.taught_by_opinions(new, np.eye(LABELS)[[label]], np.exp(after.model_state))
        assert new + taught == pytest.approx(learned)


def crowd_of(weights, guesses, *, items=400, workers=40, each=6, sure=0.85, seed=3):
    """Answers of half a crowd that nearly always knows and half that mostly guesses, and the truth."""
    rng = np.random.default_rng(seed)
    truth, knows = rng.integers(LABELS, size=items), np.where(np.arange(workers) % 2, 0.9, 0.2)
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.permutation(workers)[:each] for _ in range(items)])
    rows = np.stack([rows_of(of, sure, weights, guesses) for of in (0.2, 0.9)])[worker % 2, truth[item]]
    label = (rng.random((len(item), 1)) > rows.cumsum(axis=1)).sum(axis=1)
    ballots = Ballots.of(item, worker, label, items=items, workers=workers, classes=LABELS)
    return ballots, truth, knows


def fitted(model, ballots):
    prior = np.tile(model.newcomer(LABELS), (ballots.workers, 1))
    return model.refit(ballots, ItemContext.plain(ballots.items), prior, prior)


def test_a_fit_finds_what_the_crowd_is_like():
    """How far those err who know, the favourite label of guesses, and who knows; and it finds the truth more often."""
    weights, guesses = np.array([0.8, 0.15, 0.04, 0.01]), np.array([0.05, 0.05, 0.1, 0.2, 0.6])
    ballots, truth, knows = crowd_of(weights, guesses)
    fit = fitted(Auto().in_order(LABELS), ballots)
    assert fit.converged
    assert fit.skill[0, 2] == pytest.approx(0.85, abs=0.05)
    assert fit.skill[0, 3:7] == pytest.approx(weights, abs=0.07)
    assert fit.skill[0, 7:].argmax() == 4  # as far as the credit of even guesses lets it
    assert fit.skill[0, 7:] == pytest.approx(guesses, abs=0.2)
    found = fit.skill[:, 0] / fit.skill[:, :2].sum(axis=1)
    assert found[knows > 0.5].min() > found[knows < 0.5].max()
    plain = fitted(Auto(), ballots)
    right, without = ((each.state.model_state.argmax(axis=1) == truth).mean() for each in (fit, plain))
    assert right > without + 0.02


@pytest.mark.parametrize("name", ["web", "adult2"])
def test_all_answers_of_a_public_set_are_as_right_as_without_the_order(name):
    """It converges, although the most common label of adult2 may be knowledge or guesses."""
    crowd = recorded_crowd(name)
    sizes = {"items": len(crowd.items), "workers": len(crowd.workers), "classes": len(crowd.labels)}
    ballots, right = Ballots.of(crowd.item, crowd.worker, crowd.label, **sizes), []
    for model in (Auto(), Auto().in_order(len(crowd.labels))):
        prior = np.tile(model.newcomer(len(crowd.labels)), (ballots.workers, 1))
        context = ItemContext.plain(ballots.items)
        fit = model.stages(len(crowd.labels)).refit(0, ballots, context, prior, prior)
        assert fit.converged
        right.append(crowd.accuracy(fit.state.model_state))
    assert right[1] >= right[0]


def test_where_errors_do_not_fade_with_distance_the_order_costs_nothing():
    even = np.full(LABELS, 0.2)
    ballots, truth, _ = crowd_of(even[1:], even)
    fits = [fitted(model, ballots) for model in (Auto().in_order(LABELS), Auto())]
    right, without = ((fit.state.model_state.argmax(axis=1) == truth).mean() for fit in fits)
    assert right > without - 0.01


def test_gold_is_no_evidence_about_itself():
    """The blind state of an item says nearly the same, whatever its truth is said to be."""
    ballots, _, _ = crowd_of(np.array([0.8, 0.15, 0.04, 0.01]), np.full(LABELS, 0.2), items=60)
    model, said = Auto().in_order(LABELS), []
    prior = np.tile(model.newcomer(LABELS), (ballots.workers, 1))
    for truth in (0, 4):
        gold = np.where(np.arange(60) == 0, truth, -1)
        fit = model.refit(ballots, ItemContext(np.ones(60), np.zeros(60), np.arange(60), gold=gold), prior, prior)
        assert np.exp(fit.state.model_state[0, truth]) == pytest.approx(1)
        said.append(np.exp(fit.blind.model_state[0]))
    assert said[0] == pytest.approx(said[1], abs=0.05)


@pytest.mark.parametrize("label", ["mode", "median"])
def test_an_ordinal_job_learns_by_the_order(label):
    """`auto` becomes another model, which stays what it is as JSON; the other models do not look at the order."""
    answer, labels = {"kind": "ordinal", "label": label}, ("bad", "fair", "good")
    policy = JobPolicy.model_validate(
        {"answer": answer, "labels": labels, "worker_model": {"kind": "auto", "margin": 2}}
    )
    assert policy.worker_model == Auto(margin=2).in_order(3)
    assert policy.worker_model != Auto(margin=2)
    assert policy.worker_model.model_dump() == Auto(margin=2).model_dump()
    assert JobPolicy.model_validate_json(policy.model_dump_json()) == policy
    assert policy.worker_model.stages(3).names == ("knows-or-guesses",)
    two, many = ("no", "yes"), tuple(map(str, range(200)))
    for names, model in ((two, Auto()), (many, Auto()), (labels, Confusion()), (labels, OneCoin())):
        plain = JobPolicy.model_validate({"answer": answer, "labels": names, "worker_model": model})
        assert plain.worker_model == model
