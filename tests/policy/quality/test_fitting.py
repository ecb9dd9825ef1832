"""Fits of a job: the result depends on the answers, not on items that are still to be asked."""

from dataclasses import replace

import numpy as np
import pytest

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.quality.fitting import FittedCrowd, fit
from app.policy.worker_models import Auto, Confusion
from app.policy.worker_models.auto.copied_answers import Copied
from app.policy.worker_models.inference import latent_truth
from app.simulation.crowd_generator import Recipe, generate_answers
from tests.policy.worker_models.cases import MODELS

RECIPE = Recipe(items=60, workers=12, answers_per_item=4, spammers=0.3)
STAGES = [pytest.param(model, 0, id=model.kind) for model in MODELS]
STAGES += [pytest.param(Auto(), stage, id=f"auto-{stage}") for stage in (1, 2)]


def answers(more_items=0, gold=None):
    """The answers of a synthetic crowd; items without answers are placed between the others."""
    crowd = generate_answers(RECIPE, np.random.default_rng(3))
    items = RECIPE.items + more_items
    place = np.linspace(0, items - 1, RECIPE.items).astype(int)
    known = None if gold is None else np.full(items, -1)
    if known is not None:
        known[place] = gold
    sizes = {"items": items, "workers": RECIPE.workers + 1, "classes": 2}
    return Ballots.of(place[crowd.item], crowd.worker, crowd.label, gold=known, **sizes), place


def fitted(model, stage, ballots, context=None):
    context = ItemContext.plain(ballots.items) if context is None else context
    prior = np.tile(model.stages(ballots.classes).model(stage).newcomer(ballots.classes), (ballots.workers, 1))
    return fit(model, stage, ballots, context, FittedCrowd(prior + 0.5, prior))


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_items_that_nobody_has_answered_change_nothing(model, stage):
    """They keep their start state, and do not make a fit stop too early."""
    alone, _ = answers()
    among, place = answers(more_items=5000)
    here, there = fitted(model, stage, alone), fitted(model, stage, among)
    assert (there.stage, there.choice) == (here.stage, here.choice)
    assert there.refitted.iterations == here.refitted.iterations
    np.testing.assert_array_equal(there.refitted.skill, here.refitted.skill)
    np.testing.assert_array_equal(there.refitted.state.votes[place], here.refitted.state.votes)
    np.testing.assert_array_equal(there.refitted.state.model_state[place], here.refitted.state.model_state)
    others = ~among.answered
    start = model.stages(2).model(there.stage).start(ItemContext.plain(1), 2).model_state[0]
    assert (there.refitted.state.votes[others] == 0).all()
    assert (there.refitted.state.model_state[others, : len(start)] == start).all()
    assert np.isnan(there.refitted.state.model_state[others, len(start) :]).all()


@pytest.mark.parametrize("model", [Auto(), Confusion(), Copied()], ids=lambda model: model.kind)
def test_a_model_is_done_when_answered_items_stand_still(model):
    """The number of items without answers does not matter."""
    fits = []
    for more_items in (0, 50_000):
        ballots, place = answers(more_items)
        prior = np.tile(model.newcomer(2), (ballots.workers, 1))
        found = model.refit(ballots, ItemContext.plain(ballots.items), prior, prior)
        fits.append((found.iterations, found.state.model_state[place]))
    assert fits[0][0] == fits[1][0]
    np.testing.assert_allclose(fits[0][1], fits[1][1], atol=1e-9)


