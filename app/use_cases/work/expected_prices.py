"""Follow what the workers of a job charge, where decisions depend on it."""

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
    found = None if job.answers else await _moved_price(connection, job)
    if found is None:
        return job
    return await rejudge_job(connection, job.reconfigured(price=found), closed_too=True, now=now)


async def follow_prices(connection: AsyncConnection, job: Job, *, given: int) -> Job:
    """Determine the expected price of a locked job again, if enough answers have come since there were `given`.

    If it has moved, the decisions of this transaction are the last by the former price, and the open items are judged
    again in the background: that takes longer the more items there are.
    """
    if not is_price_due(given, job.answers) or (found := await _moved_price(connection, job)) is None:
        return job
    return job.reconfigured(price=found, repriced_to=0)


async def _moved_price(connection: AsyncConnection, job: Job) -> float | None:
    """Return the expected price if it has moved; None also where no policy of the job uses it."""
    if Uses.PRICE not in job.engine.uses:
        return None
    seen = await prices_seen(connection, job.job_id, job.answers)
    found = expected_price(seen.registered, seen.paid, seen.answers)
    return found if has_moved(job.price, found) else None
