"""Forecast how a running job will end, from a sample of its items and their answers."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.answer import CountedVote
from app.domain.item import ItemRow, ItemState
from app.domain.job import Job
from app.domain.operation import Operation
from app.domain.worker import Worker
from app.errors import AnswerKindWrong, JobUnknown
from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, State
from app.policy.engine import Engine
from app.simulation.job_forecast import (
    INTERVAL_PROBABILITY,
    THOROUGH,
    Forecast,
    JobTotals,
    bounded_by_answers,
    bounded_by_workers,
    forecast_in,
    forecast_to_finish,
    most_labels,
    possible_worlds,
    sizes,
    width_of,
)
from app.simulation.monte_carlo import JobSnapshot
from app.store.answers import votes_on_items_since
from app.store.connection import is_lost
from app.store.end_of_money import with_end_of_money
from app.store.item_decisions import item_rows_of
from app.store.job_history import stated_rows, use_one_snapshot
from app.store.jobs import load_job, lock_job, save_forecast
from app.store.operations import first_unfinished, jobs_to_forecast, needs_forecast
from app.store.workers import load_workers
from app.use_cases.clock import Clock
from app.use_cases.operations.operation_lifecycle import (
    Outcome,
    Report,
    carry_out,
    request_operation,
    retry_lost_work,
)
from app.use_cases.operations.worker_process import WorkerProcess
from app.use_cases.work.judging import ItemFacts, context_of
from app.use_cases.workers.skills import credited_rows, skill_rows, with_tiers

FORECAST = "forecast"
_READ, _SAMPLED = 0.1, 0.6  # the progress when the sample of items is read, and when possible truths are sampled


@dataclass(frozen=True)
class ForecastHandler:
    """Makes forecasts in the background: requested ones, as operations, and those that are due."""

    clock: Clock
    process: WorkerProcess
    failed_at: dict[UUID, int] = field(default_factory=dict)  # answers at which a forecast failed: not tried again

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_to_forecast(connection)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with connection.begin():
            job = await load_job(connection, job_id)
            operation = await first_unfinished(connection, job_id, FORECAST)
            is_due = operation is None and await needs_forecast(connection, job_id)

        async def work(report: Report) -> Outcome:
            return await self._forecast(connection, job_id, report)

        if operation is not None:
            if await carry_out(connection, job_id, operation, work, self.clock) == "failed":
                self.failed_at[job_id] = job.answers
            return True
        if not is_due or self.failed_at.get(job_id) == job.answers:
            return False
        try:
            await retry_lost_work(lambda: work(_report_nothing))
        except Exception as error:
            if not is_lost(error) and not isinstance(error, JobUnknown):
                self.failed_at[job_id] = job.answers
            raise
        return False

    async def _forecast(self, connection: AsyncConnection, job_id: UUID, report: Report) -> Outcome:
        """Make a forecast and store it with the job. The curve is only in the operation's outcome."""
        made = await forecast_job(connection, self.process, job_id, report)
        if made is None:
            return {"items": 0}
        summary = _summary(made, self.clock())
        async with connection.begin():
            latest = await lock_job(connection, job_id)
            if _is_still_about(made, latest):
                await save_forecast(connection, job_id, summary)
        return summary | {"curve": [asdict(point) for point in made.forecast.curve]}


def _is_still_about(made: "MadeForecast", latest: Job) -> bool:
    """Whether neither the job's settings nor its items' costs have changed since, and no newer forecast is there."""
    before, newest = made.job, 0 if latest.forecast is None else latest.forecast["at_answers"]
    same = (before.policy, before.budget, before.inverse_costs) == (latest.policy, latest.budget, latest.inverse_costs)
    return same and newest <= before.answers


