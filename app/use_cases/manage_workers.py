"""Register workers with what they charge and their tier, and tell what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import FieldError, InvalidInput, WorkerUnknown
from app.policy.workers import Tiers
from app.store.jobs import Job, load_job, lock_job
from app.store.worker_pages import Order, Place, WorkerRow, WorkerStatus, find_worker, page_of_workers
from app.store.workers import Registration, save_registrations
from app.use_cases.skills import Skill, estimates, tells_accuracy


@dataclass(frozen=True)
class Entry:
    """A worker as a requester names it; what is None stays as it is."""

    worker: str
    price: Decimal | None = None
    tier: str | None = None
    pointer: str = "#"


@dataclass(frozen=True)
class Profile:
    """A worker as requesters see it."""

    row: WorkerRow
    skill: Skill | None
    tier: str | None  # None: the job's model has no tiers


@dataclass(frozen=True)
class WorkerPage:
    workers: Sequence[Profile]
    next_after: Place | None  # where the next page starts; None on the last one


async def register_workers(database: AsyncEngine, job_id: UUID, entries: Sequence[Entry]) -> int:
    """Set what workers charge, and their tier, from now on; leases that are out keep their cost, votes their weight.

    Gives how many workers these are: where one stands twice, the last counts.
    """
    async with database.begin() as connection:
        return await _register(connection, await lock_job(connection, job_id), entries)


async def change_worker(database: AsyncEngine, job_id: UUID, entry: Entry) -> Profile:
    """Set the price or the tier of one worker, who is registered by it."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        await _register(connection, job, [entry])
        return await profile_of(connection, job, entry.worker)


async def read_worker(database: AsyncEngine, job_id: UUID, worker: str) -> Profile:
    async with database.connect() as connection:
        return await profile_of(connection, await load_job(connection, job_id), worker)


async def list_workers(
    database: AsyncEngine, job_id: UUID, *, order: Order, status: WorkerStatus | None, after: Place | None, most: int
) -> WorkerPage:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_workers(
            connection,
            job_id,
            order=order,
            skill_by_agreement=not tells_accuracy(job),
            status=status,
            after=after,
            most=most + 1,
        )
    page, more = found[:most], found[most:]
    return WorkerPage(_profiles(job, [row for row, _ in page]), page[-1][1] if more else None)


async def profile_of(connection: AsyncConnection, job: Job, worker: str) -> Profile:
    row = None if "\x00" in worker else await find_worker(connection, job.job_id, worker)
    if row is None:
        raise WorkerUnknown(f"The job has no worker {worker!r}")
    return _profiles(job, [row])[0]


def _profiles(job: Job, rows: Sequence[WorkerRow]) -> list[Profile]:
    model = job.rules.worker_model
    first = next(iter(model.tiers)) if isinstance(model, Tiers) else None  # where newcomers belong
    return [
        Profile(row, skill, None if first is None else row.tier or first)
        for row, skill in zip(rows, estimates(job, rows), strict=True)
    ]


async def _register(connection: AsyncConnection, job: Job, entries: Sequence[Entry]) -> int:
    wrong = [error for entry in entries if (error := _wrong_tier(job, entry)) is not None]
    if wrong:
        raise InvalidInput.of(wrong)
    last = {entry.worker: _registration(job, entry) for entry in entries}
    await save_registrations(connection, job.job_id, list(last.values()))
    return len(last)


def _wrong_tier(job: Job, entry: Entry) -> FieldError | None:
    model = job.rules.worker_model
    if entry.tier is None or (isinstance(model, Tiers) and entry.tier in model.tiers):
        return None
    if not isinstance(model, Tiers):
        return FieldError(
            f"{entry.pointer}/tier", f"The job's worker_model is {model.kind}, which has no tiers; leave it out"
        )
    return FieldError(f"{entry.pointer}/tier", f"Must be one of {', '.join(map(repr, model.tiers))}")


def _registration(job: Job, entry: Entry) -> Registration:
    model, tier = job.rules.worker_model, entry.tier
    skill = model.skill_of(tier).tolist() if tier is not None and isinstance(model, Tiers) else None
    return Registration(worker=entry.worker, price=entry.price, tier=tier, skill=skill)
