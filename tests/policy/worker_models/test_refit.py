"""Fits of all answers at once: laws for every model, and small jobs whose posterior can be enumerated."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.quality.refit_schedule import Refit
from app.policy.worker_models import Auto, Confusion, OneCoin, TwoCoin
from app.policy.worker_models.inference.answer_replay import replayed
from tests.policy.worker_models.cases import (
    ANSWERS,
    CASES,
    IN_ORDER,
    ITEMS,
    LIGHT,
    MODELS,
    WORKERS,
    context_with_a_prior,
    job,
    lopsided,
    renamed,
)

FITTABLE = [OneCoin(), TwoCoin(), Confusion(), Auto(), IN_ORDER]
fittable = pytest.mark.parametrize("model", FITTABLE, ids=lambda model: model.kind)
counting = pytest.mark.parametrize("model", FITTABLE[:-1], ids=lambda model: model.kind)  # answers right and wrong


def crowd_of(model, classes, workers):
    return np.tile(model.newcomer(classes), (workers, 1))


def refitted(model, ballots, context=None):
    prior = crowd_of(model, ballots.classes, ballots.workers)
    return model.refit(ballots, context or ItemContext.plain(ballots.items), prior, prior)


def posterior(model, fit):
    return model.read(fit.state, ItemContext.plain(len(fit.state.votes))).posterior


def simulated(seed, *, items=150, workers=12, each=5, classes=2):
    """Answers of workers with accuracies from .55 to .95, and the truth."""
    rng = np.random.default_rng(seed)
    truth, accuracy = rng.integers(classes, size=items), np.linspace(0.55, 0.95, workers)
    item = np.repeat(np.arange(items), each)
    worker = np.concatenate([rng.permutation(workers)[:each] for _ in range(items)])
    error = (truth[item] + rng.integers(1, classes, len(item))) % classes
    label = np.where(rng.random(len(item)) < accuracy[worker], truth[item], error)
    return Ballots.of(item, worker, label, items=items, workers=workers, classes=classes), truth, accuracy


@pytest.mark.parametrize(("model", "classes"), CASES)
@LIGHT
@given(answers=ANSWERS)
def test_a_fit_has_the_shape_of_what_was_learned(model, classes, answers):
    """Votes are the plain votes, skills stay positive and finite, and learning goes on from there."""
    ballots, context = job(answers, classes), context_with_a_prior(classes)
    skill = np.stack([lopsided(model, classes, 6.0, 2.0)] * WORKERS)
    fit = model.refit(ballots, context, skill, skill)
    assert (fit.state.votes == ballots.votes()).all()
    assert fit.skill.shape == skill.shape
    assert np.isfinite(fit.skill).all()
    assert (fit.skill >= skill - 1e-9).all()
    belief = model.read(fit.state, context)
    assert belief.posterior.sum(axis=1) == pytest.approx(1)
    after, _ = model.learn(fit.state, context, fit.skill[[0] * ITEMS], np.zeros(ITEMS, dtype=np.intp))
    assert (after.votes[:, 0] == fit.state.votes[:, 0] + 1).all()


@pytest.mark.parametrize("model", [model for model in MODELS if model not in FITTABLE], ids=lambda model: model.kind)
def test_models_that_do_not_fit_tell_the_answers_again(model):
    """Skills do not change, and items have the state that their answers give in order."""
    ballots, _, _ = simulated(1, classes=3)
    skill, context = crowd_of(model, 3, ballots.workers), ItemContext.plain(ballots.items)
    fit = model.refit(ballots, context, skill, skill)
    again = replayed(model, ballots, context, skill)
    assert fit.skill is skill
    assert np.array_equal(fit.state.model_state, again.model_state, equal_nan=True)


@fittable
def test_the_same_answers_give_the_same_fit(model):
    """Equal to the last bit, whatever the skills were before."""
    ballots, _, _ = simulated(2)
    context, prior = ItemContext.plain(ballots.items), crowd_of(model, 2, ballots.workers)
    here, there = (model.refit(ballots, context, known, prior) for known in (prior, prior * 7))
    assert (here.skill == there.skill).all()
    assert (here.state.model_state == there.state.model_state).all()


@pytest.mark.parametrize(("model", "classes"), [case for case in CASES if case.values[0] in FITTABLE])
def test_renaming_classes_renames_the_fit(model, classes):
    """Names do not matter to a fit."""
    ballots, _, _ = simulated(3, classes=classes)
    order = np.arange(classes)[::-1] if model is IN_ORDER else np.roll(np.arange(classes), 1)
    other = Ballots.of(ballots.item, ballots.worker, order[ballots.label], classes=classes)
    here, there = refitted(model, ballots), refitted(model, other)
    assert posterior(model, there)[:, order] == pytest.approx(posterior(model, here), rel=1e-6, abs=1e-12)
    assert there.skill == pytest.approx(np.stack([renamed(model, row, order) for row in here.skill]), rel=1e-6)


@fittable
def test_workers_are_told_apart(model):
    """Fitted accuracies follow the true ones, and labels are better than those of the majority."""
    ballots, truth, accuracy = simulated(4, items=400)
    fit = refitted(model, ballots)
    assert fit.converged
    assert np.corrcoef(model.accuracy(fit.skill), accuracy)[0, 1] > 0.85
    majority, leader = ballots.votes().argmax(axis=1), posterior(model, fit).argmax(axis=1)
    assert (leader == truth).mean() > (majority == truth).mean() + 0.02


@fittable
def test_a_reputation_counts_where_answers_are_few(model):
    """One trusted worker against two unknown workers: the prior decides which label wins."""
    ballots = Ballots.of([0, 0, 0], [0, 1, 2], [0, 1, 1])
    prior = crowd_of(model, 2, 3)
    prior[0] = 100 * type(model)(prior=(9.8, 0.2)).newcomer(2)
    prior[1:] = type(model)(prior=(5.2, 4.8)).newcomer(2)
    assert posterior(model, model.refit(ballots, ItemContext.plain(1), prior, prior))[0].argmax() == 0


@counting
def test_where_the_truth_is_known_skills_are_counts(model):
    """With gold on every item a fit only counts right and wrong answers by class, and all items are certain."""
    ballots, truth, _ = simulated(5)
    clamped = Ballots.of(ballots.item, ballots.worker, ballots.label, gold=truth)
    fit = refitted(model, clamped)
    right = np.bincount(ballots.worker, ballots.label == truth[ballots.item], ballots.workers)
    gained = model.dirichlets(fit.skill) - model.dirichlets(crowd_of(model, 2, ballots.workers))
    assert np.einsum("ijj->i", gained[:, :, : gained.shape[1]]) == pytest.approx(right, abs=1e-5)
    assert gained.sum(axis=(1, 2)) == pytest.approx(np.bincount(ballots.worker), abs=1e-5)
    belief = model.read(fit.state, ItemContext.plain(ballots.items))
    assert belief.posterior[np.arange(ballots.items), truth] == pytest.approx(1)


@fittable
def test_a_fit_of_one_answer_is_learning_it(model):
    """The only answer of a job has the same effect on its item in a fit as online."""
    ballots, context = Ballots.of([0], [0], [1], classes=2), ItemContext.plain(1)
    online = model.after_answer(model.start(context, 2), context, model.newcomer(2)[None], np.array([1]))
    fit = refitted(model, ballots)
    assert model.read(fit.state, context).posterior == pytest.approx(model.read(online, context).posterior, abs=0.02)


@fittable
@pytest.mark.parametrize("prior", [(4.0, 1e-14), (1e-14, 1e-14), (10_000.0, 1e-14)])
def test_a_tiny_prior_is_no_trouble(model, prior):
    """With nearly no pseudo-answers a fit stays finite."""
    ballots, _, _ = simulated(9, items=40)
    fit = refitted(type(model)(prior=prior), ballots)
    assert np.isfinite(fit.state.model_state).all()
    assert np.isfinite(fit.skill).all()


def test_a_job_too_large_to_fit_keeps_its_skills():
    """Beyond ten million answers times classes one-coin replays the answers with the skills it has."""
    rng, model = np.random.default_rng(8), OneCoin()
    ballots = Ballots.of(rng.integers(5, size=10_001), rng.integers(9, size=10_001), rng.integers(1000, size=10_001))
    skill = rng.uniform(1, 9, (9, 2))
    fit = model.refit(ballots, ItemContext.plain(5), skill, crowd_of(model, ballots.classes, 9))
    assert ballots.classes == 1000
    assert (fit.skill == skill).all()


def log_marginal(counts, prior):
    """The log-probability of a sequence with these counts under a Dirichlet, over the last axis."""
    return (special.gammaln(counts + prior) - special.gammaln(prior)).sum(-1) - (
        special.gammaln((counts + prior).sum(-1)) - special.gammaln(prior.sum(-1))
    )


SMALL = Ballots.of(
    [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4], [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2], [0, 0, 1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
)


def by_enumeration(model, ballots, places=120):
    """P(class) of every item: all truths, each worker's accuracies on a grid; (items, 2)."""
    grid = (np.arange(places) + 0.5) / places
    prior = model.dirichlets(crowd_of(model, 2, ballots.workers))
    density = {
        (worker, row): stats.beta.pdf(grid, *np.sort(prior[worker, row])[::-1])
        for worker, row in product(range(ballots.workers), range(prior.shape[1]))
    }
    total, weighed = 0.0, np.zeros((ballots.items, 2))
    for truth in product(range(2), repeat=ballots.items):
        known = np.eye(2)[list(truth)]
        common = log_marginal(known.sum(axis=0), np.full(2, 3.0)) if isinstance(model, Confusion) else 0.0
        chance = np.exp(common)
        for (worker, row), beta in density.items():
            own = ballots.worker == worker
            if prior.shape[1] > 1:
                own &= known[ballots.item, row] == 1
            for item, label in zip(ballots.item[own], ballots.label[own], strict=True):
                beta = beta * (grid if label == truth[item] else 1 - grid)  # noqa: PLW2901
            chance *= beta.mean()
        total, weighed = total + chance, weighed + chance * known
    return weighed / total


