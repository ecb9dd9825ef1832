"""Copied: workers who copy one source are distinguished from workers who know."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.tuning import TUNED
from app.policy.worker_models import Auto, Confusion
from app.policy.worker_models.auto import copier_inference
from app.policy.worker_models.auto.copied_answers import Copied
from app.policy.worker_models.auto.copier_inference import _Chance, _Items
from app.policy.worker_models.auto.copier_stage import sampled
from app.policy.worker_models.auto.held_out import folds
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers

COPIERS = Recipe(items=300, workers=40, answers_per_item=4, copiers=0.5)


def of(recipe, seed):
    """The answers of a synthetic crowd, and the truth."""
    crowd = generate_answers(recipe, np.random.default_rng(seed))
    ballots = Ballots.of(
        crowd.item, crowd.worker, crowd.label, items=recipe.items, workers=recipe.workers, classes=recipe.classes
    )
    return ballots, crowd.truth


def newcomers(ballots):
    return np.tile([4.0, 1.0], (ballots.workers, 1))


def chosen(ballots, stage=0, seed=0):
    return (
        Auto()
        .stages(ballots.classes)
        .choose(ballots, ItemContext.plain(ballots.items, seed), newcomers(ballots), stage)
    )


def fitted(model, ballots, context=None):
    prior = newcomers(ballots)
    return model.refit(ballots, ItemContext.plain(ballots.items) if context is None else context, prior, prior)


def chances(fit):
    """P(class) of every item, shape (items, classes)."""
    return Copied().read(fit.state, ItemContext.plain(len(fit.state.votes))).posterior


def right(fit, truth):
    return (chances(fit).argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_copiers_are_found_and_not_believed(seed, classes):
    """One accuracy per worker trusts the source, and a majority half trusts it; this stage trusts the other workers."""
    ballots, truth = of(Recipe(**{**vars(COPIERS), "classes": classes}), seed)
    majority = (ballots.votes().argmax(axis=1) == truth).mean()
    choice = chosen(ballots)
    assert (choice.stage, choice.reason.code) == (2, "some-copy")
    assert max(choice.held_out, key=choice.held_out.__getitem__) == "copied"
    assert right(fitted(Copied(), ballots), truth) > max(majority, right(fitted(Auto(), ballots), truth)) + 0.02
    assert chosen(ballots, stage=2).stage == 2


def test_matrices_compete_with_their_own_priors():
    """A job in its second stage uses each worker's matrix from other jobs as the prior, not the mean accuracy."""
    ballots, _ = of(COPIERS, 1)
    prior = np.tile([30.0, 1.0, 10.0, 10.0], (ballots.workers, 1))
    context = ItemContext.plain(ballots.items)
    choice = Auto().stages(2).choose(ballots, context, prior, stage=1)
    held = folds(len(ballots.item), context.seed)
    scores = [
        Confusion().heldout_log_likelihood(ballots.only(~fold), ballots.only(fold), context, prior) for fold in held
    ]
    assert choice.stage == 2
    assert choice.held_out["two-coin"] == pytest.approx(np.concatenate(scores).mean())


def test_the_reason_for_going_back_says_that_nobody_copies():
    """It says first that there are no copiers any more, then which of the other stages stays."""
    choice = chosen(of(Recipe(**{**vars(COPIERS), "copiers": 0.0}), 1)[0], stage=2)
    assert choice.stage == 0
    assert choice.reason.message.startswith("No copiers are found any more. two-coin predicts")


def test_one_item_with_all_answers_is_no_reason_to_fail():
    """With very many answers only those on a random part of the items are used; with this seed, on no item."""
    many = 300_000
    ballots = Ballots.of(np.zeros(many, int), np.arange(many), np.arange(many) % 2, items=1, classes=2)
    assert not len(sampled(ballots, seed=1).item)
    assert chosen(ballots, seed=1).stage == 0


CROWDS = {
    "everybody knows something": {},
    "half guesses, half is nearly perfect": {"spammers": 0.5, "skill": Distribution("fixed", 0.97)},
    "four classes, half guesses, half is perfect": {"classes": 4, "spammers": 0.5, "skill": Distribution("fixed", 1.0)},
    "liars as sure as the honest": {"liars": 0.4, "skill": Distribution("fixed", 0.97)},
    "hard items": {"difficulty": Distribution("uniform", 0, 1)},
    "knowing all or nothing": {"skill": Distribution("beta", 0.6, 0.2)},
}


