"""Features speak as a source of their own: without an item's own answers, and as far as they are right."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.opinions import Opinions
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.quality.item_features import ItemFeatures, opinions_of, part_of
from app.policy.worker_models import Anonymous, Auto, Confusion
from app.simulation.crowds import Crowd, skilled, truths

ITEMS, PEOPLE, SOURCE = 200, 9, 9
CONTEXT = ItemContext.plain(ITEMS, seed=5)


def answered(classes: int = 2, seed: int = 1) -> tuple[Ballots, np.ndarray]:
    """Two people on each of the first 150 items; the truth of all."""
    rng = np.random.default_rng(seed)
    truth = truths(ITEMS, classes, rng)
    crowd = Crowd(truth, skilled(rng.uniform(0.65, 0.9, PEOPLE), classes))
    item = np.repeat(np.arange(150), 2)
    worker = (item * 2 + np.tile(np.arange(2), 150)) % PEOPLE
    sizes = {"items": ITEMS, "workers": PEOPLE + 1, "classes": classes}
    return Ballots.of(item, worker, crowd.answers(item, worker, rng), **sizes), truth


def telling(truth: np.ndarray, columns: int = 4) -> np.ndarray:
    """Features of which the first two depend on the truth."""
    found = np.random.default_rng(7).normal(size=(len(truth), columns))
    found[:, 0] += 1.5 * truth
    found[:, 1] -= truth == 1
    return found


def fitted(ballots: Ballots, features: np.ndarray | None, model=None):
    model = Auto() if model is None else model
    new = np.tile(model.newcomer(ballots.classes), (PEOPLE + 1, 1))
    said = None if features is None else ItemFeatures(features, SOURCE)
    return fit(model, 0, ballots, CONTEXT, FittedCrowd(new, new), features=said)


def test_an_opinion_does_not_depend_on_the_answers_to_its_item():
    """Turning all answers on an item round changes other opinions, and not by a bit its own."""
    ballots, truth = answered()
    features = telling(truth)
    before = opinions_of(features, ballots, CONTEXT)
    for item in (0, 77, 149):
        turned = replace(ballots, label=np.where(ballots.item == item, 1 - ballots.label, ballots.label))
        after = opinions_of(features, turned, CONTEXT)
        part = part_of(CONTEXT.seed, CONTEXT.number)
        same = (part == part[item]) & ballots.answered
        assert (after[same] == before[same]).all()
        assert (after[~same] != before[~same]).any(axis=1).all()


def test_the_parts_are_fixed_by_seed_and_number():
    """Any subset of the items is drawn into the same parts, which are about as large."""
    part = part_of(5, np.arange(1, 5001))
    assert (part_of(5, np.array([7, 4000])) == part[[6, 3999]]).all()
    assert np.bincount(part) == pytest.approx(np.full(5, 1000), rel=0.1)
    assert (part_of(6, np.arange(1, 5001)) != part).any()


def test_items_without_features_get_no_opinion():
    ballots, truth = answered()
    features = telling(truth)
    features[::3] = np.nan
    found = opinions_of(features, ballots, CONTEXT)
    assert np.isnan(found[::3]).all()
    assert not np.isnan(np.delete(found, np.s_[::3], axis=0)).any()


def test_nothing_is_said_before_anything_is_known():
    none = Ballots.of([], [], [], items=ITEMS, workers=PEOPLE + 1, classes=2)
    assert np.isnan(opinions_of(telling(np.zeros(ITEMS)), none, CONTEXT)).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_how_common_a_label_is_is_no_opinion(classes):
    """Where features tell nothing, the opinion is even, although nine of ten answers are the same."""
    label = np.where(np.arange(150) % 10 == 0, 1, 0)
    sizes = {"items": ITEMS, "workers": PEOPLE + 1, "classes": classes}
    ballots = Ballots.of(np.arange(150), np.arange(150) % PEOPLE, label, **sizes)
    found = opinions_of(np.full((ITEMS, 2), 3.0), ballots, CONTEXT)
    assert found == pytest.approx(np.full((ITEMS, classes), 1 / classes), abs=1e-9)


@pytest.mark.parametrize("classes", [2, 4])
def test_gold_teaches_the_features(classes):
    """Without an answer; and a gold item's own truth is not in its opinion."""
    truth = truths(ITEMS, classes, np.random.default_rng(2))
    known = replace(CONTEXT, gold=np.where(np.arange(ITEMS) < 150, truth, -1))
    none = Ballots.of([], [], [], items=ITEMS, workers=PEOPLE + 1, classes=classes)
    features = np.column_stack([truth == each for each in range(classes)]) + 0.0
    found = opinions_of(features, none, known)
    assert (found.argmax(axis=1) == truth).all()
    wrong = replace(known, gold=np.where(np.arange(ITEMS) == 3, (truth + 1) % classes, known.gold))
    assert (opinions_of(features, none, wrong)[3] == found[3]).all()


