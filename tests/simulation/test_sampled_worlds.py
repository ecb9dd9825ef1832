"""Worlds drawn from the posterior contain the truth as often as they claim."""

import numpy as np
import pytest
from scipy import special, stats

from app.policy.core.ballots import Ballots
from app.simulation.sampled_worlds import worlds_of_answers, worlds_of_prior


def crowd_of(seed, items=150, workers=20, votes=3, classes=2):
    """Answers of different workers on different items, and the truth; the crowd itself is drawn at random."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=items)
    ability = rng.normal(1.4, 0.5) + rng.standard_normal(workers)
    lean = 0.7 * rng.standard_normal(workers) * (classes == 2)
    ease = 0.8 * rng.standard_normal(items)
    item = np.repeat(np.arange(items), votes)
    worker = rng.permuted(np.tile(np.arange(workers), (items, 1)), axis=1)[:, :votes].ravel()
    side = np.where(truth[item] == 0, 1, -1)
    right = rng.random(len(item)) < special.expit(ability[worker] + side * lean[worker] + ease[item])
    label = np.where(right, truth[item], (truth[item] + rng.integers(1, classes, len(item))) % classes)
    sizes = {"items": items, "workers": workers, "classes": classes}
    return Ballots.of(item, worker, label, **sizes), truth, ability, right.mean()


def test_the_share_of_right_answers_is_learned_from_agreement_alone():
    """The truth is not given; nine of ten such shares lie within the range of the draws (here seven of eight)."""
    held = 0
    for seed in range(8):
        ballots, _, _, right = crowd_of(seed, items=80)
        worlds = worlds_of_answers(ballots, 19, None, np.random.default_rng(seed))
        shares = (worlds.truth[:, ballots.item] == ballots.label).mean(axis=1)
        held += shares.min() <= right <= shares.max()
    assert held >= 7


def test_asking_again_because_of_what_was_said_slanders_nobody():
    """Workers must not seem biased towards 0 because only items with a first answer of 0 are asked again."""
    rng = np.random.default_rng(7)
    item, workers = np.repeat(np.arange(500), 3), 10
    worker = rng.permuted(np.tile(np.arange(workers), (500, 1)), axis=1)[:, :3].ravel()
    right = rng.random(1500) < special.expit(1.9 + 1.2 * rng.standard_normal(500)[item])
    label = np.where(right, (item % 2), 1 - item % 2)
    asked = (np.arange(1500) % 3 == 0) | (label[::3] == 0)[item]
    ballots = Ballots.of(item[asked], worker[asked], label[asked], items=500, workers=workers, classes=2)
    worlds = worlds_of_answers(ballots, 19, None, rng)
    bias = worlds.bias[:, :workers].mean(axis=1)
    assert bias.min() <= 0 <= bias.max()
    assert abs(bias.mean()) < 0.6  # half a step of the grid


def test_good_workers_are_known_from_bad_ones():
    ballots, _, ability, _ = crowd_of(3, items=200, votes=6)
    worlds = worlds_of_answers(ballots, 19, None, np.random.default_rng(0))
    assert stats.spearmanr(worlds.ability[:, :20].mean(axis=0), ability).statistic > 0.8


def test_truths_are_drawn_as_often_as_they_are_likely():
    """If a class is drawn for an item in about 9 of 10 worlds, it is the truth for about 9 of 10 such items."""
    ballots, truth, _, _ = crowd_of(5, items=200, votes=4, classes=3)
    worlds = worlds_of_answers(ballots, 39, None, np.random.default_rng(0))
    share = np.stack([(worlds.truth == c).mean(axis=0) for c in range(3)], axis=1)
    likely = (share > 0.8) & (share < 0.98)
    right = (truth[:, None] == np.arange(3))[likely].mean()
    assert abs(right - share[likely].mean()) < 0.08


def test_gold_and_priors_are_heeded():
    ballots, truth, _, _ = crowd_of(1, items=40, votes=1)
    gold = Ballots.of(ballots.item, ballots.worker, ballots.label, items=40, workers=20, classes=2, gold=truth)
    assert (worlds_of_answers(gold, 19, None, np.random.default_rng(0)).truth == truth).all()
    sure = np.where(np.arange(2) == truth[:, None], 0.999, 0.001)
    assert (worlds_of_answers(ballots, 19, sure, np.random.default_rng(0)).truth == truth).mean() > 0.97


def test_gold_and_priors_are_heeded_without_any_vote():
    nothing = np.zeros(0, dtype=np.int64)
    truth, rng = np.arange(300) % 3, np.random.default_rng(0)
    known = Ballots.of(nothing, nothing, nothing, items=300, workers=0, classes=3, gold=truth)
    assert (worlds_of_answers(known, 19, None, rng).truth == truth).all()
    open_ = Ballots.of(nothing, nothing, nothing, items=400, workers=0, classes=2)
    drawn = worlds_of_answers(open_, 39, np.tile([0.95, 0.05], (400, 1)), rng).truth
    assert abs(drawn.mean() - 0.05) < 0.01


def test_a_class_without_votes_is_as_likely_as_its_prior_says():
    """One vote is for the class that the prior rules out; the other two are as likely as the prior says, 3 to 1."""
    every, one = np.arange(400), np.zeros(400, dtype=np.int64)
    ballots = Ballots.of(every, one, one, items=400, workers=1, classes=3)
    drawn = worlds_of_answers(ballots, 39, np.tile([0.0, 0.75, 0.25], (400, 1)), np.random.default_rng(0)).truth
    assert np.bincount(drawn.ravel(), minlength=3) / drawn.size == pytest.approx([0.0, 0.75, 0.25], abs=0.02)


def test_without_answers_the_draws_are_the_prior():
    """One answer per item says nothing about how good the crowd is."""
    ballots, _, _, _ = crowd_of(1, items=100, votes=1)
    worlds = worlds_of_answers(ballots, 59, None, np.random.default_rng(0))
    shares = (worlds.truth[:, ballots.item] == ballots.label).mean(axis=1)
    assert 0.62 < np.median(shares) < 0.82
    assert np.quantile(shares, 0.95) - np.quantile(shares, 0.05) > 0.2


def test_a_given_prior_is_taken_at_its_word():
    rng = np.random.default_rng(0)
    worlds = worlds_of_prior((6, 2), 0.0, (40, 500, 5), 3, rng)
    world, item = (each.ravel() for each in np.indices((40, 500)))
    said = worlds.answers(world, item, np.zeros(len(item), dtype=np.int64), rng)
    truth = worlds.truth[world, item]
    assert abs((said == truth).mean() - 0.75) < 0.01
    assert abs((said == (truth + 1) % 3).mean() - 0.125) < 0.01
