"""Copied: those who repeat one source are told from those who know."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.lab.invented import Recipe, Spread, invented
from app.policy.aggregation import Ballots
from app.policy.belief import Facts
from app.policy.workers import Auto, Confusion, camps
from app.policy.workers.auto import _part
from app.policy.workers.camps import FAITH, _Chance, _Items
from app.policy.workers.copied import Copied
from app.policy.workers.held_out import folds

COPIERS = Recipe(items=300, workers=40, answers_per_item=4, copiers=0.5)


def of(recipe, seed):
    """The answers of an invented crowd, and the truth."""
    crowd = invented(recipe, np.random.default_rng(seed))
    ballots = Ballots.of(
        crowd.item, crowd.worker, crowd.label, items=recipe.items, workers=recipe.workers, classes=recipe.classes
    )
    return ballots, crowd.truth


def newcomers(ballots):
    return np.tile([4.0, 1.0], (ballots.workers, 1))


def chosen(ballots, stage=0, seed=0):
    return Auto().choose(ballots, Facts.plain(ballots.items, seed), newcomers(ballots), stage)


def fitted(model, ballots, facts=None):
    prior = newcomers(ballots)
    return model.refit(ballots, Facts.plain(ballots.items) if facts is None else facts, prior, prior)


def chances(fit):
    """P(class) of every item, shape (items, classes)."""
    return Copied().read(fit.state, Facts.plain(len(fit.state.votes))).posterior


def right(fit, truth):
    return (chances(fit).argmax(axis=1) == truth).mean()


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", range(3))
def test_copiers_are_found_and_not_believed(seed, classes):
    """One accuracy each believes the source, a majority half of it; here the others are heard."""
    ballots, truth = of(Recipe(**{**vars(COPIERS), "classes": classes}), seed)
    majority = (ballots.votes().argmax(axis=1) == truth).mean()
    choice = chosen(ballots)
    assert (choice.stage, choice.reason.code) == (2, "some-copy")
    assert max(choice.held_out, key=choice.held_out.__getitem__) == "copied"
    assert right(fitted(Copied(), ballots), truth) > max(majority, right(fitted(Auto(), ballots), truth)) + 0.02
    assert chosen(ballots, stage=2).stage == 2


def test_matrices_compete_with_all_that_is_known_of_workers():
    """A job in its second stage has a matrix of each worker from elsewhere: by those, not by their mean accuracy."""
    ballots, _ = of(COPIERS, 1)
    prior = np.tile([30.0, 1.0, 10.0, 10.0], (ballots.workers, 1))
    facts = Facts.plain(ballots.items)
    choice = Auto().choose(ballots, facts, prior, stage=1)
    held = folds(len(ballots.item), facts.seed)
    scores = [Confusion().foretold(ballots.only(~fold), ballots.only(fold), facts, prior) for fold in held]
    assert choice.stage == 2
    assert choice.held_out["two-coin"] == pytest.approx(np.concatenate(scores).mean())


def test_who_falls_back_is_told_why():
    """That nobody copies any more is said first, then which of the others stays."""
    choice = chosen(of(Recipe(**{**vars(COPIERS), "copiers": 0.0}), 1)[0], stage=2)
    assert choice.stage == 0
    assert choice.reason.message.startswith("nobody is found any more to repeat one source; two-coin foretells")


def test_one_item_with_all_answers_is_no_reason_to_fail():
    """Of very many answers those on a part of the items are looked at; with this seed, on none."""
    many = 300_000
    ballots = Ballots.of(np.zeros(many, int), np.arange(many), np.arange(many) % 2, items=1, classes=2)
    assert not len(_part(ballots, seed=1).item)
    assert chosen(ballots, seed=1).stage == 0


CROWDS = {
    "everybody knows something": {},
    "half guesses, half is nearly perfect": {"spammers": 0.5, "skill": Spread("fixed", 0.97)},
    "four classes, half guesses, half is perfect": {"classes": 4, "spammers": 0.5, "skill": Spread("fixed", 1.0)},
    "liars as sure as the honest": {"liars": 0.4, "skill": Spread("fixed", 0.97)},
    "hard items": {"difficulty": Spread("uniform", 0, 1)},
    "knowing all or nothing": {"skill": Spread("beta", 0.6, 0.2)},
}


@pytest.mark.parametrize("crowd", CROWDS.values(), ids=CROWDS.keys())
def test_nobody_is_accused_in_vain(crowd):
    """Experts among guessers agree to the word as well; but no second camp knows better."""
    for seed in range(3):
        ballots, _ = of(Recipe(**{**vars(COPIERS), "copiers": 0.0, **crowd}), seed)
        assert chosen(ballots).stage != 2
        assert chosen(ballots, stage=2).stage != 2


def test_most_of_a_crowd_is_never_suspected():
    """Who agrees with seven of ten may simply know."""
    for seed in range(3):
        assert chosen(of(Recipe(**{**vars(COPIERS), "copiers": 0.7}), seed)[0]).stage != 2


def test_known_classes_tell_which_camp_is_right():
    """One half knows everything, the other half shares a misconception: without gold the knowing seem to copy."""
    rng = np.random.default_rng(5)
    truth, folly = rng.integers(2, size=300), rng.integers(2, size=300)
    item, worker = np.repeat(np.arange(300), 8), np.concatenate([rng.permutation(40)[:8] for _ in range(300)])
    label = np.where(worker < 20, truth[item], np.where(rng.random(2400) < 0.8, folly[item], 1 - folly[item]))
    untold, told = (
        Ballots.of(item, worker, label, items=300, workers=40, classes=2, gold=gold)
        for gold in (None, np.where(np.arange(300) < 20, truth, -1))
    )
    assert chosen(untold).stage == 2
    assert chosen(told).stage == 0
    assert right(fitted(Auto(), told), truth) > 0.95


@settings(max_examples=50)
@given(data=st.data(), classes=st.integers(2, 4))
def test_an_item_is_what_enumeration_makes_of_it(data, classes):
    """Sums over classes stand for sums over all pairs of truth and source, with an answer or without it."""
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
                said = FAITH if label[a] == s else (1 - FAITH) / (classes - 1)
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
    """P(worker copies), P(truth) and the mean P(t = s), over all truths, sources and camps of a small job."""
    classes, items = before.shape
    mass, copies, truth, same = 0.0, np.zeros(ballots.workers), np.zeros((classes, items)), 0.0
    for true in product(range(classes), repeat=items):
        for said in product(range(classes), repeat=items):
            for camp in product((0, 1), repeat=ballots.workers):
                chance = np.exp(before[list(true), range(items)].sum())
                chance *= np.prod(np.where(np.equal(true, said), agreed, (1 - agreed) / (classes - 1)))
                chance *= np.prod(np.where(camp, share, 1 - share))
                copying = np.array(camp)[ballots.worker] == 1
                meant = np.where(copying, np.array(said)[ballots.item], np.array(true)[ballots.item])
                rate = np.where(copying, FAITH, hit[ballots.worker])
                chance *= np.prod(np.where(ballots.label == meant, rate, (1 - rate) / (classes - 1)))
                mass, copies = mass + chance, copies + chance * np.array(camp)
                same += chance * np.mean(np.equal(true, said))
                truth[list(true), range(items)] += chance
    return copies / mass, truth / mass, same / mass


@pytest.mark.parametrize("classes", [2, 3])
def test_where_answers_form_a_tree_beliefs_are_exact(classes, monkeypatch):
    """Two items that share one of three workers, whose knowledge is known: by enumeration, shares as they settle."""
    monkeypatch.setattr(camps, "_STANDSTILL", 1e-12)
    ballots = Ballots.of([0, 0, 1, 1], [0, 1, 1, 2], [0, 1, 0, 0], classes=classes)
    before = np.log(np.random.default_rng(classes).dirichlet(np.ones(classes), 2)).T.copy()
    hit = np.array([0.9, 0.7, 0.6])
    prior = 1e12 * np.stack([hit, 1 - hit], axis=1)
    found = camps.settled(ballots, before, prior, np.array([False, True, False]), most_iterations=5000)
    share, agreed = (found.copies.sum() + 0.2) / (3 + 1), 0.5
    for _ in range(40):
        copies, truth, same = enumerated(ballots, before, hit, share, agreed)
        agreed = (1 + 2 * same) / (2 + 2)
    assert found.converged
    np.testing.assert_allclose(found.copies, copies, atol=1e-9)
    np.testing.assert_allclose(found.truth, truth, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_an_item_with_very_many_answers_is_no_exception(classes):
    """Four hundred say the same, and each may know or copy: so the source is right, to hundreds of digits."""
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
    """A fit looks at the answers, not at when they came."""
    ballots, _ = of(COPIERS, 1)
    order = np.random.default_rng(2).permutation(len(ballots.item))
    other = Ballots.of(
        ballots.item[order], ballots.worker[order], ballots.label[order], items=300, workers=40, classes=2
    )
    np.testing.assert_allclose(chances(fitted(Copied(), ballots)), chances(fitted(Copied(), other)), atol=1e-6)


def test_few_answers_are_no_reason_to_fail():
    """A job may lose the votes of its workers after it has moved to this stage."""
    nobody = Ballots.of([], [], [], items=3, workers=2, classes=2)
    assert chances(fitted(Copied(), nobody)) == pytest.approx(0.5)
    one = Ballots.of([1], [0], [1], items=3, workers=2, classes=2)
    assert chances(fitted(Copied(), one))[1, 1] > 0.5
    same = Ballots.of(np.repeat(np.arange(60), 3), np.tile(np.arange(3), 60), np.zeros(180, int), classes=2)
    assert (chances(fitted(Copied(), same)).argmax(axis=1) == 0).all()
    assert chosen(same).stage == 0
