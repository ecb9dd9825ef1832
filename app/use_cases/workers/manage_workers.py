"""Register workers with their price and tier, and read what is known about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.worker import Registration, WorkerOrder, WorkerPosition, WorkerRecord, WorkerStatus
from app.errors import FieldError, InvalidInput, WorkerUnknown
from app.policy.worker_models import Tiers
from app.store.jobs import load_job, lock_job
from app.store.worker_pages import find_worker, page_of_workers
from app.store.workers import save_registrations
from app.use_cases.workers.skills import Skill, estimates, estimates_accuracy


@dataclass(frozen=True)
class WorkerEntry:
    """A worker to register; a field that is None stays unchanged."""

    worker: str
    price: Decimal | None = None
    tier: str | None = None
    trusted: bool | None = None
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


async def register_workers(database: AsyncEngine, job_id: UUID, entries: Sequence[WorkerEntry]) -> int:
    """Set prices and tiers; open assignments keep their cost, and votes their weight. Returns the number of workers.

    If a worker is listed twice, the last entry counts.
    """
    async with database.begin() as connection:
        return await _register(connection, await lock_job(connection, job_id), entries)


async def change_worker(database: AsyncEngine, job_id: UUID, entry: WorkerEntry) -> Profile:
    """Set the price or the tier of one worker, which also registers the worker."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        await _register(connection, job, [entry])
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
    first = next(iter(model.tiers)) if isinstance(model, Tiers) else None  # the tier of new workers
    return [
        Profile(row, skill, None if first is None else row.tier or first)
        for row, skill in zip(rows, estimates(job, rows), strict=True)
    ]


async def _register(connection: AsyncConnection, job: Job, entries: Sequence[WorkerEntry]) -> int:
    wrong = [error for entry in entries if (error := _wrong_tier(job, entry)) is not None]
    if wrong:
        raise InvalidInput.of(wrong)
    last = {entry.worker: _registration(job, entry) for entry in entries}
    await save_registrations(connection, job.job_id, list(last.values()))
    return len(last)


def _wrong_tier(job: Job, entry: WorkerEntry) -> FieldError | None:
    model = job.policy.worker_model
    if entry.tier is None or (isinstance(model, Tiers) and entry.tier in model.tiers):
        return None
    if not isinstance(model, Tiers):
        return FieldError(
            f"{entry.pointer}/tier", f"The job's worker_model is {model.kind!r}, which has no tiers. Leave `tier` out"
        )
    return FieldError(f"{entry.pointer}/tier", f"Must be one of {', '.join(map(repr, model.tiers))}")


def _registration(job: Job, entry: WorkerEntry) -> Registration:
    model, tier = job.policy.worker_model, entry.tier
    skill = model.skill_of(tier).tolist() if tier is not None and isinstance(model, Tiers) else None
    return Registration(worker=entry.worker, price=entry.price, tier=tier, skill=skill, trusted=entry.trusted)
