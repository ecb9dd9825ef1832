"""Register workers with their price and tier, and read what is known about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.worker import (
    UNKNOWN_WORKER,
    Registration,
    Worker,
    WorkerOrder,
    WorkerPosition,
    WorkerRecord,
    WorkerStatus,
)
from app.errors import FieldError, InvalidInput, WorkerUnknown
from app.store.jobs import load_job, lock_job, save_sources
from app.store.worker_pages import find_worker, page_of_workers
from app.store.workers import load_workers, save_registrations
from app.use_cases.work.expected_prices import expect_registered_prices
from app.use_cases.work.rejudging import rejudge_all_opinions
from app.use_cases.workers.skills import Skill, accuracies, estimates, estimates_accuracy, with_statement, wrong_tier

DEFAULT_ACCURACY_WEIGHT = 20.0  # checked answers: as much as twenty gold items would show


@dataclass(frozen=True)
class WorkerEntry:
    """A worker to register; a field that is None stays unchanged."""

    worker: str
    price: Decimal | None = None
    tier: str | None = None
    trusted: bool | None = None
    accuracy: float | None = None
    accuracy_weight: float | None = None
    pointer: str = "#"


@dataclass(frozen=True)
class Profile:
    """A worker as requesters see it."""

    row: WorkerRecord
    skill: Skill | None
    tier: str | None  # None if the job's model has no tiers


@dataclass(frozen=True)
class WorkerPage:
    workers: Sequence[Profile]
    next_after: WorkerPosition | None  # where the next page starts; None on the last page


async def register_workers(database: AsyncEngine, job_id: UUID, entries: Sequence[WorkerEntry], now: datetime) -> int:
    """Set prices, tiers and what is known of accuracies. Returns the number of workers.

    Open assignments keep their cost, and votes their weight until the next refit. If a worker is listed twice, the last
    entry counts.
    """
    async with database.begin() as connection:
        return await _register(connection, await lock_job(connection, job_id), entries, now)


async def change_worker(database: AsyncEngine, job_id: UUID, entry: WorkerEntry, now: datetime) -> Profile:
    """Set the price or the tier of one worker, which also registers the worker."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        await _register(connection, job, [entry], now)
        return await profile_of(connection, job, entry.worker)


async def read_worker(database: AsyncEngine, job_id: UUID, worker: str) -> Profile:
    """Load what is known about one worker."""
    async with database.connect() as connection:
        return await profile_of(connection, await load_job(connection, job_id), worker)


async def list_workers(
    database: AsyncEngine,
    job_id: UUID,
    *,
    order: WorkerOrder,
    status: WorkerStatus | None,
    after: WorkerPosition | None,
    most: int,
) -> WorkerPage:
    """Load a page of workers in this order."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_workers(
            connection,
            job_id,
            order=order,
            skill_by_agreement=not estimates_accuracy(job),
            status=status,
            after=after,
            most=most + 1,
        )
    page, more = found[:most], found[most:]
    return WorkerPage(_profiles(job, [row for row, _ in page]), page[-1][1] if more else None)


async def profile_of(connection: AsyncConnection, job: Job, worker: str) -> Profile:
    """Load what is known about one worker, in the caller's transaction."""
    row = None if "\x00" in worker else await find_worker(connection, job.job_id, worker)
    if row is None:
        raise WorkerUnknown(f"The job has no worker {worker!r}. GET /v1/jobs/{job.job_id}/workers lists its workers.")
    return _profiles(job, [row])[0]


def _profiles(job: Job, rows: Sequence[WorkerRecord]) -> list[Profile]:
    model = job.policy.worker_model
    first = next(iter(model.tier_names), None)  # the tier of new workers
    return [
        Profile(row, skill, None if first is None else row.tier or first)
        for row, skill in zip(rows, estimates(job, rows), strict=True)
    ]


async def _register(connection: AsyncConnection, job: Job, entries: Sequence[WorkerEntry], now: datetime) -> int:
    errors = (wrong(job, entry) for entry in entries for wrong in (_wrong_name, _wrong_tier, _wrong_accuracy))
    if found := [error for error in errors if error is not None]:
        raise InvalidInput.of(found)
    last = {entry.worker: entry for entry in entries}
    stated = [name for name, entry in last.items() if entry.accuracy is not None]
    known = await load_workers(connection, job.job_id, stated)
    sent = {name: _registration(job, entry, known.get(name, UNKNOWN_WORKER)) for name, entry in last.items()}
    await save_registrations(connection, job.job_id, list(sent.values()))
    job = await expect_registered_prices(connection, job, now)
    for place, name in enumerate(job.policy.sources):
        source = sent.get(name)
        if source is not None and source.stated_accuracy is not None and source.skill is not None:
            job = await _believe_source(connection, job, place, tuple(source.skill), now)
    return len(last)


async def _believe_source(
    connection: AsyncConnection, job: Job, place: int, skill: tuple[float, ...], now: datetime
) -> Job:
    """Believe a source of opinions by this skill from now on; items with answers follow at the next refit."""
    source = job.source(place)
    if source.blocked:
        return job
    job = job.with_source(place, replace(source, skill=skill))
    await save_sources(connection, job)
    return await rejudge_all_opinions(connection, job, place, now)


def _wrong_name(job: Job, entry: WorkerEntry) -> FieldError | None:
    """Refuse the name of the feature model, which is no worker that could be asked."""
    if job.policy.features is None or entry.worker != job.policy.features.source:
        return None
    return FieldError(
        f"{entry.pointer}/worker",
        f"{entry.worker!r} is the name of the job's feature model, whose skill is learned. Use another name",
    )


def _wrong_accuracy(job: Job, entry: WorkerEntry) -> FieldError | None:
    """Say why an accuracy cannot be stated: without it, or in a model that keeps no skills, it would have no effect."""
    if entry.accuracy is None:
        alone = entry.accuracy_weight is not None
        return FieldError(f"{entry.pointer}/accuracy_weight", "Must come with `accuracy`") if alone else None
    model = job.policy.worker_model
    if model.stated_skill(entry.accuracy, 1.0, job.policy.classes) is not None:
        return None
    instead = "State the worker's `tier` instead" if model.tier_names else "Leave `accuracy` out"
    return FieldError(
        f"{entry.pointer}/accuracy",
        f"The job's worker_model is {model.kind!r}, which keeps no accuracy of workers. {instead}, or use another "
        "worker_model, such as 'auto'",
    )


def _wrong_tier(job: Job, entry: WorkerEntry) -> FieldError | None:
    return None if entry.tier is None else wrong_tier(job, entry.tier, entry.pointer)


def _registration(job: Job, entry: WorkerEntry, known: Worker) -> Registration:
    tier = entry.tier
    skill = None if tier is None else job.policy.worker_model.skill_of(tier)
    sent = Registration(worker=entry.worker, price=entry.price, tier=tier, trusted=entry.trusted)
    if entry.accuracy is None:
        return replace(sent, skill=None if skill is None else skill.tolist())
    weight = known.stated_weight if entry.accuracy_weight is None else entry.accuracy_weight
    weight = DEFAULT_ACCURACY_WEIGHT if weight is None else weight
    skill = with_statement(job, known, entry.accuracy, weight)
    assert skill is not None  # noqa: S101  `_wrong_accuracy` has refused the others
    return replace(
        sent,
        skill=skill.tolist(),
        accuracy=accuracies(job, [skill])[0],
        stated_accuracy=entry.accuracy,
        stated_weight=weight,
    )