@pytest.mark.parametrize("crowd", CROWDS.values(), ids=CROWDS.keys())
def test_nobody_is_suspected_without_reason(crowd):
    """Experts among guessers also agree in every answer, but there is no second group with knowledge."""
    for seed in range(3):
        ballots, _ = of(Recipe(**{**vars(COPIERS), "copiers": 0.0, **crowd}), seed)
        assert chosen(ballots).stage != 2
        assert chosen(ballots, stage=2).stage != 2


def test_most_of_a_crowd_is_never_suspected():
    """A worker who agrees with seven of ten others may simply know the answers."""
    for seed in range(3):
        assert chosen(of(Recipe(**{**vars(COPIERS), "copiers": 0.7}), seed)[0]).stage != 2


def test_gold_shows_which_group_is_right():
    """One half knows everything, the other half shares a misconception: without gold the first half seems to copy."""
    rng = np.random.default_rng(5)
    truth, misconception = rng.integers(2, size=300), rng.integers(2, size=300)
    item, worker = np.repeat(np.arange(300), 8), np.concatenate([rng.permutation(40)[:8] for _ in range(300)])
    label = np.where(
        worker < 20, truth[item], np.where(rng.random(2400) < 0.8, misconception[item], 1 - misconception[item])
    )
    without, with_gold = (
        Ballots.of(item, worker, label, items=300, workers=40, classes=2, gold=gold)
        for gold in (None, np.where(np.arange(300) < 20, truth, -1))
    )
    assert chosen(without).stage == 2
    assert chosen(with_gold).stage == 0
    assert right(fitted(Auto(), with_gold), truth) > 0.95


