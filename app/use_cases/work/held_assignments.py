"""Change assignments that workers hold: extend, release, skip, list and expire them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.assignment import Assignment, AssignmentState, HeldAssignment
from app.domain.job import Job
from app.errors import AssignmentEnded, AssignmentUnknown, LeaseExpired, SufficeError
from app.policy.core.policy import Uses
from app.store.assignments import (
    assignments_with_items,
    expire_assignments,
    jobs_with_expired_assignments,
    page_of_assignments,
    save_changes,
)
from app.store.connection import exclusive_transaction
from app.store.items import change_open_assignments, load_items, save_decisions
from app.store.jobs import load_job, lock_job_if_free, save_ledger
from app.store.stored_responses import delete_old_responses
from app.use_cases.work.judging import judge_open

SWEEPER = 7311  # the advisory lock of the replica that sweeps

EndedAssignment = tuple[int, Decimal]  # its item, and the money that was reserved for it


@dataclass(frozen=True)
class Extend:
    """Make the lease end this long after now; by default after the lease duration of the job."""

    number: int
    duration: timedelta | None

    def changed(self, held: HeldAssignment, job: Job, now: datetime) -> Assignment:
        assignment = held.assignment
        if assignment.state is AssignmentState.EXPIRED:
            raise LeaseExpired(
                f"The lease on {held.key!r} expired at {assignment.expires_at.isoformat()}. "
                "Ask `next` for a new assignment."
            )
        if assignment.state is not AssignmentState.LIVE:
            raise AssignmentEnded(
                f"The assignment of {held.key!r} is {assignment.state}. Only a live assignment can be extended."
            )
        # The clock of this replica may be behind, but a lease never ends before it began.
        return replace(assignment, expires_at=max(now, assignment.leased_at) + (self.duration or job.lease_duration))


@dataclass(frozen=True)
class Return:
    """End an assignment. After `released` any worker may get the item; after `skipped` this worker does not."""

    number: int
    state: AssignmentState

    def changed(self, held: HeldAssignment, job: Job, now: datetime) -> Assignment:  # noqa: ARG002  as in `Extend`
        if held.assignment.state is AssignmentState.ANSWERED:
            raise AssignmentEnded(f"The assignment of {held.key!r} is answered. The answer and its payment stay.")
        return replace(held.assignment, state=self.state)


AssignmentChange = Extend | Return


async def change_assignments(
    connection: AsyncConnection, job: Job, changes: Sequence[AssignmentChange], now: datetime
) -> tuple[Job, list[HeldAssignment | SufficeError]]:
    """Make each change in turn; one that is refused does not affect the others."""
    before = await assignments_with_items(connection, job.job_id, {change.number for change in changes})
    held = dict(before)
    outcomes = [_try_to_change(held, change, job, now) for change in changes]
    changed = {number: one.assignment for number, one in held.items() if one is not before[number]}
    if changed:
        await save_changes(connection, job.job_id, list(changed.values()))
    ended = [
        (assignment.item_id, assignment.cost)
        for number, assignment in changed.items()
        if _is_live(before[number].assignment) and not _is_live(assignment)
    ]
    return await return_assignments(connection, job, ended), outcomes


def _try_to_change(
    held: dict[int, HeldAssignment], change: AssignmentChange, job: Job, now: datetime
) -> HeldAssignment | SufficeError:
    if change.number not in held:
        return AssignmentUnknown(f"The job has no assignment '{change.number}'. Use an id from `next`.")
    one = held[change.number]
    try:
        held[change.number] = replace(one, assignment=change.changed(one, job, now))
    except SufficeError as refusal:
        return refusal
    return held[change.number]


def _is_live(assignment: Assignment) -> bool:
    return assignment.state is AssignmentState.LIVE


async def return_assignments(connection: AsyncConnection, job: Job, ended: Sequence[EndedAssignment]) -> Job:
    """Free the items of ended assignments; returns the job with their money, which the caller must save."""
    if not ended:
        return job
    returned = Counter(item_id for item_id, _ in ended)
    changes = {item_id: -count for item_id, count in returned.items()}
    if Uses.OPEN_ASSIGNMENTS in job.engine.uses:  # the decisions depend on open assignments
        loaded = await load_items(connection, job.job_id, keys=(), item_ids=changes.keys())
        changed = [replace(item, open_assignments=item.open_assignments + changes[item.item_id]) for item in loaded]
        await save_decisions(connection, job.job_id, judge_open(job.engine, changed))
    else:
        await change_open_assignments(connection, job.job_id, changes)
    return replace(job, reserved=job.reserved - sum((cost for _, cost in ended), Decimal(0)))


async def release_expired(connection: AsyncConnection, job: Job, now: datetime) -> Job:
    """End the expired assignments of a locked job; returns the job, which the caller must save."""
    return await return_assignments(connection, job, await expire_assignments(connection, job.job_id, now))


async def sweep(database: AsyncEngine, now: datetime, *, keep_responses: timedelta = timedelta(hours=24)) -> None:
    """End the expired assignments of all jobs and delete old stored responses, unless another replica does it."""
    async with exclusive_transaction(database, SWEEPER) as connection:
        if connection is None:
            return
        await delete_old_responses(connection, now - keep_responses)
        job_ids = await jobs_with_expired_assignments(connection, now)
    failures = []
    for job_id in job_ids:
        try:
            await _sweep_job(database, job_id, now)
        except Exception as failure:  # noqa: BLE001  one job that fails must not keep the others from being swept
            failures.append(failure)
    if failures:
        raise ExceptionGroup(f"{len(failures)} of {len(job_ids)} jobs could not be swept", failures)


async def _sweep_job(database: AsyncEngine, job_id: UUID, now: datetime) -> None:
    """Sweep one job in a separate transaction, so that no writer waits for the whole sweep; skip a locked job."""
    async with exclusive_transaction(database, SWEEPER) as connection:
        job = None if connection is None else await lock_job_if_free(connection, job_id)
        if connection is not None and job is not None:
            await save_ledger(connection, await release_expired(connection, job, now))


@dataclass(frozen=True)
class AssignmentPage:
    """Some assignments of a job, and where the next page starts."""

    held: Sequence[HeldAssignment]
    next_after: int | None  # None on the last page


async def read_assignments(
    database: AsyncEngine, job_id: UUID, *, state: AssignmentState | None, worker: str | None, after: int, most: int
) -> AssignmentPage:
    """List who holds, or held, which item."""
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = await page_of_assignments(connection, job_id, state=state, worker=worker, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return AssignmentPage(page, page[-1].assignment.assignment_id if more else None)
