"""Keep, give back or refuse assignments before they are answered."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import AssignmentState
from app.errors import AssignmentEnded, AssignmentUnknown, LeaseExpired, SufficeError
from app.store.assignments import HeldLease, Lease, leases_with_items, save_changes
from app.store.jobs import Job
from app.use_cases.copies_out import change_copies_out


@dataclass(frozen=True)
class Extend:
    """Hold the item for so much longer from now on, by default as long as a new lease lasts."""

    number: int
    duration: timedelta | None

    def changed(self, held: HeldLease, job: Job, now: datetime) -> Lease:
        lease = held.lease
        if lease.state is AssignmentState.EXPIRED:
            raise LeaseExpired(f"The lease on {held.key!r} expired at {lease.expires_at.isoformat()}; ask for the next")
        if lease.state is not AssignmentState.LIVE:
            raise AssignmentEnded(f"The assignment of {held.key!r} is {lease.state}")
        # Not from before its beginning, whatever the clock of this replica says.
        return replace(lease, expires_at=max(now, lease.leased_at) + (self.duration or job.lease_duration))


@dataclass(frozen=True)
class Return:
    """End the lease: `released`, and anybody may have the item, or `skipped`, and this worker may not."""

    number: int
    state: AssignmentState

    def changed(self, held: HeldLease, job: Job, now: datetime) -> Lease:  # noqa: ARG002  as `Extend` takes them
        if held.lease.state is AssignmentState.ANSWERED:
            raise AssignmentEnded(f"The assignment of {held.key!r} is answered")
        return replace(held.lease, state=self.state)


Change = Extend | Return


async def change_assignments(
    connection: AsyncConnection, job: Job, changes: Sequence[Change], now: datetime
) -> tuple[Job, list[HeldLease | SufficeError]]:
    """Make each change in turn; one that is refused does not harm the others."""
    before = await leases_with_items(connection, job.job_id, {change.number for change in changes})
    held = dict(before)
    outcomes = [_try_to_change(held, change, job, now) for change in changes]
    changed = [one.lease for number, one in held.items() if one is not before[number]]
    ended = [lease for lease in changed if _is_live(before[lease.assignment_id].lease) and not _is_live(lease)]
    if changed:
        await save_changes(connection, job.job_id, changed)
    released = Counter(lease.item_id for lease in ended)
    await change_copies_out(connection, job, {item_id: -copies for item_id, copies in released.items()})
    return replace(job, reserved=job.reserved - sum((lease.cost for lease in ended), Decimal(0))), outcomes


def _try_to_change(held: dict[int, HeldLease], change: Change, job: Job, now: datetime) -> HeldLease | SufficeError:
    if change.number not in held:
        return AssignmentUnknown(f"The job has no assignment '{change.number}'")
    one = held[change.number]
    try:
        held[change.number] = replace(one, lease=change.changed(one, job, now))
    except SufficeError as refusal:
        return refusal
    return held[change.number]


def _is_live(lease: Lease) -> bool:
    return lease.state is AssignmentState.LIVE
