"""Decide a stream of items one after the other, as when a crowd makes gold, and measure cost and error."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.policy.core.belief import NOBODY
from app.policy.worker_choice import UpperConfidence
from app.simulation.crowds import Crowd
from app.simulation.memory_job import MemoryJob

Choose = Callable[[int], int]  # the worker to ask about this item


@dataclass(frozen=True)
class StreamOutcome:
    """Cost and error of a stream, per item."""

    cost: float
    error: float  # share of wrong labels; an item without a label counts as a guess


def stream(job: MemoryJob, crowd: Crowd, choose: Choose, rng: np.random.Generator) -> StreamOutcome:
    """Ask about each item in turn, until it is closed (Abraham et al., SIGIR 2016, section 7)."""
    for item in range(crowd.items):
        one = np.array([item])
        while job.open[item]:
            worker = np.array([choose(item)])
            job.take(one, worker, crowd.answers(one, worker, rng))
    return outcome(job, crowd)


def side_by_side(job: MemoryJob, crowd: Crowd, rng: np.random.Generator) -> StreamOutcome:
    """Ask a random worker who has not answered it about each open item, all items at once, until all are closed.

    This equals a stream with random workers if votes do not change skills, and is many times faster.
    """
    order = rng.permuted(np.tile(np.arange(crowd.workers), (crowd.items, 1)), axis=1)  # (items, rounds)
    for turn in range(crowd.workers):
        item = np.flatnonzero(job.open)
        if not len(item):
            break
        worker = order[item, turn]
        job.take(item, worker, crowd.answers(item, worker, rng))
    return outcome(job, crowd)


def outcome(job: MemoryJob, crowd: Crowd) -> StreamOutcome:
    """What the job has spent per item, and the share of its labels that are wrong."""
    guess = 1 - 1 / crowd.classes
    error = np.where(job.label == NOBODY, guess, job.label != crowd.truth)
    return StreamOutcome(job.spent / crowd.items, float(error.mean()))


def by_index(job: MemoryJob) -> Choose:
    """Choose the worker with the highest upper confidence index."""
    ucb = UpperConfidence()

    def choose(item: int) -> int:
        worker = job.best_worker(item, ucb)
        if worker is None:
            raise _all_have_answered(item)
        return worker

    return choose


def at_random(job: MemoryJob, rng: np.random.Generator) -> Choose:
    """Choose a random worker who has not answered the item."""

    def choose(item: int) -> int:
        asked = {ballot.worker for ballot in job.ballots[item]}
        if len(asked) == len(job.number):
            raise _all_have_answered(item)
        while (worker := int(rng.integers(len(job.number)))) in asked:
            pass
        return worker

    return choose


def _all_have_answered(item: int) -> ValueError:
    return ValueError(
        f"all workers have answered item {item}, and it is still open: add workers or lower the requirement"
    )