@pytest.mark.parametrize("model", [Confusion(), Auto(), Auto().stages(2).model(1)], ids=["confusion", "auto", "auto-1"])
def test_a_fit_is_near_the_posterior_by_enumeration(model):
    """Over all truths of a small job, skills and shares integrated out: P(class) within 0.02."""
    found = posterior(model, refitted(model, SMALL))
    assert np.abs(found - by_enumeration(model, SMALL)).max() < 0.02


@pytest.mark.parametrize("model", [OneCoin(), TwoCoin()], ids=lambda model: model.kind)
def test_leaving_answers_out_is_near_the_posterior_by_enumeration(model):
    """Over all 4096 sequences of perfect answers of a small job, shares and skills integrated out: within 0.03."""
    prior, total, weighed = model.dirichlets(crowd_of(model, 2, 3)), 0.0, 0.0
    for perfect in product(range(2), repeat=len(SMALL.item)):
        shown = np.eye(2)[list(perfect)].T
        shares = np.stack([np.bincount(SMALL.item, row, SMALL.items) for row in shown], axis=1)
        counts = model.dirichlets(model.skill_counts(shown, SMALL))
        chance = np.exp(log_marginal(shares, np.ones(2)).sum() + log_marginal(counts, prior).sum())
        total, weighed = total + chance, weighed + chance * model.accuracy(model.packed(prior + counts))
    assert np.abs(model.accuracy(refitted(model, SMALL).skill) - weighed / total).max() < 0.03


