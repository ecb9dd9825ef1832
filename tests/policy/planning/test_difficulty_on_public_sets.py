"""Difficulty estimated from votes alone, compared with the truth, and a plan made from it, on recorded crowds."""

import numpy as np
import pytest

from app.policy.planning.accuracy_cost import accuracy_cost, statuses
from app.policy.planning.difficulty import Difficulty, DifficultyVotes, estimated
from app.simulation.recorded_crowd import RecordedAnswers
from tests.public_sets import recorded_crowd


def told_by_votes(crowd: RecordedAnswers) -> Difficulty:
    votes = np.zeros((len(crowd.items), len(crowd.labels)), dtype=np.int64)
    np.add.at(votes, (crowd.item, crowd.label), 1)
    second, first = np.sort(votes, axis=1)[:, -2:].T
    return estimated(DifficultyVotes.of(first, second))


def share_of_right_answers(crowd: RecordedAnswers) -> float:
    known = crowd.truth[crowd.item] >= 0
    return float((crowd.label == crowd.truth[crowd.item])[known].mean())


@pytest.mark.parametrize("name", ["rte", "d_possent", "temp"])
def test_votes_tell_how_often_workers_are_right(name):
    """Within two points, without the truth: RTE .727 for .729, D_PosSent .693 for .686, TEMP .749 for .734."""
    crowd = recorded_crowd(name)
    assert told_by_votes(crowd).prior.mean == pytest.approx(share_of_right_answers(crowd), abs=0.02)


def test_traps_cannot_be_seen_in_votes():
    """On bluebirds most workers are wrong on a quarter of the items; the votes look like those of better workers."""
    crowd = recorded_crowd("bluebirds")
    assert share_of_right_answers(crowd) + 0.03 < told_by_votes(crowd).prior.mean


def replayed(crowd: RecordedAnswers, stop, rng) -> tuple[float, float]:
    """Accuracy and answers per item, with each item's answers in random order; a tie counts one half."""
    right, answers = [], []
    for item, truth in enumerate(crowd.truth):
        agree = rng.permutation(crowd.label[crowd.item == item] == truth)
        standing = [(int(agree[:n].sum()), int(n - agree[:n].sum())) for n in range(len(agree) + 1)]
        end = next((at for at in standing if (max(at), min(at)) in stop), standing[-1])
        right.append(0.5 if end[0] == end[1] else end[0] > end[1])
        answers.append(sum(end))
    return float(np.mean(right)), float(np.mean(answers))


@pytest.mark.parametrize("loss", [20.0, 60.0, 300.0])
def test_a_plan_for_rte_holds(loss):
    """A plan made from votes alone, for up to ten answers, predicts accuracy within two points, and its cost."""
    crowd = recorded_crowd("rte")
    prior = told_by_votes(crowd).prior
    curve = accuracy_cost(prior, 10)
    there = statuses(prior, loss, 10)
    rows = zip(there.first.tolist(), there.second.tolist(), there.goes_on.tolist(), strict=True)
    stop = {(first, second) for first, second, goes_on in rows if not goes_on}
    runs = [replayed(crowd, stop, np.random.default_rng(seed)) for seed in range(3)]
    accuracy, answers = np.mean(runs, axis=0)
    point = curve.at_loss(loss)
    assert accuracy == pytest.approx(curve.accuracy[point], abs=0.02)
    assert answers == pytest.approx(curve.answers[point], rel=0.03)
