"""Keep, give back or refuse an assignment before it is answered."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain import AssignmentState
from app.errors import AssignmentEnded, AssignmentUnknown, LeaseExpired
from app.store.assignments import HeldLease, end_lease, extend_lease, lease_with_item
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.clock import Clock
from app.use_cases.copies_out import change_copies_out
from app.use_cases.release_expired import release_expired


async def extend_assignment(
    database: AsyncEngine, job_id: UUID, number: int, *, duration: timedelta | None, clock: Clock
) -> HeldLease:
    """Hold the item for so much longer from now on, by default as long as a new lease lasts."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()  # after the lock: a lease should not have been running while its worker waited
        job = await release_expired(connection, job, now)
        held = await _find(connection, job, number)
        _refuse_unless_live(held)
        until = now + (duration or job.lease_duration)
        await extend_lease(connection, job_id, number, until=until)
    return replace(held, lease=replace(held.lease, expires_at=until))


async def return_assignment(
    database: AsyncEngine, job_id: UUID, number: int, *, state: AssignmentState, clock: Clock
) -> HeldLease:
    """Give the item and its money back, as released or as skipped; what has ended before only changes its name."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()  # after the lock: a lease should not have been running while its worker waited
        job = await release_expired(connection, job, now)
        held = await _find(connection, job, number)
        if held.lease.state is AssignmentState.ANSWERED:
            raise AssignmentEnded(f"The assignment of {held.key!r} is answered")
        if held.lease.state is AssignmentState.LIVE:
            await change_copies_out(connection, job, {held.lease.item_id: -1})
            await save_ledger(connection, replace(job, reserved=job.reserved - held.lease.cost))
        await end_lease(connection, job_id, number, state=state)
    return replace(held, lease=replace(held.lease, state=state))


async def _find(connection: AsyncConnection, job: Job, number: int) -> HeldLease:
    held = await lease_with_item(connection, job.job_id, number)
    if held is None:
        raise AssignmentUnknown(f"The job has no assignment '{number}'")
    return held


def _refuse_unless_live(held: HeldLease) -> None:
    if held.lease.state is AssignmentState.EXPIRED:
        raise LeaseExpired(
            f"The lease on {held.key!r} expired at {held.lease.expires_at.isoformat()}; ask for the next"
        )
    if held.lease.state is not AssignmentState.LIVE:
        raise AssignmentEnded(f"The assignment of {held.key!r} is {held.lease.state}")