@counting
def test_a_coin_moves_no_item_in_a_fit(model):
    """Answers of a worker who is known to guess change no item, however many they are."""
    item = np.repeat(np.arange(6), 4)
    ballots = Ballots.of(item, np.tile(np.arange(4), 6), np.where(np.tile(np.arange(4), 6) == 0, 1, item % 2))
    without = ballots.only(ballots.worker != 0)
    prior = crowd_of(model, 2, 4)
    prior[0] = 1e7  # equal counts for every answer
    context = ItemContext.plain(6)
    here, there = (model.read(model.refit(each, context, prior, prior).state, context) for each in (ballots, without))
    assert here.posterior == pytest.approx(there.posterior, abs=1e-4)


def rare(seed, items=300, workers=15, each=4):
    """Four answers per item by workers with accuracy .8 on both classes; one item in twenty is of the second class."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(items) < 0.05).astype(int)
    item, worker = np.repeat(np.arange(items), each), rng.integers(workers, size=items * each)
    label = np.where(rng.random(items * each) < 0.8, truth[item], 1 - truth[item])
    return Ballots.of(item, worker, label, items=items, workers=workers), truth


class LevelShares(Confusion):
    shares_held = np.inf


@pytest.mark.parametrize("seed", range(3))
def test_a_common_class_is_less_of_a_habit(seed):
    """If classes are assumed equally common, matrices take everybody's frequent answer for a bias."""
    ballots, truth = rare(seed)
    here, there = (
        (refitted(model, ballots).state.model_state.argmax(axis=1) == truth).mean()
        for model in (Confusion(), LevelShares())
    )
    assert here > there + 0.05


@LIGHT
@given(answers=ANSWERS)
def test_estimated_shares_never_silence_a_newcomer(answers):
    """However common a class is, a single answer by an unknown worker decides an item."""
    ballots = job(answers, 2)
    item, worker, label = (
        np.concatenate([np.repeat(each, 20), [new]])
        for each, new in ((ballots.item, ITEMS), (ballots.worker, WORKERS), (ballots.label, 1))
    )
    fit = refitted(Confusion(), Ballots.of(item, worker, label, items=ITEMS + 1, workers=WORKERS + 1, classes=2))
    assert fit.state.model_state[ITEMS].argmax() == 1


def test_an_item_with_a_prior_of_its_own_needs_no_shares():
    """The item's own prior stays, however common classes are on other items."""
    common = Ballots.of(np.arange(40) // 2, np.arange(40) % 8, np.zeros(40), items=22, workers=8, classes=2)
    prior = np.full((22, 2), np.nan)
    prior[20] = 0.3, 0.7
    fit = refitted(Confusion(), common, replace(ItemContext.plain(22), prior=prior))
    assert np.exp(fit.state.model_state[20]) == pytest.approx([0.3, 0.7])
    assert np.exp(fit.state.model_state[21, 0]) > 0.7


@given(first=st.integers(1, 1000), growth=st.floats(0, 10), answers=st.integers(0, 10**9))
def test_a_fit_is_always_followed_by_another(first, growth, answers):
    """The next fit is never before `first` more answers, and not later than the growth says."""
    step = Refit(first=first, growth=growth).next_at(answers) - answers
    assert step >= first
    assert step <= max(first, growth * answers + 1)
