"""Fitting a job: what the answers say hangs on the answers, not on what is still to be asked."""

from dataclasses import replace

import numpy as np
import pytest

from app.lab.invented import Recipe, invented
from app.policy.aggregation import Ballots
from app.policy.belief import Facts
from app.policy.fitting import Crowd, fit
from app.policy.workers import Auto, Confusion, latent_truth
from app.policy.workers.copied import Copied
from tests.policy.test_worker_contract import MODELS

RECIPE = Recipe(items=60, workers=12, answers_per_item=4, spammers=0.3)
STAGES = [pytest.param(model, 0, id=model.kind) for model in MODELS]
STAGES += [pytest.param(Auto(), stage, id=f"auto-{stage}") for stage in (1, 2)]


def answers(more_items=0, gold=None):
    """Those of an invented crowd; the items that nobody has answered lie between the others."""
    crowd = invented(RECIPE, np.random.default_rng(3))
    items = RECIPE.items + more_items
    place = np.linspace(0, items - 1, RECIPE.items).astype(int)
    known = None if gold is None else np.full(items, -1)
    if known is not None:
        known[place] = gold
    sizes = {"items": items, "workers": RECIPE.workers + 1, "classes": 2}
    return Ballots.of(place[crowd.item], crowd.worker, crowd.label, gold=known, **sizes), place


def fitted(model, stage, ballots, facts=None):
    facts = Facts.plain(ballots.items) if facts is None else facts
    prior = np.tile(model.acting(stage, ballots.classes).newcomer(ballots.classes), (ballots.workers, 1))
    return fit(model, stage, ballots, facts, Crowd(prior + 0.5, prior))


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_items_that_nobody_has_answered_change_nothing(model, stage):
    """Nor do they make a fit seem done before it is; they are as at the start."""
    alone, _ = answers()
    among, place = answers(more_items=5000)
    here, there = fitted(model, stage, alone), fitted(model, stage, among)
    assert (there.stage, there.choice) == (here.stage, here.choice)
    assert there.refitted.iterations == here.refitted.iterations
    np.testing.assert_array_equal(there.refitted.skill, here.refitted.skill)
    np.testing.assert_array_equal(there.refitted.state.votes[place], here.refitted.state.votes)
    np.testing.assert_array_equal(there.refitted.state.evidence[place], here.refitted.state.evidence)
    others = ~among.answered
    start = model.acting(there.stage, 2).start(Facts.plain(1), 2).evidence[0]
    assert (there.refitted.state.votes[others] == 0).all()
    assert (there.refitted.state.evidence[others, : len(start)] == start).all()
    assert np.isnan(there.refitted.state.evidence[others, len(start) :]).all()


@pytest.mark.parametrize("model", [Auto(), Confusion(), Copied()], ids=lambda model: model.kind)
def test_a_model_is_done_when_answered_items_stand_still(model):
    """However many others there are, of which nothing is known."""
    fits = []
    for more_items in (0, 50_000):
        ballots, place = answers(more_items)
        prior = np.tile(model.newcomer(2), (ballots.workers, 1))
        found = model.refit(ballots, Facts.plain(ballots.items), prior, prior)
        fits.append((found.iterations, found.state.evidence[place]))
    assert fits[0][0] == fits[1][0]
    np.testing.assert_allclose(fits[0][1], fits[1][1], atol=1e-9)


