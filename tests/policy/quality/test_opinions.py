"""A prior is the opinion of a source: it counts as an answer does, as far as the source is reliable, and once."""

import numpy as np
import pytest

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.opinions import Opinions
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.echoes import find_echoes
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, Tiers, TwoCoin, Weighted
from app.simulation.crowds import Crowd, skilled, truths

ITEMS, PEOPLE = 150, 9


def answered(classes: int, seed: int) -> tuple[Ballots, np.ndarray, np.ndarray]:
    """Three people on each item; what another worker, right with .8, says of every item, as labels; the truth."""
    rng = np.random.default_rng(seed)
    truth = truths(ITEMS, classes, rng)
    crowd = Crowd(truth, skilled(np.append(rng.uniform(0.65, 0.9, PEOPLE), 0.8), classes))
    item = np.repeat(np.arange(ITEMS), 3)
    worker = (item * 3 + np.tile(np.arange(3), ITEMS)) % PEOPLE
    said = crowd.answers(np.arange(ITEMS), np.full(ITEMS, PEOPLE), rng)
    sizes = {"items": ITEMS, "workers": PEOPLE + 1, "classes": classes}
    return Ballots.of(item, worker, crowd.answers(item, worker, rng), **sizes), said, truth


def crowd_of(model, classes: int) -> FittedCrowd:
    new = np.tile(model.newcomer(classes), (PEOPLE + 1, 1))
    return FittedCrowd(new, new)


@pytest.mark.parametrize(("model", "classes"), [(Auto(), 2), (Confusion(), 2), (Confusion(), 3)])
def test_a_certain_opinion_is_an_answer(model, classes):
    """The same skills and the same beliefs, whether a worker's labels come as answers or as certain opinions.

    Except that an opinion is not counted where errors repeat: `auto` with more than two labels.
    """
    ballots, said, _ = answered(classes, seed=classes)
    context = ItemContext.plain(ITEMS)
    plain = Ballots.of(
        np.append(ballots.item, np.arange(ITEMS)),
        np.append(ballots.worker, np.full(ITEMS, PEOPLE)),
        np.append(ballots.label, said),
        items=ITEMS,
        workers=PEOPLE + 1,
        classes=classes,
    )
    opinions = Opinions.of(np.eye(classes)[said], PEOPLE)
    by_answer = fit(model, 0, plain, context, crowd_of(model, classes), stage_only=True).refitted
    by_opinion = fit(model, 0, ballots.with_opinions(opinions), context, crowd_of(model, classes), stage_only=True)
    accuracy = model.accuracy(by_answer.skill)
    assert model.accuracy(by_opinion.refitted.skill) == pytest.approx(accuracy, abs=0.01)
    posterior = [model.read(state, context).posterior for state in (by_answer.state, by_opinion.refitted.state)]
    assert posterior[1] == pytest.approx(posterior[0], abs=0.02)
    assert by_opinion.refitted.state.votes.sum() == len(ballots.item)  # an opinion is no vote


@pytest.mark.parametrize("model", [Auto(), Confusion(), OneCoin(), TwoCoin()], ids=lambda model: model.kind)
def test_the_source_is_believed_as_far_as_it_is_right(model):
    """A source that is sure and right is believed, one that is as sure and guesses is not."""
    ballots, _, truth = answered(2, seed=5)
    believed = []
    for said in (truth, np.random.default_rng(1).integers(0, 2, ITEMS)):
        stated = np.where(said[:, None] == np.arange(2), 0.97, 0.03)
        found = fit(
            model, 0, ballots.with_opinions(Opinions.of(stated, PEOPLE)), ItemContext.plain(ITEMS), crowd_of(model, 2)
        )
        skill = found.refitted.skill[PEOPLE]
        believed.append(model.stages(2).model(found.stage).believed(np.array([[0.97, 0.03]]), skill)[0, 0])
    assert believed[0] > 0.9
    assert 0.4 < believed[1] < 0.65


