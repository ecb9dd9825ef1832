"""Low-information workers get no new work, within limits that protect the others."""

import numpy as np
import pytest

from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import Pair, Pull, UpperConfidence


def information_of(accuracy):
    """The information of an answer on a fresh item of two classes: the entropy of order 2.5 that it removes."""

    def entropy(p):
        return 2.5 / 1.5 * (1 - (p**2.5 + (1 - p) ** 2.5) ** 0.4)

    return entropy(0.5) - entropy(accuracy)


SKILLS = np.array([[80.0, 20.0], [10.0, 90.0], [55.0, 45.0], [50.0, 50.0]])  # a hundred answers each; two guess


def test_relative_information_follows_the_formula():
    """The optimism is .5 / sqrt(100); workers who are nearly always wrong give as much information as right ones."""
    price, answers = np.array([1.0, 1.0, 1.0, 0.25]), np.array([30, 10, 40, 20])
    accuracy = SKILLS[:, 0] / 100
    expected_gain, better, worse = (
        np.array([information_of(rate + doubt) for rate in accuracy]) for doubt in (0, 0.05, -0.05)
    )
    expected = np.maximum(better, worse) / price / (answers @ expected_gain / (answers @ price))
    found = Engine(JobPolicy(labels=("a", "b"))).information_of_workers(SKILLS, price, answers)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert found[1] > found[0] > 1 > max(found[2:])


def crowd_with(*rows, others=10):
    """These workers, and ten others who know the answers."""
    return np.array([*rows, *[SKILLS[0]] * others])


@pytest.mark.parametrize(
    "policy", [{}, {"worker_model": {"kind": "one-coin"}}, {"worker_model": {"kind": "confusion"}}]
)
def test_workers_who_guess_are_low_information(policy):
    """Newcomers and workers who are nearly always wrong are not marked; in a small crowd or at share 0, nobody is."""
    engine = Engine(JobPolicy.model_validate({"labels": ["a", "b"], **policy}))
    skill = crowd_with(*SKILLS)
    if policy.get("worker_model") == {"kind": "confusion"}:
        skill = np.stack([skill[:, 0], skill[:, 1], skill[:, 1], skill[:, 0]], axis=1)
    price, answers = np.ones(14), np.full(14, 20)
    assert np.flatnonzero(engine.low_information(skill, price, answers)).tolist() == [2, 3]
    assert not engine.low_information(skill, price, np.full(14, 19)).any()
    assert not engine.low_information(skill[:-3], price[:-3], answers[:-3]).any()
    for choice in (Pull(min_information_share=0), Pair(), UpperConfidence()):
        lenient = Engine(engine.policy.model_copy(update={"worker_choice": choice}))
        assert not lenient.low_information(skill, price, answers).any()


def test_at_most_a_fifth_is_marked_those_with_the_least_information():
    """A group that agrees with itself must not exclude all others; several crowds are judged independently."""
    engine, answers = Engine(JobPolicy(labels=("a", "b"))), np.full(30, 40)
    guessing = np.array([[20.0 + n / 10, 20.0] for n in range(15)])
    skill = np.concatenate([guessing, np.tile(SKILLS[0], (15, 1))])
    assert np.flatnonzero(engine.low_information(skill, np.ones(30), answers)).tolist() == [0, 1, 2, 3, 4, 5]
    both = engine.low_information(np.stack([skill, skill[::-1]]), np.ones(30), np.stack([answers, answers]))
    assert [np.flatnonzero(each).tolist() for each in both] == [[0, 1, 2, 3, 4, 5], [24, 25, 26, 27, 28, 29]]


def test_little_information_for_little_money_is_welcome():
    """A worker who is right with .6 at a fiftieth of the price gives more information per cost than all others."""
    engine, skill = Engine(JobPolicy(labels=("a", "b"))), crowd_with([60.0, 40.0])
    answers = np.full(11, 30)
    assert engine.low_information(skill, np.ones(11), answers)[0]
    assert not engine.low_information(skill, np.array([0.02, *np.ones(10)]), answers).any()
    counted = Engine(JobPolicy.model_validate({"labels": ["a", "b"], "worker_model": {"kind": "anonymous"}}))
    assert not counted.low_information(np.empty((11, 0)), np.ones(11), answers).any()