@pytest.mark.parametrize("model", [Auto(), Confusion()], ids=lambda model: model.kind)
def test_features_are_believed_as_far_as_they_are_right(model):
    """Telling features are as reliable as they are; sixty random ones say next to nothing about 150 items."""
    ballots, truth = answered()
    random = np.random.default_rng(3).normal(size=(ITEMS, 60))
    said = []
    for features in (telling(truth), random):
        found = fitted(ballots, features, model)
        now, skill = model.stages(2).model(found.stage), found.refitted.skill[SOURCE]
        believed = now.believed(found.opinions.shares[1], skill)
        said.append((now.accuracy(skill[None])[0], np.abs(believed - 0.5).mean(), believed[np.arange(ITEMS), truth]))
    assert said[0][0] > 0.75
    assert said[0][1] > 0.2
    assert said[1][1] < 0.05
    assert (said[0][2] > 0.5).mean() > 0.75


@pytest.mark.parametrize("model", [Auto(), Anonymous()], ids=lambda model: model.kind)
def test_features_decide_where_answers_do_not(model):
    """Items with and without answers are judged better with features that tell something."""
    ballots, truth = answered()
    right = {}
    for name, features in (("without", None), ("with", telling(truth))):
        found = fitted(ballots, features, model)
        now = model.stages(2).model(found.stage)
        engine = Engine(JobPolicy(labels=("a", "b"), worker_model=model, features={"kind": "logistic"}))
        context = CONTEXT
        if found.opinions is not None:
            engine = replace(engine, stage=found.stage, sources=(None, tuple(found.refitted.skill[SOURCE]) or None))
            context = replace(CONTEXT, prior=engine.believed(found.opinions.shares))
        posterior = now.read(found.refitted.state, context).posterior
        chance = posterior[np.arange(ITEMS), truth]
        right[name] = (chance[:150] > 0.5).mean() + (chance[:150] == 0.5).mean() / 2, chance[150:].mean()
    assert right["with"][0] > right["without"][0] + 0.03
    assert right["without"][1] == pytest.approx(0.5)
    assert right["with"][1] > 0.6


def test_a_prior_and_features_both_count_each_by_its_own_source():
    """P ~ product of what each says alone, as far as its own source is believed."""
    policy = JobPolicy(labels=("a", "b"), features={"kind": "logistic"})
    engine = Engine(policy, sources=((9.0, 1.0), (3.0, 2.0)))
    prior, features, none = [0.9, 0.1], [0.3, 0.7], [np.nan, np.nan]
    shares = np.array([[prior, none, prior, none], [features, features, none, none]])
    alone = [engine.believed_of(source, shares[source]) for source in (0, 1)]
    both = alone[0][0] * alone[1][0]
    expected = [both / both.sum(), alone[1][1], alone[0][2], none]
    assert engine.believed(shares) == pytest.approx(np.array(expected), nan_ok=True)
    skilled_otherwise = Engine(policy, sources=((9.0, 1.0), (2.0, 3.0)))
    assert not engine.believes_as(skilled_otherwise)
    assert engine.believes_as(Engine(policy, sources=((9.0, 1.0), (3.001, 2.0))))


def test_both_sources_have_a_skill_after_a_fit():
    """A prior that is wrong and features that tell something are told apart."""
    ballots, truth = answered()
    wrong = np.where((1 - truth)[:, None] == np.arange(2), 0.9, 0.1)
    more = replace(ballots, workers=PEOPLE + 2).with_opinions(Opinions.of(wrong, PEOPLE + 1))
    model = Auto()
    new = np.tile(model.newcomer(2), (PEOPLE + 2, 1))
    found = fit(model, 0, more, CONTEXT, FittedCrowd(new, new), features=ItemFeatures(telling(truth), SOURCE))
    accuracy = model.stages(2).model(found.stage).accuracy(found.refitted.skill)
    assert accuracy[SOURCE] > 0.75
    assert accuracy[PEOPLE + 1] < 0.3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"answer": {"kind": "choices"}}, "logistic takes jobs whose answers are choice or ordinal, not choices"),
        ({"prior_source": "features"}, "`source` must differ from the job's prior_source, 'features'"),
    ],
)
def test_what_features_do_not_go_with(fields, message):
    with pytest.raises(ValidationError, match=message):
        JobPolicy.model_validate({"labels": ("a", "b"), "features": {"kind": "logistic"}} | fields)


def test_numbers_take_no_features():
    number = {"kind": "number", "low": 0, "high": 1}
    with pytest.raises(ValidationError, match="logistic takes jobs whose answers are choice or ordinal, not number"):
        JobPolicy.model_validate({"answer": number, "features": {"kind": "logistic"}})