@pytest.mark.parametrize("model", [Auto(), OneCoin(), Anonymous(), Weighted(), Tiers()], ids=lambda model: model.kind)
def test_an_opinion_that_its_source_replaces_leaves_no_trace(model):
    """Where the source has answered every item, its opinions change nothing."""
    ballots, said, _ = answered(2, seed=3)
    both = Ballots.of(
        np.append(ballots.item, np.arange(ITEMS)),
        np.append(ballots.worker, np.full(ITEMS, PEOPLE)),
        np.append(ballots.label, said),
        items=ITEMS,
        workers=PEOPLE + 1,
        classes=2,
    )
    opinions = Opinions.of(np.where(said[:, None] == np.arange(2), 0.97, 0.03), PEOPLE)
    states = [
        fit(model, 0, each, ItemContext.plain(ITEMS), crowd_of(model, 2)).refitted.state.model_state
        for each in (both, both.with_opinions(opinions))
    ]
    assert np.array_equal(*states, equal_nan=True)


def test_gold_teaches_the_source():
    """Without any answer, forty items of known truth show that a source is wrong."""
    truth = truths(ITEMS, 2, np.random.default_rng(2))
    stated = np.where((1 - truth)[:, None] == np.arange(2), 0.95, 0.05)
    known = np.where(np.arange(ITEMS) < 40, truth, -1)
    none = Ballots.of([], [], [], items=ITEMS, workers=1, classes=2).with_opinions(Opinions.of(stated, 0))
    model, new = Auto(), Auto().newcomer(2)[None]
    context = ItemContext(np.ones(ITEMS), np.zeros(ITEMS), np.arange(ITEMS), gold=known)
    found = fit(model, 0, none, context, FittedCrowd(new, new))
    assert model.accuracy(found.refitted.skill)[0] < 0.3
    leader = model.read(found.refitted.state, context).leader
    assert (leader[40:] == truth[40:]).all()  # whoever is nearly always wrong tells the truth, too


@pytest.mark.parametrize("classes", [2, 4])
def test_who_repeats_the_opinions_is_noticed_and_others_are_not(classes):
    ballots, said, _ = answered(classes, seed=7)
    stated = np.where(said[:, None] == np.arange(classes), 0.9, 0.1 / (classes - 1))
    opinions = Opinions.of(stated, PEOPLE + 1)
    repeated = Ballots.of(
        np.append(ballots.item, np.arange(40)),
        np.append(ballots.worker, np.full(40, PEOPLE)),
        np.append(ballots.label, said[:40]),
        items=ITEMS,
        workers=PEOPLE + 2,
        classes=classes,
    ).with_opinions(opinions)
    assert np.flatnonzero(find_echoes(repeated, ItemContext.plain(ITEMS))).tolist() == [PEOPLE]


def test_excellent_people_do_not_count_as_echoes():
    """On an easy job nearly everybody agrees with a good model, because all are right."""
    rng = np.random.default_rng(3)
    truth = truths(ITEMS, 2, rng)
    crowd = Crowd(truth, skilled(np.full(PEOPLE + 1, 0.96), 2))
    item, worker = np.repeat(np.arange(ITEMS), 4), np.tile(np.arange(4), ITEMS)
    said = crowd.answers(np.arange(ITEMS), np.full(ITEMS, PEOPLE), rng)
    opinions = Opinions.of(np.where(said[:, None] == np.arange(2), 0.95, 0.05), PEOPLE)
    ballots = Ballots.of(item, worker, crowd.answers(item, worker, rng), workers=PEOPLE + 1).with_opinions(opinions)
    assert not find_echoes(ballots, ItemContext.plain(ITEMS)).any()


def test_a_blocked_source_says_nothing():
    engine = Engine(JobPolicy(labels=("a", "b")), sources=((),))
    assert np.isnan(engine.believed(np.array([[[0.9, 0.1]]]))).all()
    assert not engine.believes_as(Engine(engine.policy))


@pytest.mark.parametrize("model", [Auto(), OneCoin(), TwoCoin(), Confusion(), Weighted()], ids=lambda model: model.kind)
def test_a_stated_accuracy_is_the_accuracy(model):
    """In every model that keeps one, and in every stage of `auto`."""
    stages = model.stages(2)
    stated = np.array([[0.98, 20.0], [np.nan, np.nan]])
    rows = np.tile(model.newcomer(2), (2, 1))
    rows[0] = model.stated_skill(0.98, 20.0, 2)
    for stage in range(len(stages.names)):
        converted = stages.crediting(stated).convert(rows, 0, stage)
        accuracy = stages.model(stage).accuracy(converted)
        assert accuracy[0] == pytest.approx(0.98)
        assert accuracy[1] == pytest.approx(0.8)
        assert stages.crediting(stated).convert(converted, stage, 0) == pytest.approx(rows)
    assert Anonymous().stated_skill(0.98, 20.0, 2) is None
