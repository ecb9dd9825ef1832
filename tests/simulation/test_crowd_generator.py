"""Generated crowds behave as their recipe says."""

import numpy as np
import pytest

from app.simulation.crowd_generator import Distribution, Recipe, generate_answers, generate_graded_answers
from app.simulation.graded_crowd import error_rates

SURE = Distribution("fixed", 1.0)


def drawn(seed=1, **recipe):
    return generate_answers(Recipe(**recipe), np.random.default_rng(seed))


def right(crowd):
    """Whether each answer is right."""
    return crowd.label == crowd.truth[crowd.item]


def by_worker(crowd):
    return np.bincount(crowd.worker, right(crowd)) / np.bincount(crowd.worker)


def test_everybody_answers_everything_once_unless_told_otherwise():
    crowd = drawn(items=40, workers=12)
    assert len(crowd.given) == len(crowd.label) == 480
    assert np.bincount(drawn(items=40, workers=12, answers_per_item=5).item).tolist() == [5] * 40


def test_workers_are_right_at_their_rate_and_err_towards_all_classes_alike():
    crowd = drawn(items=20_000, workers=4, classes=3, skill=Distribution("fixed", 0.7))
    assert by_worker(crowd) == pytest.approx([0.7] * 4, abs=0.02)
    wrong = (crowd.label - crowd.truth[crowd.item])[~right(crowd)] % 3
    assert np.bincount(wrong)[1:] / len(wrong) == pytest.approx([0.5, 0.5], abs=0.02)


def test_difficulty_that_is_even_is_the_uniform_theta_of_chen_et_al():
    """A perfect worker agrees with the truth with max(theta, 1 - theta): 3/4 on average, variance 1/48."""
    crowd = drawn(items=2000, workers=400, skill=SURE, difficulty=Distribution("uniform", 0, 1))
    by_item = np.bincount(crowd.item, right(crowd)) / 400
    assert by_item.mean() == pytest.approx(0.75, abs=0.01)
    assert by_item.var() == pytest.approx(1 / 48, abs=0.002)


def test_skills_have_the_distribution_that_was_asked_for():
    """The rates of Beta(8, 2) have the mean 4/5 and the variance 4/275."""
    rates = by_worker(drawn(items=2000, workers=1000))
    assert rates.mean() == pytest.approx(0.8, abs=0.02)
    assert rates.var() == pytest.approx(4 / 275, abs=0.002)


def test_so_many_of_each_sort_as_their_share_says():
    """Honest workers are always right here, spammers half the time, liars never, drifters in 3 of 4 answers."""
    shares = {"spammers": 0.2, "liars": 0.1, "drifters": 0.3, "copiers": 0.1}
    crowd = drawn(items=3000, workers=20, skill=SURE, source_error=0.2, **shares)
    found = np.round(by_worker(crowd) * 20) / 20
    assert sorted(found.tolist()) == [0.0] * 2 + [0.5] * 4 + [0.75] * 6 + [0.8] * 2 + [1.0] * 6


def test_drifters_begin_well_and_end_guessing():
    crowd = drawn(items=8000, workers=5, skill=SURE, drifters=1.0)
    for worker in range(5):
        answers = right(crowd)[crowd.worker == worker]
        assert answers[:800].mean() > 0.95
        assert answers[-800:].mean() == pytest.approx(0.5, abs=0.08)


def test_copiers_all_say_the_same():
    crowd = drawn(items=500, workers=6, copiers=1.0, classes=3)
    said = np.zeros((500, 6), dtype=int)
    said[crowd.item, crowd.worker] = crowd.label
    assert (said == said[:, :1]).all()
    assert right(crowd).mean() == pytest.approx(0.6, abs=0.05)


def test_classes_are_as_common_as_they_weigh():
    truth = drawn(items=20_000, workers=1, classes=3, class_weights=(8, 1, 1)).truth
    assert np.bincount(truth) / 20_000 == pytest.approx([0.8, 0.1, 0.1], abs=0.01)


def test_graded_crowds_err_as_the_table_says():
    crowd = generate_graded_answers(9 * 400, 11, None, np.random.default_rng(1))
    errors = np.zeros((9, 9))
    np.add.at(errors, (crowd.worker // 11, crowd.item % 9), ~right(crowd))
    np.testing.assert_allclose(errors / (400 * 11), error_rates(), atol=0.03)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        ({"spammers": 0.6, "liars": 0.5}, "must sum to at most 1"),
        ({"classes": 3, "class_weights": (1, 1)}, "3 classes need 3 class weights, not 2"),
        ({"workers": 3, "answers_per_item": 4}, "4 answers per item need at least as many workers, not 3"),
        ({"items": 10**6, "workers": 10**4}, "exceed 50,000,000 pairs"),
    ],
)
def test_recipes_that_cannot_be_are_refused(recipe, said):
    with pytest.raises(ValueError, match=said):
        Recipe(**recipe)
