"""Jobs of several labels: each is a yes/no question, and workers have one skill for all, as an enumeration finds."""

from itertools import product

import numpy as np
import pytest
from scipy import special, stats

from app.policy.answers.each_label import EachLabelModel
from app.policy.answers.questions import Questions
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.worker_models import Auto, Confusion, OneCoin, TwoCoin
from app.policy.worker_models.inference.answer_replay import replayed
from app.simulation.crowd_generator import Recipe, generate_answers

LABELS = 3
SETS = [0b101, 0b001, 0b111, 0b000]
NAMES = tuple("abc")


def job_of(**fields: object) -> JobPolicy:
    return JobPolicy.model_validate({"answer": {"kind": "choices"}, "labels": NAMES} | fields)


def sets_of(items: int = 25, workers: int = 9, labels: int = LABELS, seed: int = 1) -> Ballots:
    """Answers of a synthetic crowd, every worker on every item."""
    policy = job_of(labels=tuple("abcdefg"[:labels]))
    crowd = generate_answers(
        Recipe(items=items, workers=workers, classes=labels), np.random.default_rng(seed), policy.answer
    )
    return policy.ballots(crowd.item, crowd.worker, crowd.label, items=items, workers=workers)


def one_label(ballots: Ballots, label: int) -> Ballots:
    """The same answers as those to one yes/no question per item."""
    sizes = {"items": ballots.items, "workers": ballots.workers, "classes": 2}
    return Ballots.of(ballots.item, ballots.worker, np.asarray(ballots.value) >> label & 1, **sizes)


@pytest.mark.parametrize("inner", [OneCoin(), TwoCoin(), Confusion()], ids=lambda model: model.kind)
def test_with_known_skills_each_label_is_a_job_of_its_own(inner):
    ballots, context = sets_of(), ItemContext.plain(25)
    new = inner.newcomer(2)
    skill = new * np.random.default_rng(3).uniform(0.5, 4, (ballots.workers, len(new)))
    model = EachLabelModel(inner=inner, labels=LABELS)
    both = model.read(replayed(model, ballots, context, skill), context)
    for label in range(LABELS):
        alone = inner.read(replayed(inner, one_label(ballots, label), context, skill), context)
        assert both.applies[:, label] == pytest.approx(alone.posterior[:, 1], rel=1e-9)


def test_plain_votes_are_a_beta_per_label():
    """P(a majority of an infinite crowd ticks the label) after y of n ticks: Beta(1 + y, 1 + n - y) above one half."""
    engine = Engine(job_of(worker_model={"kind": "anonymous"}, aggregation={"kind": "majority"}))
    context = ItemContext.plain(1)
    state = engine.initial(context)
    for said in SETS:
        state, _ = engine.learn(state, context, np.empty((1, 0)), np.array([said]))
    ticks = np.array([3, 1, 2])
    applies = engine.lookahead(state, context).now.applies[0]
    assert applies == pytest.approx(stats.beta.sf(0.5, 1 + ticks, 1 + 4 - ticks), abs=1e-9)


def expected_skill(prior: tuple[float, float], priors: np.ndarray, said: int) -> float:
    """E(rho | answer) by enumeration of what a perfect worker would say about each label."""
    total = moment = 0.0
    for perfect in product((0, 1), repeat=LABELS):
        right = sum(perfect[k] == (said >> k & 1) for k in range(LABELS))
        wrong = LABELS - right
        shares = np.prod([priors[k] if perfect[k] else 1 - priors[k] for k in range(LABELS)])
        a, b = prior[0] + right, prior[1] + wrong
        weight = shares * np.exp(special.betaln(a, b) - special.betaln(*prior))
        total, moment = total + weight, moment + weight * a / (a + b)
    return moment / total


@pytest.mark.parametrize("said", range(2**LABELS))
@pytest.mark.parametrize("prior", [(4.0, 1.0), (2.0, 2.0), (30.0, 10.0)])
def test_the_skill_that_labels_share_is_that_of_an_enumeration(said, prior):
    """One answer to three labels with different priors; mixtures of skills are replaced by one with their moments."""
    priors = np.array([0.9, 0.3, 0.6])
    model = EachLabelModel(inner=OneCoin(), labels=LABELS)
    context = ItemContext(np.ones(1), np.zeros(1), np.array([1]), prior=priors[None])
    state = model.start(context, 2)
    alpha = state.model_state.reshape(LABELS, 2)
    shares = alpha[:, 1] / alpha.sum(axis=1)  # what a perfect worker would say about a label, by its prior
    _, skill = model.learn(state, context, np.array([prior]), np.array([said]))
    exact = expected_skill(prior, shares, said)
    assert skill[0, 0] / skill[0].sum() == pytest.approx(exact, abs=0.002)


