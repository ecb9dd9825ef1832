"""What a fit of the automatic model expects of a worker of whom it knows nothing yet: the accuracy of this crowd."""

import numpy as np
import pytest

from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.worker_models import Auto

MODEL = Auto()
ITEMS, WORKERS = 200, 40


def expected_of_a_stranger(mean, *, classes=2, each=5, seed=1):
    """What a fit expects of a worker whose only answer is on an item of its own, in a crowd of this mean accuracy.

    Returns the expectation and the true accuracy of the crowd: the mean of its workers.
    """
    rng = np.random.default_rng(seed)
    accuracy = rng.beta(10 * mean, 10 * (1 - mean), WORKERS)
    truth = rng.integers(classes, size=ITEMS)
    item = np.repeat(np.arange(ITEMS), each)
    worker = np.concatenate([rng.permutation(WORKERS)[:each] for _ in range(ITEMS)])
    error = (truth[item] + rng.integers(1, classes, len(item))) % classes
    label = np.where(rng.random(len(item)) < accuracy[worker], truth[item], error)
    alone = Ballots.of([*item, ITEMS], [*worker, WORKERS], [*label, 0], items=ITEMS + 1, workers=WORKERS + 1)
    ballots = Ballots.of(alone.item, alone.worker, alone.label, items=ITEMS + 1, workers=WORKERS + 1, classes=classes)
    prior = np.tile(MODEL.newcomer(classes), (WORKERS + 1, 1))
    context = ItemContext.plain(ITEMS + 1)
    found = MODEL.refit(ballots, context, prior, prior)
    # One answer that nobody confirms or contradicts leaves the mean of a Beta distribution as it is.
    return float(MODEL.accuracy(found.skill)[-1]), float(accuracy.mean())


@pytest.mark.parametrize(("mean", "classes"), [(0.9, 2), (0.8, 2), (0.75, 4), (0.6, 4), (0.5, 5)])
def test_a_stranger_is_expected_to_be_like_the_crowd(mean, classes):
    expected, true = expected_of_a_stranger(mean, classes=classes, each=7)
    assert expected == pytest.approx(true, abs=0.07)


@pytest.mark.parametrize("mean", [0.9, 0.6])
def test_too_few_answers_per_item_teach_nothing(mean):
    expected, _ = expected_of_a_stranger(mean, each=2)
    assert expected == pytest.approx(0.8, abs=0.02)


def test_nobody_is_expected_to_guess_or_to_lie():
    """Even after workers who only guess, somebody new is believed a little more than chance."""
    rng = np.random.default_rng(3)
    item, worker = (each.ravel() for each in np.meshgrid(np.arange(100), np.arange(20)))
    label = rng.integers(0, 4, len(item))
    ballots = Ballots.of([*item, 100], [*worker, 20], [*label, 0], items=101, workers=21, classes=4)
    prior = np.tile(MODEL.newcomer(4), (21, 1))
    found = MODEL.refit(ballots, ItemContext.plain(101), prior, prior)
    assert found.converged
    assert 0.3 < MODEL.accuracy(found.skill)[-1] < 0.6


def test_who_is_known_beforehand_keeps_what_is_known():
    """A record of another job, or a stated accuracy, is about this worker and not about the crowd."""
    rng = np.random.default_rng(4)
    item = np.repeat(np.arange(ITEMS), 5)
    worker = np.concatenate([rng.permutation(WORKERS)[:5] for _ in range(ITEMS)])
    label = rng.integers(0, 2, len(item))
    ballots = Ballots.of([*item, ITEMS], [*worker, WORKERS], [*label, 0], items=ITEMS + 1, workers=WORKERS + 1)
    prior = np.tile(MODEL.newcomer(2), (WORKERS + 1, 1))
    prior[-1] = (90.0, 10.0)
    found = MODEL.refit(ballots, ItemContext.plain(ITEMS + 1), prior, prior)
    assert MODEL.accuracy(found.skill)[-1] == pytest.approx(0.9, abs=0.01)
