"""Synthetic crowds answer with the given rates, and recorded crowds give the recorded answers."""

import gzip

import numpy as np
import pytest

from app.simulation.crowds import Crowd, constant, guessers, harder, liars, polynomial_rates, skilled, truths
from app.simulation.recorded_crowd import UNKNOWN, read_crowd

MANY = 20_000


def rate_of(habits, *, classes, grade=None):
    """How often the one worker is right, and how often each label is given."""
    rng = np.random.default_rng(3)
    crowd = Crowd(truths(MANY, classes, rng), habits, grade)
    given = crowd.answers(np.arange(MANY), np.zeros(MANY, dtype=int), rng)
    return np.mean(given == crowd.truth), np.bincount(given, minlength=classes) / MANY


@pytest.mark.parametrize("classes", [2, 5])
def test_every_sort_of_worker_is_right_as_often_as_stated(classes):
    assert rate_of(skilled([0.8], classes), classes=classes)[0] == pytest.approx(0.8, abs=0.01)
    assert rate_of(guessers(1, classes), classes=classes)[0] == pytest.approx(1 / classes, abs=0.01)
    assert rate_of(liars([0.9], classes), classes=classes)[0] == pytest.approx(0.1, abs=0.01)
    assert rate_of(constant([1], classes), classes=classes)[1].tolist() == [0, 1, *[0] * (classes - 2)]


def test_hard_items_are_guessed_more_often():
    """At difficulty 1 nobody knows anything; each grade has its own rate."""
    grade = np.arange(MANY) % 2
    right, _ = rate_of(harder(skilled([0.9], 3), [0.0, 1.0]), classes=3, grade=grade)
    assert right == pytest.approx((0.9 + 1 / 3) / 2, abs=0.01)


def test_sorts_of_workers_are_joined():
    habits = np.concatenate([skilled([1.0], 3), liars([1.0], 3), constant([2], 3)])
    crowd = Crowd(np.zeros(100, dtype=int), habits)
    assert crowd.workers == 3
    for worker, possible in enumerate([{0}, {1, 2}, {2}]):
        given = crowd.answers(np.arange(100), np.full(100, worker), np.random.default_rng(1))
        assert set(given.tolist()) == possible


def test_the_same_seed_draws_the_same_crowd():
    def drawn():
        rng = np.random.default_rng(7)
        crowd = Crowd(truths(50, 3, rng), skilled(polynomial_rates(9, 2, rng), 3))
        return crowd.answers(np.arange(50), np.arange(50) % 9, rng).tolist()

    assert drawn() == drawn()


def test_a_crowd_is_read_from_files(tmp_path):
    """Files may be compressed. The first of two answers counts. Items without answers are left out."""
    answers = "item,worker,label\nb,w1,no\na,w2,yes\nb,w1,yes\na,w1,no\n"
    (tmp_path / "answers.csv.gz").write_bytes(gzip.compress(answers.encode()))
    (tmp_path / "truth.csv").write_text("item,truth\nb,no\nc,yes\n")
    crowd = read_crowd(tmp_path)
    assert (crowd.items, crowd.workers, crowd.labels) == (("a", "b"), ("w1", "w2"), ("no", "yes"))
    assert crowd.given == {(1, 0): 0, (0, 1): 1, (0, 0): 0}
    assert crowd.truth.tolist() == [UNKNOWN, 0]
    assert crowd.accuracy(np.array([[0.2, 0.8], [0.5, 0.5]])) == 0.5
