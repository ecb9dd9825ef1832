"""A job in memory decides what the engine decides, answer by answer, and keeps the workers' records."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from app.policy.core.belief import ItemContext
from app.policy.core.decision import Decision
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import UpperConfidence
from app.simulation.crowds import Crowd, polynomial_rates, skilled, truths
from app.simulation.memory_job import MemoryJob
from tests.promises.replay import Replay

MODELS = ["anonymous", "tiers", "spam-filter", "weighted", "one-coin", "two-coin", "confusion"]
ITEMS, WORKERS = 7, 9

every_model = pytest.mark.parametrize("model", MODELS)


def policy_of(model="anonymous", **others):
    return JobPolicy.model_validate({"labels": ["a", "b"], "worker_model": {"kind": model}, "max_labels": 8, **others})


def answers_in_turn(seed=1):
    """Every worker answers every item once, in a random order."""
    rng = np.random.default_rng(seed)
    crowd = Crowd(truths(ITEMS, 2, rng), skilled(polynomial_rates(WORKERS, 1, rng), 2))
    item, worker = (each.ravel() for each in np.meshgrid(np.arange(ITEMS), np.arange(WORKERS)))
    order = rng.permutation(len(item))
    item, worker = item[order], worker[order]
    return zip(item.tolist(), worker.tolist(), crowd.answers(item, worker, rng).tolist(), strict=True)


@every_model
def test_it_decides_as_the_replay_of_the_service_does(model):
    """The same verdicts and messages, and the same states, priorities and skills, to the last bit."""
    engine = Engine(policy_of(model))
    rows = [SimpleNamespace(item_id=number, cost=1, open_assignments=0) for number in range(1, ITEMS + 1)]
    replay, job = Replay(engine, rows), MemoryJob(engine, ItemContext.plain(ITEMS), WORKERS)
    for item, worker, label in answers_in_turn():
        told = replay.answer(item + 1, str(worker), label)
        job.take_one(item, worker, label)
        assert job.verdict(item) == told
        assert job.open[item] == (told.decision is Decision.CONTINUE)
        assert job.label[item] == (-1 if told.label is None else told.label)
    for item in range(ITEMS):
        state, expected = job.state(np.array([item])), replay.states[item + 1]
        np.testing.assert_array_equal(state.votes, expected.votes)
        np.testing.assert_array_equal(state.model_state, expected.model_state)
    for worker, skill in replay.skills.items():
        np.testing.assert_array_equal(job.skill[int(worker)], skill)
    assert not job.open.any()


def resumed(engine, context, answers):
    """A job that already has these answers, and three more workers who have not answered yet."""
    job = MemoryJob(engine, context, WORKERS + 3)
    for item, worker, label in list(answers_in_turn())[:answers]:
        if job.open[item]:
            job.take_one(item, worker, label)
    return job


@every_model
def test_answers_taken_together_count_as_one_by_one(model):
    """The answers are on different items and by different workers."""
    engine, context = Engine(policy_of(model)), ItemContext.plain(ITEMS)
    together, apart = resumed(engine, context, 20), resumed(engine, context, 20)
    item = np.flatnonzero(together.open)[:3]
    worker = WORKERS + np.arange(3)
    together.take(item, worker, np.array([0, 1, 0]))
    for one in zip(item.tolist(), worker.tolist(), [0, 1, 0], strict=True):
        apart.take_one(*one)
    np.testing.assert_array_equal(together.open, apart.open)
    np.testing.assert_array_equal(together.label, apart.label)
    np.testing.assert_allclose(together.priority, apart.priority, rtol=1e-9)
    np.testing.assert_allclose(together.skill, apart.skill, rtol=1e-12)


def test_nobody_is_right_by_having_decided_the_item():
    """A vote is scored if the label leads without it. At 2:1, each of the two leaves a tie; only the third counts."""
    job = MemoryJob(Engine(policy_of(requirement={"kind": "count", "labels": 3})), ItemContext.plain(2), workers=3)
    for worker, label in enumerate([0, 0, 1]):
        job.take_one(0, worker, label)
    assert (job.agreed_answers.tolist(), job.scored_answers.tolist()) == ([0, 0, 0], [0, 0, 1])
    for worker in range(3):
        job.take_one(1, worker, 0)
    assert (job.agreed_answers.tolist(), job.scored_answers.tolist()) == ([1, 1, 1], [1, 1, 2])


def test_with_own_votes_all_votes_on_decided_items_count():
    """The paper's t+ / t: at 2:1 two of two workers agree, and the third does not."""
    choice = {"kind": "ucb", "own_votes": True}
    policy = policy_of(requirement={"kind": "count", "labels": 3}, worker_choice=choice)
    job = MemoryJob(Engine(policy), ItemContext.plain(1), workers=3)
    for worker, label in enumerate([0, 0, 1]):
        job.take_one(0, worker, label)
    assert (job.agreed_answers.tolist(), job.scored_answers.tolist()) == ([1, 1, 0], [1, 1, 1])


