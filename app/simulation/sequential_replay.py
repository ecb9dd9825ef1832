"""Replay a job run after run, where finished items matter: spammers, gold, and models that score workers by them."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from app.policy.core.belief import ItemContext
from app.policy.job_policy import JobPolicy
from app.simulation.named_policies import Workers
from app.simulation.recorded_crowd import RecordedAnswers, RecordedCrowd
from app.simulation.scores import RunState, Scores, final_scores
from app.simulation.selection import Order, order_of_arrival
from app.simulation.simulated_job import SimulatedJob, choices


def replay_sequentially(
    crowd: RecordedAnswers,
    policy: JobPolicy,
    budgets: Sequence[int],
    *,
    runs: int,
    workers: Workers,
    order: Order,
    progress: Callable[[int], None],
) -> list[Scores]:
    """The scores of the runs after each of these numbers of answers, which must rise."""
    found = []
    for run in range(runs):
        simulated = recorded_job(crowd, policy, run, budget=float(budgets[-1]))
        answers = ask_until_done(simulated, crowd, run, workers, order)
        found.append(list(_states_at(simulated, answers, budgets, progress)))
    return [Scores.of(crowd, at_budget) for at_budget in zip(*found, strict=True)]


def recorded_job(crowd: RecordedAnswers, policy: JobPolicy, run: int, budget: float | None = None) -> SimulatedJob:
    """The simulated job of one run, with the random numbers that `RecordedRuns` gives to that run."""
    items, workers = len(crowd.items), len(crowd.workers)
    plain = ItemContext.plain(items)
    context = ItemContext(plain.cost, plain.open_assignments, plain.number + run * items, seed=policy.seed)
    unrecorded = np.ones((workers, items), dtype=bool)
    unrecorded[crowd.worker, crowd.item] = False
    rng = np.random.default_rng(run)
    simulated = SimulatedJob(policy, RecordedCrowd(crowd), rng, context=context, budget=budget, shortlist=None)
    simulated.rule_out(unrecorded)
    simulated.job.number = crowd.numbers ^ run
    return simulated


def ask_until_done(
    simulated: SimulatedJob, crowd: RecordedAnswers, run: int, workers: Workers, order: Order
) -> Iterator[int]:
    """Ask until nothing is left to ask; yields the number of answers after each."""
    return choices(simulated) if workers == "choose" else _ask_by_item(simulated, crowd, run, order)


def _ask_by_item(simulated: SimulatedJob, crowd: RecordedAnswers, run: int, order: Order) -> Iterator[int]:
    """Ask about the first item of the queue that has an unused answer of a worker who may be asked."""
    ends = np.cumsum(np.bincount(crowd.item, minlength=len(crowd.items)))
    arrival = np.split(crowd.worker[order_of_arrival(crowd, run + 1, order)[run]], ends[:-1])
    job = simulated.job
    while True:
        queue = job.shortlist(np.flatnonzero(job.open), len(job.open)).tolist()
        candidates = ((item, simulated.may_answer(item, arrival[item])) for item in queue)
        first = next(((item, int(who[0])) for item, who in candidates if len(who)), None)
        if first is None:
            return
        simulated.ask(*first)
        yield job.answers


def _states_at(
    simulated: SimulatedJob, answers: Iterator[int], budgets: Sequence[int], progress: Callable[[int], None]
) -> Iterator[RunState]:
    """The run at each budget."""
    job = simulated.job
    for budget in budgets:
        while job.answers < budget and next(answers, None) is not None:
            progress(1)
        every = np.arange(len(job.open))
        scores = final_scores(
            simulated.policy.aggregation, job.state(every).votes, job.label, job.posterior, simulated.ballots
        )
        yield RunState(job.answers, job.label.copy(), scores)
