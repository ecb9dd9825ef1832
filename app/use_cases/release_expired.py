"""Take back leases whose time is over: the item is free again and its money returns to the budget."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.store.assignments import expire_leases, jobs_with_expired_leases
from app.store.database import only_here
from app.store.jobs import Job, lock_job_if_free, save_ledger
from app.store.responses import forget_old_responses
from app.use_cases.copies_out import change_copies_out

SWEEPER = 7311  # the number of the lock that the sweeping replica holds


async def release_expired(connection: AsyncConnection, job: Job, now: datetime) -> Job:
    """Release the expired leases of a locked job; gives the job with its money returned, yet to be saved."""
    expired = await expire_leases(connection, job.job_id, now)
    if not expired:
        return job
    released = Counter(item_id for item_id, _ in expired)
    await change_copies_out(connection, job, {item_id: -copies for item_id, copies in released.items()})
    return replace(job, reserved=job.reserved - sum((cost for _, cost in expired), Decimal(0)))


async def sweep(database: AsyncEngine, now: datetime, *, keep_responses: timedelta = timedelta(hours=24)) -> None:
    """Release the expired leases of all jobs and forget old responses, unless another replica is at it."""
    async with only_here(database, SWEEPER) as connection:
        if connection is None:
            return
        await forget_old_responses(connection, now - keep_responses)
        job_ids = await jobs_with_expired_leases(connection, now)
    failures = []
    for job_id in job_ids:
        try:
            await _sweep_job(database, job_id, now)
        except Exception as failure:  # noqa: BLE001  whatever ails one job, the others are swept
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(job_ids)} jobs could not be swept", failures)


async def _sweep_job(database: AsyncEngine, job_id: UUID, now: datetime) -> None:
    """In a transaction of its own, so that no writer waits for the whole sweep; a job that is busy comes next time."""
    async with only_here(database, SWEEPER) as connection:
        job = None if connection is None else await lock_job_if_free(connection, job_id)
        if connection is not None and job is not None:
            await save_ledger(connection, await release_expired(connection, job, now))