async def request_forecast(database: AsyncEngine, job_id: UUID, now: datetime) -> Operation:
    """Request a forecast; if one is already waiting, return that one. Simulated crowds give one label per answer."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
    if not job.policy.answer.is_one_label:
        raise AnswerKindWrong(
            f"There is no forecast for this job: an answer is {job.policy.answer.takes_words}. Forecasts simulate "
            "answers that are one label."
        )
    return await request_operation(database, job_id, FORECAST, now)


async def _report_nothing(progress: float) -> None:
    """Ignore the progress: a forecast that nobody requested has no operation that could show it."""


@dataclass(frozen=True)
class JobSample:
    """A job at one moment, with all of its items or a sample."""

    engine: Engine
    context: ItemContext
    snapshot: JobSnapshot
    totals: JobTotals
    runs: int
    seed: int
    job: Job


@dataclass(frozen=True)
class MadeForecast:
    """A forecast, and the job as it was when its items were read."""

    forecast: Forecast
    job: Job


async def forecast_job(
    connection: AsyncConnection, process: WorkerProcess, job_id: UUID, report: Report
) -> MadeForecast | None:
    """Make a forecast; None for a job without items. Of a job whose money is spent, it says what finishing costs."""
    async with connection.begin():
        await use_one_snapshot(connection)
        sample = await _read(connection, job_id)
    if sample is None:
        return None
    await report(_READ)
    worlds = await process.run_in_process(possible_worlds, sample.context, sample.snapshot, sample.runs, sample.seed)
    await report(_SAMPLED)
    simulate = forecast_to_finish if sample.job.out_of_money else forecast_in
    found = await process.run_in_process(
        simulate, worlds, sample.engine, sample.context, sample.snapshot, sample.totals, sample.seed
    )
    return MadeForecast(found, sample.job)


def _summary(made: MadeForecast, made_at: datetime) -> Outcome:
    forecast = made.forecast
    return {
        "made_at": made_at.isoformat(),
        "at_answers": made.job.answers,
        "interval_probability": INTERVAL_PROBABILITY,
        "items": forecast.items,
        "open_items": made.job.open,
        "runs": forecast.runs,
        "simulated_items": forecast.simulated_items,
        "truncated": forecast.truncated,
        "to_finish": None if forecast.to_finish is None else asdict(forecast.to_finish),
        **asdict(forecast.end),
    }


async def _read(connection: AsyncConnection, job_id: UUID) -> JobSample | None:
    job = await with_end_of_money(connection, await load_job(connection, job_id))
    if not job.items:
        return None
    width = width_of(job.engine)
    runs, size = sizes(job.items, THOROUGH, width, most_labels(job.policy))
    drawn, row_of = await _drawn(connection, job, size)
    answers = np.array([round(sum(row_of[item].decision.votes)) for item in drawn.tolist()])
    runs, size = bounded_by_answers(answers, runs)
    votes = await votes_on_items_since(connection, job_id, drawn[:size].tolist(), 0)
    runs, size = bounded_by_workers(_first_seen(drawn[:size].tolist(), votes), runs, width)
    chosen = np.sort(drawn[:size]).tolist()
    kept = set(chosen)
    rows, votes = [row_of[item] for item in chosen], [vote for vote in votes if vote.item_id in kept]
    names = sorted({vote.voter for vote in votes if isinstance(vote.voter, str)})
    workers = await load_workers(connection, job_id, names)
    return JobSample(
        engine=job.engine,
        context=context_of(job.engine, [ItemFacts.of(row) for row in rows]),
        snapshot=_snapshot(job, rows, votes, [(name, workers[name]) for name in names]),
        totals=JobTotals(
            job.items, job.resolved, job.given_up, job.answers, float(job.spent), job.resolved - job.labeled
        ),
        runs=runs,
        seed=job.answers,
        job=job,
    )


async def _drawn(connection: AsyncConnection, job: Job, size: int) -> tuple[IntArray, dict[int, ItemRow]]:
    """Draw this many items of the job at random; numbers of deleted items are passed over."""
    order = np.random.default_rng([job.policy.seed, job.answers]).permutation(job.last_item) + 1
    chosen: list[int] = []
    row_of: dict[int, ItemRow] = {}
    for start in range(0, len(order), size):
        numbers = order[start : start + size].tolist()
        rows = {row.item_id: row for row in await item_rows_of(connection, job.job_id, numbers)}
        row_of |= rows
        chosen += [number for number in numbers if number in rows]
        if len(chosen) >= size:
            break
    return np.array(chosen[:size]), row_of


def _first_seen(items: Sequence[int], votes: Sequence[CountedVote]) -> IntArray:
    """Count, for each item in order, its workers who answered no earlier item; each unnamed worker is new."""
    who: dict[int, list[str | None]] = {item: [] for item in items}
    for vote in votes:
        who[vote.item_id].append(vote.voter if isinstance(vote.voter, str) else None)
    seen: set[str] = set()
    counts = []
    for item in items:
        named = {worker for worker in who[item] if worker is not None}
        counts.append(len(named - seen) + who[item].count(None))
        seen |= named
    return np.array(counts)


def _snapshot(
    job: Job, rows: Sequence[ItemRow], votes: Sequence[CountedVote], workers: Sequence[tuple[str, Worker]]
) -> JobSnapshot:
    labels = [row.decision.label for row in rows]
    alone = [vote.voter for vote in votes if not isinstance(vote.voter, str)]
    unnamed = len(alone)
    stated = stated_rows([(worker.stated_accuracy, worker.stated_weight) for _, worker in workers])
    carried = [worker.carried for _, worker in workers]
    tiers = {len(workers) + row: voter.tier for row, voter in enumerate(alone) if voter is not None}
    prior = with_tiers(job.engine, credited_rows(job.engine, carried, stated, len(workers) + unnamed), tiers)
    return JobSnapshot(
        answers=_ballots(job, rows, votes, [name for name, _ in workers], unnamed),
        state=_state(rows),
        label=np.array([NOBODY if label is None else label for label in labels]),
        closed=np.array([row.decision.state is not ItemState.OPEN for row in rows]),
        skill=skill_rows(job.engine, [worker.skill for _, worker in workers], len(prior), prior),
        prior=prior,
        price=np.array([float(worker.price) for _, worker in workers] + [1.0] * unnamed),
        excluded=np.array([not worker.gets_work for _, worker in workers] + [False] * unnamed, dtype=bool),
        given=job.answers,
        refit_at=job.refit_at,
    )


def _ballots(
    job: Job, rows: Sequence[ItemRow], votes: Sequence[CountedVote], names: Sequence[str], unnamed: int
) -> Ballots:
    """Collect the votes. Each unnamed answer counts as a separate worker: they may come from different people."""
    item_of = {row.item_id: number for number, row in enumerate(rows)}
    worker_of = {name: number for number, name in enumerate(names)}
    unnamed_workers = iter(range(len(names), len(names) + unnamed))
    return Ballots.of(
        [item_of[vote.item_id] for vote in votes],
        [worker_of[vote.voter] if isinstance(vote.voter, str) else next(unnamed_workers) for vote in votes],
        [int(vote.said) for vote in votes],
        items=len(rows),
        workers=len(names) + unnamed,
        classes=len(job.policy.labels),
        gold=_gold(rows),
    )


def _gold(rows: Sequence[ItemRow]) -> IntArray:
    """Return the gold labels of the requester; gold that the crowd made is not certain."""
    return np.array([NOBODY if row.gold is None or row.promoted else row.gold for row in rows])


def _state(rows: Sequence[ItemRow]) -> State:
    """Return the state of all items; shorter model states are padded with NaN."""
    width = max(len(row.decision.model_state) for row in rows)
    model_state: Array = np.full((len(rows), width), np.nan)
    for number, row in enumerate(rows):
        model_state[number, : len(row.decision.model_state)] = row.decision.model_state
    return State(np.array([row.decision.votes for row in rows], dtype=np.float64), model_state)
