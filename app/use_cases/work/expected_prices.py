"""Follow what the workers of a job charge, where decisions depend on it."""

from dataclasses import replace
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.policy.core.policy import Uses
from app.policy.core.prices import expected_price, has_moved, is_price_due
from app.store.workers import prices_seen
from app.use_cases.work.rejudging import rejudge_job


async def expect_registered_prices(connection: AsyncConnection, job: Job, now: datetime) -> Job:
    """Expect the price of a locked job's registered workers, if it has no answers yet, and judge all items by it.

    Items that did not pay at the former price may open.
    """
    priced = job if job.answers else await at_expected_price(connection, job)
    return job if priced is job else await rejudge_job(connection, priced, closed_too=True, now=now)


async def follow_prices(connection: AsyncConnection, job: Job, *, given: int) -> Job:
    """Determine the expected price of a locked job again, if enough answers have come since there were `given`.

    If it has moved, the decisions of this transaction are the last by the former price, and the open items are judged
    again in the background: that takes longer the more items there are.
    """
    priced = await at_expected_price(connection, job) if is_price_due(given, job.answers) else job
    return job if priced is job else replace(priced, repriced_to=0)


async def at_expected_price(connection: AsyncConnection, job: Job) -> Job:
    """Return the job with the expected price of now; the same job if it has not moved, or if no policy uses it."""
    if Uses.PRICE not in job.engine.uses:
        return job
    seen = await prices_seen(connection, job.job_id, job.answers)
    found = expected_price(seen.registered, seen.paid, seen.answers)
    return job.reconfigured(price=found) if has_moved(job.price, found) else job