@pytest.mark.parametrize(
    "model", [Auto(), Auto().stages(2).model(1), Confusion()], ids=["auto-0", "auto-1", "confusion"]
)
@pytest.mark.parametrize("each", [2, 4, 10])
def test_looking_ahead_leads_to_the_same_place_in_fewer_steps(model, each, monkeypatch):
    """A fit with extrapolation ends at the same result as one that takes every step until nothing changes."""
    crowds = (Recipe(spammers=0.3), Recipe(copiers=0.5), Recipe(liars=0.2, class_weights=(0.8, 0.2)))
    ballots = []
    for recipe in (replace(recipe, items=200, workers=30, answers_per_item=each) for recipe in crowds):
        crowd = generate_answers(recipe, np.random.default_rng(7))
        ballots.append(Ballots.of(crowd.item, crowd.worker, crowd.label, items=200, workers=30, classes=2))
    prior, context = np.tile(model.newcomer(2), (30, 1)), ItemContext.plain(200)
    ahead = [model.refit(heard, context, prior, prior) for heard in ballots]
    monkeypatch.setattr(latent_truth, "_STEPS", np.inf)
    plain = [model.refit(heard, context, prior, prior) for heard in ballots]
    monkeypatch.setattr(latent_truth, "_CONVERGED", 1e-12)
    monkeypatch.setattr(latent_truth, "_MAX_ITERATIONS", 10_000)
    for heard, found in zip(ballots, ahead, strict=True):
        end = model.refit(heard, context, prior, prior)
        assert end.converged
        here, there = (model.read(one.state, context).posterior for one in (found, end))
        assert np.abs(here - there).mean() < 1e-4
    assert sum(found.iterations for found in ahead) < sum(found.iterations for found in plain)


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_gold_takes_part_whether_answered_or_not(model, stage):
    """It makes no difference whether ballots or context name the gold."""
    gold = np.where(np.arange(RECIPE.items) < 20, np.arange(RECIPE.items) % 2, -1)
    told, _ = answers(gold=gold)
    told = told.only(told.item >= 10)
    untold = replace(told, gold=None)
    context = replace(ItemContext.plain(RECIPE.items), gold=gold)
    here, there = (fitted(model, stage, ballots, context) for ballots in (told, untold))
    np.testing.assert_array_equal(here.refitted.skill, there.refitted.skill)
    np.testing.assert_array_equal(here.refitted.state.model_state, there.refitted.state.model_state)


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_without_answers_everything_is_as_it_was(model, stage):
    """A job may lose all votes; workers keep their skills."""
    nothing = Ballots.of([], [], [], items=3, workers=2, classes=2)
    found = fitted(model, stage, nothing)
    acting = model.stages(2).model(found.stage)
    assert found.refitted.state.votes.tolist() == [[0, 0]] * 3
    np.testing.assert_array_equal(found.refitted.state.model_state, acting.start(ItemContext.plain(3), 2).model_state)
    known = np.tile(model.stages(2).model(stage).newcomer(2), (2, 1)) + 0.5
    np.testing.assert_array_equal(found.refitted.skill, model.stages(2).convert(known, stage, found.stage))


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_of_whom_no_answer_is_left_what_is_known_stays(model, stage):
    """The last worker of the crowd has no answers."""
    ballots, _ = answers()
    found = fitted(model, stage, ballots)
    known = model.stages(2).model(stage).newcomer(2)[None] + 0.5
    np.testing.assert_allclose(found.refitted.skill[-1], model.stages(2).convert(known, stage, found.stage)[0])


@pytest.mark.parametrize(("model", "stage"), STAGES)
@pytest.mark.parametrize("gold", [None, [1, -1, -1]], ids=["", "gold"])
def test_before_anybody_has_answered_there_is_nothing_to_fit(model, stage, gold):
    """In a job without workers, with or without gold, items keep their start state."""
    nothing = Ballots.of([], [], [], items=3, workers=0, classes=2, gold=gold)
    context = replace(ItemContext.plain(3), gold=None if gold is None else np.array(gold))
    found = fitted(model, stage, nothing, context)
    assert found.refitted.skill.shape[0] == 0
    acting = model.stages(2).model(found.stage)
    here, there = (acting.read(state, context).posterior for state in (found.refitted.state, acting.start(context, 2)))
    np.testing.assert_allclose(here, there, atol=1e-9)


@pytest.mark.parametrize("stage", [0, 1])
def test_a_fit_of_one_stage_chooses_none(stage):
    ballots, _ = answers()
    stages = Auto().stages(2)
    prior = np.tile(stages.model(stage).newcomer(2), (ballots.workers, 1))
    found = fit(Auto(), stage, ballots, ItemContext.plain(ballots.items), FittedCrowd(prior, prior), stage_only=True)
    alone = stages.refit(stage, ballots, ItemContext.plain(ballots.items), prior, prior)
    assert (found.stage, found.choice) == (stage, None)
    np.testing.assert_array_equal(found.refitted.state.model_state, alone.state.model_state)