@settings(max_examples=50)
@given(data=st.data(), classes=st.integers(2, 4))
def test_an_item_is_what_enumeration_makes_of_it(data, classes):
    """Sums over classes equal sums over all pairs of truth and source, with an answer and without it."""
    answers = data.draw(st.integers(1, 5))
    label = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=answers, max_size=answers)))
    shares = st.lists(st.floats(0.02, 0.98), min_size=answers, max_size=answers)
    hit, copying = (np.array(data.draw(shares)) for _ in range(2))
    before = np.log(np.random.default_rng(answers).dirichlet(np.ones(classes)))
    agreed = data.draw(st.floats(0.05, 0.95))
    ballots = Ballots.of(np.zeros(answers, int), np.arange(answers), label, items=1, classes=classes)
    chance = _Chance.of(hit, copying, classes)
    items = _Items.of(ballots, before[:, None], agreed, chance)

    def table(which):
        """P(t, s) by these answers alone."""
        found = np.zeros((classes, classes))
        for t, s in product(range(classes), repeat=2):
            found[t, s] = np.exp(before[t]) * (agreed if t == s else (1 - agreed) / (classes - 1))
            for a in which:
                own = hit[a] if label[a] == t else (1 - hit[a]) / (classes - 1)
                said = TUNED.copiers.fidelity if label[a] == s else (1 - TUNED.copiers.fidelity) / (classes - 1)
                found[t, s] *= (1 - copying[a]) * own + copying[a] * said
        return found / found.sum()

    whole = table(range(answers))
    np.testing.assert_allclose(items.truth[:, 0], whole.sum(axis=1), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(items.source[:, 0], whole.sum(axis=0), rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(items.both[:, 0], np.diag(whole), rtol=1e-7, atol=1e-12)
    is_true, is_said = items.without_it(label, chance)
    for a in range(answers):
        rest = table([other for other in range(answers) if other != a])
        np.testing.assert_allclose(is_true[a], rest[label[a]].sum(), rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(is_said[a], rest[:, label[a]].sum(), rtol=1e-5, atol=1e-9)


def enumerated(ballots, before, hit, share, agreed):
    """P(worker copies), P(truth) and the mean P(t = s), over all truths, sources and sets of copiers of a small job."""
    classes, items = before.shape
    mass, copies, truth, same = 0.0, np.zeros(ballots.workers), np.zeros((classes, items)), 0.0
    for true in product(range(classes), repeat=items):
        for said in product(range(classes), repeat=items):
            for copier in product((0, 1), repeat=ballots.workers):
                chance = np.exp(before[list(true), range(items)].sum())
                chance *= np.prod(np.where(np.equal(true, said), agreed, (1 - agreed) / (classes - 1)))
                chance *= np.prod(np.where(copier, share, 1 - share))
                copying = np.array(copier)[ballots.worker] == 1
                meant = np.where(copying, np.array(said)[ballots.item], np.array(true)[ballots.item])
                rate = np.where(copying, TUNED.copiers.fidelity, hit[ballots.worker])
                chance *= np.prod(np.where(ballots.label == meant, rate, (1 - rate) / (classes - 1)))
                mass, copies = mass + chance, copies + chance * np.array(copier)
                same += chance * np.mean(np.equal(true, said))
                truth[list(true), range(items)] += chance
    return copies / mass, truth / mass, same / mass


@pytest.mark.parametrize("classes", [2, 3])
def test_where_answers_form_a_tree_beliefs_are_exact(classes, monkeypatch):
    """Two items share one of three workers of known skill: results equal an enumeration with the fitted shares."""
    monkeypatch.setattr(copier_inference, "_CONVERGED", 1e-12)
    ballots = Ballots.of([0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 0, 0], classes=classes)
    before = np.log(np.random.default_rng(classes).dirichlet(np.ones(classes), 2)).T.copy()
    hit = np.array([0.9, 0.7, 0.6])
    prior = 1e12 * np.stack([hit, 1 - hit], axis=1)
    found = copier_inference.infer_copiers(ballots, before, prior, np.array([False, True, False]), max_iterations=5000)
    share, agreed = (found.copying_probability.sum() + 0.2) / (3 + 1), 0.5
    for _ in range(40):
        copies, truth, same = enumerated(ballots, before, hit, share, agreed)
        agreed = (1 + 2 * same) / (2 + 2)
    assert found.converged
    np.testing.assert_allclose(found.copying_probability, copies, atol=1e-9)
    np.testing.assert_allclose(found.truth, truth, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_item_with_very_many_answers_is_no_exception(classes):
    """Four hundred workers agree, and each may know or copy: the source is right to hundreds of digits."""
    many = 400
    ballots = Ballots.of(np.zeros(many, int), np.arange(many), np.zeros(many, int), items=1, classes=classes)
    level, chance = (
        np.full((classes, 1), -np.log(classes)),
        _Chance.of(np.full(many, 0.98), np.full(many, 0.5), classes),
    )
    items = _Items.of(ballots, level, 0.5, chance)
    assert items.both[0] == pytest.approx(1)
    elsewhere = many * np.log((0.98 + 0.02 / (classes - 1)) / 2 / 0.98) - np.log(classes - 1)
    assert np.log(items.source[1:, 0]) == pytest.approx(elsewhere, rel=1e-9)


def test_the_same_answers_in_another_order_say_the_same():
    """A fit does not depend on the order of the answers."""
    ballots, _ = of(COPIERS, 1)
    order = np.random.default_rng(2).permutation(len(ballots.item))
    other = Ballots.of(
        ballots.item[order], ballots.worker[order], ballots.label[order], items=300, workers=40, classes=2
    )
    np.testing.assert_allclose(chances(fitted(Copied(), ballots)), chances(fitted(Copied(), other)), atol=1e-6)


def test_few_answers_are_no_reason_to_fail():
    """A job may lose votes of its workers after it has changed to this stage."""
    nobody = Ballots.of([], [], [], items=3, workers=2, classes=2)
    assert chances(fitted(Copied(), nobody)) == pytest.approx(0.5)
    one = Ballots.of([1], [0], [1], items=3, workers=2, classes=2)
    assert chances(fitted(Copied(), one))[1, 1] > 0.5
    same = Ballots.of(np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60), np.zeros(180, int), classes=2)
    assert (chances(fitted(Copied(), same)).argmax(axis=1) == 0).all()
    assert chosen(same).stage == 0
