"""Measure what is lost if only the first S items of the queue are ranked by the worker's own skill.

The queue has the order for a new worker. A job runs as in the service: workers arrive at random, twenty at a time, and
each gets an item from the head of the queue, the one with the highest priority by the worker's own skill. From one
label per item on, it is measured of some of them what the best of the first S is worth, relative to the best of all
open items that the worker has not answered, as long as there are more of these than the longest list. In the recorded
crowd a worker is then asked about an item whose answer is recorded.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import numpy as np

from app.policy.core.belief import Array, IntArray, ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.simulation.crowds import Crowd, constant, guessers, liars, polynomial_rates, skilled, truths
from app.simulation.memory_job import MemoryJob
from app.simulation.recorded_crowd import RecordedAnswers, read_crowd

SETS = Path(__file__).resolve().parents[2] / "shared" / "data"
LENGTHS = (1, 4, 8, 16, 32, 64)
AT_ONCE, MEASURED, HEAD, LABELS_PER_ITEM = 20, 2, 36, 4
ITEMS, WORKERS = 800, 120
ALLOCATIONS, MODELS = ("information", "opt-kg", "requallo"), ("one-coin", "confusion")


@dataclass(frozen=True)
class Visitors:
    """A crowd whose workers arrive without being chosen."""

    items: int
    workers: int
    labels: tuple[str, ...]
    may_answer: Callable[[int, IntArray], IntArray]  # which of these items the worker can answer
    answers: Callable[[IntArray, IntArray], IntArray]


def synthetic(rng: np.random.Generator) -> Visitors:
    """Mostly skilled workers (the density of rates rises from .5 to 1), and a tenth each of the other sorts."""
    others = WORKERS // 10
    rates = polynomial_rates(WORKERS - 3 * others, 1, rng)
    sorts = [skilled(rates, 2), guessers(others, 2), liars(np.full(others, 0.8), 2), constant(np.arange(others) % 2, 2)]
    crowd = Crowd(truths(ITEMS, 2, rng), np.concatenate(sorts))
    return Visitors(
        ITEMS,
        crowd.workers,
        ("no", "yes"),
        lambda _, items: items,
        lambda item, worker: crowd.answers(item, worker, rng),
    )


def of_the_past(crowd: RecordedAnswers) -> Visitors:
    """Workers of a recorded crowd, who can only repeat their recorded answers."""
    can = np.zeros((len(crowd.workers), len(crowd.items)), dtype=bool)
    can[crowd.worker, crowd.item] = True
    given = crowd.given
    return Visitors(
        len(crowd.items),
        len(crowd.workers),
        crowd.labels,
        lambda worker, items: items[can[worker, items]],
        lambda item, worker: np.array([given[pair] for pair in zip(item.tolist(), worker.tolist(), strict=True)]),
    )


def losses(job: MemoryJob, worker: int) -> Array:
    """What is lost at each length, relative to the best of all, shape (lengths,)."""
    items = job.shortlist(job.open_to(worker), len(job.open))
    value = job.value(items, np.full(len(items), worker))
    best = value.max()
    found = np.array([value[:length].max() for length in LENGTHS])
    return (best - found) / best if best > 0 else np.zeros(len(LENGTHS))


def serve(job: MemoryJob, visitors: Visitors, workers: IntArray) -> None:
    """Everyone gets one item from the head of the queue, and no two the same."""
    heads = [job.shortlist(visitors.may_answer(worker, job.open_to(worker)), HEAD) for worker in workers]
    item, worker = np.concatenate(heads), workers.repeat([len(head) for head in heads])
    if not len(item):
        return
    asked: dict[int, int] = {}
    for pair in np.argsort(-job.value(item, worker), kind="stable"):
        if worker[pair] not in asked.values():
            asked.setdefault(int(item[pair]), int(worker[pair]))
    item, worker = np.array([*asked]), np.array([*asked.values()])
    job.take(item, worker, visitors.answers(item, worker))


def begin(visitors: Visitors, allocation: str, model: str) -> MemoryJob:
    """A job without answers."""
    policy = JobPolicy.model_validate(
        {
            "labels": visitors.labels,
            "requirement": {"kind": "posterior", "min_probability": 0.95},
            "allocation": {"kind": allocation},
            "worker_model": {"kind": model},
            "max_labels": 10,
        }
    )
    return MemoryJob(Engine(policy), ItemContext.plain(visitors.items), visitors.workers)


def measure(job: MemoryJob, visitors: Visitors, rng: np.random.Generator) -> Array:
    """The losses of visits in the course of a job, shape (visits, lengths)."""
    seen = []
    while job.open.sum() > LENGTHS[-1] and job.spent < LABELS_PER_ITEM * visitors.items:
        workers = rng.permutation(visitors.workers)[:AT_ONCE]
        if job.spent >= visitors.items:
            known = [worker for worker in workers if job.answered[worker] and len(job.open_to(worker)) > LENGTHS[-1]]
            seen += [losses(job, worker) for worker in known[:MEASURED]]
        serve(job, visitors, workers)
    return np.array(seen)


def time_to_rank(job: MemoryJob) -> Array:
    """How long the ranking of a list takes, relative to the shortest, shape (lengths,)."""
    taken = []
    for length in LENGTHS:
        items, worker = np.arange(length), np.zeros(length, dtype=int)
        starts = [(perf_counter(), job.value(items, worker), perf_counter()) for _ in range(9)]
        taken.append(min(end - start for start, _, end in starts))
    return np.array(taken) / taken[0]


def main() -> None:
    """Print, for each length, how often the best was not on the list, and what was lost."""
    folder = (Path(sys.argv[1]) if len(sys.argv) > 1 else SETS) / "rte"
    rng = np.random.default_rng(1)
    recorded = {"rte": of_the_past(read_crowd(folder))} if folder.exists() else {}
    crowds = recorded | {"synthetic": synthetic(rng)}
    print(f"{'crowd':10} {'model':10} {'allocation':12} {'S =':>22}" + "".join(f"{length:>8}" for length in LENGTHS))
    for name, visitors in crowds.items():
        for model in MODELS:
            for allocation in ALLOCATIONS:
                job = begin(visitors, allocation, model)
                loss = measure(job, visitors, rng)
                print(f"{name:10} {model:10} {allocation:12} {len(loss)} visits")
                show("best not on the list", (loss > 0).mean(axis=0))
                show("lost in the mean", loss.mean(axis=0))
                show("lost at 95 %", np.quantile(loss, 0.95, axis=0))
                show("lost at most", loss.max(axis=0))
                print(f"{'':34} {'time to rank':>22}" + "".join(f"{ratio:8.2f}" for ratio in time_to_rank(job)))


def show(what: str, shares: Array) -> None:
    """A line of the table."""
    print(f"{'':34} {what:>22}" + "".join(f"{share:8.2%}" for share in shares), flush=True)


if __name__ == "__main__":
    main()
