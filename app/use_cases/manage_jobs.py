"""List, pause, resume and delete jobs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.jobs import Job, delete_job, lock_job, page_of_jobs, set_paused
from app.store.responses import forget_responses_of
from app.store.staging import lock_imports


@dataclass(frozen=True)
class JobPage:
    jobs: Sequence[Job]
    next_after: tuple[datetime, UUID] | None  # where the next page starts; None on the last one


async def list_jobs(database: AsyncEngine, *, after: tuple[datetime, UUID] | None, most: int) -> JobPage:
    async with database.connect() as connection:
        found = await page_of_jobs(connection, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return JobPage(page, (page[-1].created_at, page[-1].job_id) if more else None)


async def pause_job(database: AsyncEngine, job_id: UUID, *, paused: bool) -> Job:
    """Hand out nothing more, or go on; what is out may be answered all the while."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        await set_paused(connection, job_id, paused=paused)
    return replace(job, paused=paused)


async def remove_job(database: AsyncEngine, job_id: UUID) -> None:
    """For good, with its items, assignments and answers."""
    async with database.begin() as connection:
        await lock_imports(connection, job_id)  # first: an import under way holds on to the job until it ends
        await lock_job(connection, job_id)
        await delete_job(connection, job_id)
        await forget_responses_of(connection, job_id)