@pytest.mark.parametrize("model", [Auto(), Auto().acting(1, 2), Confusion()], ids=["auto-0", "auto-1", "confusion"])
@pytest.mark.parametrize("each", [2, 4, 10])
def test_looking_ahead_leads_to_the_same_place_in_fewer_steps(model, each, monkeypatch):
    """In any crowd: a fit that takes every step, and stops only when nothing moves at all, ends there too."""
    crowds = (Recipe(spammers=0.3), Recipe(copiers=0.5), Recipe(liars=0.2, class_weights=(0.8, 0.2)))
    ballots = []
    for recipe in (replace(recipe, items=200, workers=30, answers_per_item=each) for recipe in crowds):
        crowd = invented(recipe, np.random.default_rng(7))
        ballots.append(Ballots.of(crowd.item, crowd.worker, crowd.label, items=200, workers=30, classes=2))
    prior, facts = np.tile(model.newcomer(2), (30, 1)), Facts.plain(200)
    ahead = [model.refit(heard, facts, prior, prior) for heard in ballots]
    monkeypatch.setattr(latent_truth, "_STEPS", np.inf)
    plain = [model.refit(heard, facts, prior, prior) for heard in ballots]
    monkeypatch.setattr(latent_truth, "_STANDSTILL", 1e-12)
    monkeypatch.setattr(latent_truth, "_MOST_ITERATIONS", 10_000)
    for heard, found in zip(ballots, ahead, strict=True):
        end = model.refit(heard, facts, prior, prior)
        assert end.converged
        here, there = (model.read(one.state, facts).posterior for one in (found, end))
        assert np.abs(here - there).mean() < 1e-4
    assert sum(found.iterations for found in ahead) < sum(found.iterations for found in plain)


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_gold_takes_part_whether_answered_or_not(model, stage):
    """Known by the ballots or by the facts alone is the same."""
    gold = np.where(np.arange(RECIPE.items) < 20, np.arange(RECIPE.items) % 2, -1)
    told, _ = answers(gold=gold)
    told = told.only(told.item >= 10)
    untold = replace(told, gold=None)
    facts = replace(Facts.plain(RECIPE.items), gold=gold)
    here, there = (fitted(model, stage, ballots, facts) for ballots in (told, untold))
    np.testing.assert_array_equal(here.refitted.skill, there.refitted.skill)
    np.testing.assert_array_equal(here.refitted.state.evidence, there.refitted.state.evidence)


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_without_answers_everything_is_as_it_was(model, stage):
    """A job may lose all votes; what is known of workers stays known."""
    nothing = Ballots.of([], [], [], items=3, workers=2, classes=2)
    found = fitted(model, stage, nothing)
    acting = model.acting(found.stage, 2)
    assert found.refitted.state.votes.tolist() == [[0, 0]] * 3
    np.testing.assert_array_equal(found.refitted.state.evidence, acting.start(Facts.plain(3), 2).evidence)
    known = np.tile(model.acting(stage, 2).newcomer(2), (2, 1)) + 0.5
    np.testing.assert_array_equal(found.refitted.skill, model.convert(known, stage, found.stage, 2))


@pytest.mark.parametrize(("model", "stage"), STAGES)
def test_of_whom_no_answer_is_left_what_is_known_stays(model, stage):
    """The last worker of the crowd has none."""
    ballots, _ = answers()
    found = fitted(model, stage, ballots)
    known = model.acting(stage, 2).newcomer(2)[None] + 0.5
    np.testing.assert_allclose(found.refitted.skill[-1], model.convert(known, stage, found.stage, 2)[0])


@pytest.mark.parametrize(("model", "stage"), STAGES)
@pytest.mark.parametrize("gold", [None, [1, -1, -1]], ids=["", "gold"])
def test_before_anybody_has_answered_there_is_nothing_to_fit(model, stage, gold):
    """A job of items and no workers, with or without gold: items are as at the start."""
    nothing = Ballots.of([], [], [], items=3, workers=0, classes=2, gold=gold)
    facts = replace(Facts.plain(3), gold=None if gold is None else np.array(gold))
    found = fitted(model, stage, nothing, facts)
    assert found.refitted.skill.shape[0] == 0
    acting = model.acting(found.stage, 2)
    here, there = (acting.read(state, facts).posterior for state in (found.refitted.state, acting.start(facts, 2)))
    np.testing.assert_allclose(here, there, atol=1e-9)
