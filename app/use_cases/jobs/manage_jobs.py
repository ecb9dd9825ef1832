"""Read, list, pause, resume and delete jobs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.job import Job, JobState
from app.store.end_of_money import all_with_end_of_money, with_end_of_money
from app.store.jobs import delete_job, load_job, lock_job, page_of_jobs, set_paused
from app.store.staging import lock_imports
from app.store.stored_responses import delete_responses_of


@dataclass(frozen=True)
class JobPage:
    jobs: Sequence[Job]
    next_after: tuple[datetime, UUID] | None  # where the next page starts; None on the last page


async def read_job(database: AsyncEngine, job_id: UUID) -> Job:
    """Load a job with its settings, money and counters as of now."""
    async with database.connect() as connection:
        return await with_end_of_money(connection, await load_job(connection, job_id))


async def list_jobs(
    database: AsyncEngine,
    *,
    after: tuple[datetime, UUID] | None,
    most: int,
    state: JobState | None = None,
    name: str | None = None,
) -> JobPage:
    """Load a page of jobs, newest first: all, or those in this state or with this name."""
    async with database.connect() as connection:
        found = await page_of_jobs(connection, after=after, most=most + 1, state=state, name=name)
        found = await all_with_end_of_money(connection, found)
    page, more = found[:most], found[most:]
    return JobPage(page, (page[-1].created_at, page[-1].job_id) if more else None)


async def pause_job(database: AsyncEngine, job_id: UUID, *, paused: bool) -> Job:
    """Stop or resume assigning items; live assignments can still be answered."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        await set_paused(connection, job_id, paused=paused)
        return await with_end_of_money(connection, replace(job, paused=paused))


async def remove_job(database: AsyncEngine, job_id: UUID) -> None:
    """Delete a job with its items, assignments, answers and stored responses."""
    async with database.begin() as connection:
        await lock_imports(connection, job_id)  # first: a running import refers to the job until it ends
        await lock_job(connection, job_id)
        await delete_job(connection, job_id)
        await delete_responses_of(connection, job_id)