def test_certain_labels_teach_as_many_right_and_wrong_answers():
    """Gold: every label is a checked answer, a Beta of right and wrong ones."""
    model = EachLabelModel(inner=OneCoin(), labels=LABELS)
    certain = ItemContext(np.ones(1), np.zeros(1), np.array([1]), prior=np.array([[1.0, 0.0, 1.0]]))
    state = model.start(certain, 2)
    state = type(state)(state.votes, np.array([[1e-9, 1e9, 1e9, 1e-9, 1e-9, 1e9]]))
    _, skill = model.learn(state, certain, np.array([[4.0, 1.0]]), np.array([0b001]))  # right, right, wrong
    assert skill[0] == pytest.approx([6, 2], rel=1e-6)


@pytest.mark.parametrize("model", [Auto(), OneCoin(), Confusion()], ids=lambda model: model.kind)
def test_a_job_of_one_label_is_fitted_like_a_yes_or_no_job(model):
    ballots = sets_of(labels=1)
    context, known = ItemContext.plain(ballots.items), np.tile(model.newcomer(2), (ballots.workers, 1))
    crowd = FittedCrowd(known, known)
    sets = fit(model, 0, ballots, context, crowd, questions=Questions(1))
    plain = fit(model, 0, one_label(ballots, 0), context, crowd)
    assert sets.stage == plain.stage
    assert sets.refitted.state.model_state == pytest.approx(plain.refitted.state.model_state)
    assert sets.refitted.skill == pytest.approx(plain.refitted.skill)


def test_a_fit_of_several_labels_is_a_fit_of_as_many_items():
    """Every label of an item counts as an item of its own, on which the same workers have the same skill."""
    ballots = sets_of()
    context = ItemContext.plain(ballots.items)
    each = [one_label(ballots, label) for label in range(LABELS)]
    apart = Ballots.of(
        np.concatenate([one.item + ballots.items * label for label, one in enumerate(each)]),
        np.concatenate([one.worker for one in each]),
        np.concatenate([one.label for one in each]),
        items=LABELS * ballots.items,
        workers=ballots.workers,
    )
    known = np.tile(OneCoin().newcomer(2), (ballots.workers, 1))
    crowd = FittedCrowd(known, known)
    together = fit(OneCoin(), 0, ballots, context, crowd, questions=Questions(LABELS)).refitted
    found = fit(OneCoin(), 0, apart, ItemContext.plain(apart.items), crowd).refitted
    assert together.skill == pytest.approx(found.skill, rel=1e-3)
    by_label = together.state.model_state.reshape(ballots.items, LABELS, -1).transpose(1, 0, 2)
    assert by_label.reshape(apart.items, -1) == pytest.approx(found.state.model_state, rel=1e-3)


@pytest.mark.parametrize("kind", ["confusion", "two-coin", "one-coin"])
def test_a_priority_is_the_mean_of_what_an_answer_is_worth_for_each_label(kind):
    """By a new worker, whose skill is about two sides whatever the number of labels."""
    sets = Engine(job_of(worker_model={"kind": kind}))
    plain = Engine(JobPolicy.model_validate({"labels": ("no", "yes"), "worker_model": {"kind": kind}}))
    context, skill = ItemContext.plain(1), sets.newcomer()[None]
    assert skill == pytest.approx(plain.newcomer()[None])
    state, alone = sets.initial(context), [plain.initial(context)] * LABELS
    for said in SETS[:2]:
        state, _ = sets.learn(state, context, skill, np.array([said]))
        alone = [plain.learn(one, context, skill, np.array([said >> label & 1]))[0] for label, one in enumerate(alone)]
    worth = [plain.priority(plain.lookahead(one, context))[0] for one in alone]
    assert sets.priority(sets.lookahead(state, context))[0] == pytest.approx(np.mean(worth))
