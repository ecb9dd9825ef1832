"""Decide items one after the other, as gold is made from a stream: what it costs, and how often it errs."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from app.lab.crowd import Crowd
from app.lab.job import Job
from app.policy.shares import NOBODY
from app.policy.worker_choice import UpperConfidence

Choose = Callable[[int], int]  # the worker to ask about this item


@dataclass(frozen=True)
class Outcome:
    """What a stream came to, per item."""

    cost: float
    error: float  # the share of wrong labels; an item without a label errs as a guess between all classes does


def stream(job: Job, crowd: Crowd, choose: Choose, rng: np.random.Generator) -> Outcome:
    """Ask about each item in turn, until it is closed (Abraham et al., SIGIR 2016, section 7)."""
    for item in range(crowd.items):
        one = np.array([item])
        while job.open[item]:
            worker = np.array([choose(item)])
            job.take(one, worker, crowd.answers(one, worker, rng))
    return outcome(job, crowd)


def side_by_side(job: Job, crowd: Crowd, rng: np.random.Generator) -> Outcome:
    """Ask about all open items at once, each a random worker who has not answered it, until all are closed.

    The same as a stream with random workers where votes teach nothing about workers, and many times faster.
    """
    order = rng.permuted(np.tile(np.arange(crowd.workers), (crowd.items, 1)), axis=1)  # (items, rounds)
    for turn in range(crowd.workers):
        item = np.flatnonzero(job.open)
        if not len(item):
            break
        worker = order[item, turn]
        job.take(item, worker, crowd.answers(item, worker, rng))
    return outcome(job, crowd)


def outcome(job: Job, crowd: Crowd) -> Outcome:
    """What the job has spent per item, and how often its labels are wrong."""
    guess = 1 - 1 / crowd.classes
    error = np.where(job.label == NOBODY, guess, job.label != crowd.truth)
    return Outcome(job.spent / crowd.items, float(error.mean()))


def by_index(job: Job) -> Choose:
    """The worker with the best record."""
    ucb = UpperConfidence()

    def choose(item: int) -> int:
        worker = job.best_worker(item, ucb)
        if worker is None:
            raise _all_have_answered(item)
        return worker

    return choose


def at_random(job: Job, rng: np.random.Generator) -> Choose:
    """Any worker who has not answered the item."""

    def choose(item: int) -> int:
        asked = {ballot.worker for ballot in job.ballots[item]}
        if len(asked) == len(job.number):
            raise _all_have_answered(item)
        while (worker := int(rng.integers(len(job.number)))) in asked:
            pass
        return worker

    return choose


def _all_have_answered(item: int) -> ValueError:
    return ValueError(f"all workers have answered item {item}, and it is still open")
