"""The upper confidence bound equals the paper's, and finds the good workers."""

import numpy as np

from app.policy.worker_choice import UpperConfidence


def record(*pairs):
    """Agreed and scored answers of each worker."""
    return np.array(pairs, dtype=float).T


def test_the_index_is_the_papers():
    """t+/t + 1/sqrt(t), 2 for a new worker."""
    assert UpperConfidence().index(*record((0, 0), (1, 1), (8, 16), (0, 4))).tolist() == [2.0, 2.0, 0.75, 0.5]


def test_the_highest_index_is_asked():
    """Three of four (1.25) comes before 80 of 100 (0.9), because little is known about the first worker."""
    assert UpperConfidence().choose(*record((80, 100), (3, 4), (1, 4)), np.arange(3), seed=1) == 1


def test_a_new_worker_and_one_of_one_share_the_first_place():
    """Ties are broken by the seed: each is asked under some seed, and the same seed gives the same worker."""
    choose = UpperConfidence().choose
    drawn = [choose(*record((0, 0), (1, 1), (5, 9)), np.arange(3), seed=seed) for seed in range(40)]
    assert set(drawn) == {0, 1}
    assert 8 <= sum(drawn) <= 32
    assert drawn == [choose(*record((0, 0), (1, 1), (5, 9)), np.arange(3), seed=seed) for seed in range(40)]


def test_the_index_finds_the_good_workers():
    """Twenty workers, a quarter good: after 800 answers the good ones have given most of them."""
    rng, accuracy = np.random.default_rng(3), np.repeat([0.95, 0.6], [5, 15])
    agreed_answers, scored_answers = np.zeros(20), np.zeros(20)
    for _ in range(800):
        worker = UpperConfidence().choose(agreed_answers, scored_answers, np.arange(20), seed=2)
        scored_answers[worker] += 1
        agreed_answers[worker] += rng.random() < accuracy[worker]
    assert scored_answers[:5].sum() > 0.6 * 800
