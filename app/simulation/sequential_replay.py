"""Replay a job run after run: where finished items matter (spammers, gold, some worker models), or features."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from app.policy.core.belief import NOBODY, ItemContext
from app.policy.job_policy import JobPolicy
from app.simulation.named_policies import Workers
from app.simulation.recorded_crowd import UNKNOWN, RecordedAnswers, RecordedCrowd, Truths, known_truths
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
    gold: int = 0,
) -> list[Scores]:
    """The scores of the runs after each of these numbers of answers, which must rise; gold items are not scored."""
    found = []
    for run in range(runs):
        known = drawn_gold(crowd, gold, run)
        simulated = recorded_job(crowd, policy, run, budget=float(budgets[-1]), gold=known)
        answers = ask_until_done(simulated, crowd, run, workers, order)
        others = (
            crowd
            if known is None
            else replace(crowd, truth=np.where(known_truths(known), _nothing(crowd), crowd.truth))
        )
        states = _states_at(simulated, answers, budgets, progress)
        found.append([Scores.of(others, [_without_gold(state, known)]) for state in states])
    return [Scores.joined(at_budget) for at_budget in zip(*found, strict=True)]


def drawn_gold(crowd: RecordedAnswers, gold: int, run: int) -> Truths | None:
    """The truth of this many random items of known truth, not known for all others, shape (items,); None for none."""
    if not gold:
        return None
    known = np.flatnonzero(crowd.known)
    drawn = np.random.default_rng((run, gold)).choice(known, gold, replace=False)
    return np.where(np.isin(np.arange(len(crowd.items)), drawn), crowd.truth, _nothing(crowd))


def _nothing(crowd: RecordedAnswers) -> float:
    """What stands for a truth that is not known."""
    return np.nan if crowd.truth.dtype.kind == "f" else UNKNOWN


def _without_gold(state: RunState, gold: Truths | None) -> RunState:
    """The run as if no gold item were resolved: their labels were given, not found."""
    return state if gold is None else state._replace(label=np.where(known_truths(gold), NOBODY, state.label))


def recorded_job(
    crowd: RecordedAnswers, policy: JobPolicy, run: int, budget: float | None = None, gold: Truths | None = None
) -> SimulatedJob:
    """The simulated job of one run, with the random numbers that `RecordedRuns` gives to that run."""
    items, workers = len(crowd.items), len(crowd.workers)
    plain = ItemContext.plain(items)
    context = replace(plain, number=plain.number + run * items, seed=policy.seed)
    if gold is not None:
        context = policy.answer.with_gold(context, gold)
    unrecorded = np.ones((workers, items), dtype=bool)
    unrecorded[crowd.worker, crowd.item] = False
    rng = np.random.default_rng(run)
    simulated = SimulatedJob(
        policy, RecordedCrowd(crowd), rng, context=context, budget=budget, shortlist=None, features=crowd.features
    )
    simulated.rule_out(unrecorded)
    simulated.job.number[:workers] = crowd.numbers ^ run
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
            simulated.policy, job.state(every).votes, job.label, job.belief, simulated.ballots, job.context.prior
        )
        yield RunState(job.answers, job.label.copy(), scores)
