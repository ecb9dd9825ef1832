"""Take back leases whose time is over: the item is free again and its money returns to the budget."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.store.assignments import expire_leases, jobs_with_expired_leases
from app.store.database import only_here
from app.store.jobs import Job, lock_job, save_ledger
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
    for job_id in job_ids:
        async with only_here(database, SWEEPER) as connection:  # one job, one transaction: no writer waits for all
            if connection is None:
                return
            await save_ledger(connection, await release_expired(connection, await lock_job(connection, job_id), now))