def test_the_best_worker_has_the_highest_index_and_has_not_answered():
    job = MemoryJob(Engine(policy_of()), ItemContext.plain(1), workers=3)
    job.agreed_answers[:], job.scored_answers[:] = [9, 5, 1], [9, 9, 9]
    assert job.best_worker(0, UpperConfidence()) == 0
    job.take_one(0, 0, 1)
    assert job.best_worker(0, UpperConfidence()) == 1
    job.take_one(0, 1, 0)
    job.take_one(0, 2, 0)
    assert job.best_worker(0, UpperConfidence()) is None


def test_nobody_answers_an_item_twice():
    job = MemoryJob(Engine(policy_of()), ItemContext.plain(2), workers=2)
    job.take_one(0, 1, 0)
    with pytest.raises(ValueError, match="worker 1 has already answered item 0"):
        job.take_one(0, 1, 0)
    with pytest.raises(ValueError, match="on one item"):
        job.take(np.array([1, 1]), np.array([0, 1]), np.array([0, 0]))


def test_what_a_worker_teaches_is_learned_in_turn():
    """Two answers of one worker at once are accepted if votes are only counted, and refused if skill is learned."""
    for model, learns in [("anonymous", False), ("confusion", True)]:
        job = MemoryJob(Engine(policy_of(model)), ItemContext.plain(2), workers=1)
        both = np.array([0, 1]), np.array([0, 0]), np.array([0, 1])
        if learns:
            with pytest.raises(ValueError, match="of one worker"):
                job.take(*both)
        else:
            job.take(*both)
        assert len(job.answered[0]) == (0 if learns else 2)


def test_money():
    """An answer costs the item's cost times the worker's price. Items beyond the budget are not offered."""
    context = replace(ItemContext.plain(3), cost=np.array([1.0, 2.0, 4.0]))
    job = MemoryJob(Engine(policy_of(), budget=5.0), context, workers=2, price=np.array([1.0, 3.0]))
    assert job.open_to(1).tolist() == [0]
    job.take_one(0, 1, 0)
    assert job.spent == 3.0
    assert job.open_to(0).tolist() == [0, 1]
    job.take_one(1, 0, 0)
    assert job.open_to(0).tolist() == []


def test_an_item_that_is_closed_keeps_its_verdict():
    job = MemoryJob(Engine(policy_of(requirement={"kind": "count", "labels": 1})), ItemContext.plain(1), workers=4)
    job.take_one(0, 0, 1)
    told = job.verdict(0)
    for worker in (1, 2, 3):
        job.take_one(0, worker, 0)
    assert (job.verdict(0), job.label.tolist(), job.open.tolist()) == (told, [1], [False])
    assert job.state(np.array([0])).votes.tolist() == [[3, 1]]
