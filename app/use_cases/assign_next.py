"""Lease the best open items to a worker, never promising more than the budget holds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any, Literal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain import AssignmentState, Reason
from app.store.assignments import HeldLease, Lease, live_leases_of, next_expiry, save_leases
from app.store.items import Item, best_open_items, has_open_for, has_room_for
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.clock import Clock
from app.use_cases.copies_out import change_copies_out
from app.use_cases.release_expired import release_expired

_LONGEST_WAIT = timedelta(seconds=30)
_WAIT_FOR_ITEMS = timedelta(seconds=5)


@dataclass(frozen=True)
class Next:
    """What a worker should do: these assignments, or wait, or stop."""

    status: Literal["continue", "wait", "stop"]
    reason: Reason
    held: Sequence[HeldLease] = ()
    retry_after: int | None = None  # seconds


async def assign_next(database: AsyncEngine, job_id: UUID, *, worker: str | None, count: int, clock: Clock) -> Next:
    """What the worker holds comes first, then new leases up to `count`."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()  # after the lock: a lease should not have been running while its worker waited
        job = await release_expired(connection, job, now)
        if job.paused:
            return Next("stop", Reason("job-paused", "The job is paused; what is out may still be answered"))
        held = await live_leases_of(connection, job_id, worker) if worker is not None else []
        chosen = await _affordable_items(connection, job, worker, count - len(held))
        fresh = await _lease(connection, job, chosen, worker, now)
        if held or fresh:
            return _assigned(held[:count], fresh)
        return await _why_empty(connection, job, worker, now)


async def _affordable_items(connection: AsyncConnection, job: Job, worker: str | None, most: int) -> list[Item]:
    """The best items that the rest of the budget covers together; a dear one gives way to a cheaper one behind it."""
    chosen: list[Item] = []
    left = job.remaining
    while len(chosen) < most and (left is None or left > 0):
        besides = [row.item_id for row in chosen]
        room = most - len(chosen)
        found = await best_open_items(
            connection, job.job_id, worker=worker, affordable=left, besides=besides, most=room
        )
        for row in found:
            if left is None:
                chosen.append(row)
            elif row.cost <= left:
                chosen.append(row)
                left -= row.cost
        if len(found) < room:
            break
    return chosen


async def _lease(
    connection: AsyncConnection, job: Job, chosen: Sequence[Item], worker: str | None, now: datetime
) -> list[HeldLease]:
    """Reserve the money and write the leases."""
    if not chosen:
        return []
    new = [
        Lease(
            assignment_id=job.leases + position,
            item_id=row.item_id,
            worker=worker,
            state=AssignmentState.LIVE,
            cost=row.cost,
            leased_at=now,
            expires_at=now + job.lease_duration,
            why=_why(job, row),
        )
        for position, row in enumerate(chosen, start=1)
    ]
    numbers = await save_leases(connection, job.job_id, new)
    await change_copies_out(connection, job, dict.fromkeys(numbers, 1))
    reserved = job.reserved + sum((lease.cost for lease in new), Decimal(0))
    await save_ledger(connection, replace(job, reserved=reserved, leases=job.leases + len(new)))
    return [
        HeldLease(lease=replace(lease, assignment_id=numbers[lease.item_id]), key=row.key, payload=row.payload)
        for lease, row in zip(new, chosen, strict=True)
    ]


def _why(job: Job, row: Item) -> dict[str, Any]:
    reason = job.engine.explain(row.standing.reason, row.standing.wanted)
    return {"code": reason.code, "message": reason.message, "priority": row.standing.priority}


def _assigned(held: Sequence[HeldLease], fresh: Sequence[HeldLease]) -> Next:
    parts = [f"{len(leases)} {word}" for leases, word in ((held, "already held"), (fresh, "newly assigned")) if leases]
    return Next("continue", Reason("assigned", ", ".join(parts)), [*held, *fresh])


async def _why_empty(connection: AsyncConnection, job: Job, worker: str | None, now: datetime) -> Next:
    """No work is an answer too: say which kind."""
    if not job.items:
        return _wait("no-items", "The job has no items yet", _WAIT_FOR_ITEMS)
    if not job.open:
        return Next("stop", Reason("all-resolved", f"All {job.items} items are resolved or given up"))
    if await has_room_for(connection, job.job_id, worker):
        held_back = f", of which {job.reserved} is reserved by leases that may still return" if job.reserved else ""
        message = f"The rest of the budget, {job.remaining}, covers no open item; {job.budget} in all{held_back}"
        return Next("stop", Reason("budget-exhausted", message))
    if await has_open_for(connection, job.job_id, worker):
        expiry = await next_expiry(connection, job.job_id)
        return _wait("all-leased", "Every open item is out to as many workers as it needs", (expiry or now) - now)
    message = f"Worker {worker!r} has answered every open item" if worker else "Every open item has been answered"
    return Next("stop", Reason("worker-has-seen-all", message))


def _wait(code: str, message: str, until: timedelta) -> Next:
    seconds = ceil(min(until, _LONGEST_WAIT).total_seconds())
    return Next("wait", Reason(code, message), retry_after=max(seconds, 1))
