"""Assignments: leases of items to workers, one row per item and worker."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CursorResult, Select, and_, bindparam, func, literal_column, select, update
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import AssignmentState
from app.store.pairs import Pair, as_table, same_pair
from app.store.tables import assignment, item

_LIVE = assignment.c.state == literal_column("'live'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    assignment_id: int
    item_id: int
    worker: str | None
    state: AssignmentState
    cost: Decimal
    leased_at: datetime
    expires_at: datetime
    why: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLease:
    """A live lease with what its worker needs to see."""

    lease: Lease
    key: str
    payload: Any


_LEASE = [column for column in assignment.c if column.name != "job_id"]
_WITH_ITEM = select(*_LEASE, item.c.key, item.c.payload).join(
    item, and_(item.c.job_id == assignment.c.job_id, item.c.item_id == assignment.c.item_id)
)


async def live_leases_of(connection: AsyncConnection, job_id: UUID, worker: str) -> list[HeldLease]:
    """What a worker holds, oldest first."""
    query = _WITH_ITEM.where(assignment.c.job_id == job_id, assignment.c.worker == worker, _LIVE)
    return await _held(connection, query.order_by(assignment.c.leased_at, assignment.c.assignment_id))


async def _held(connection: AsyncConnection, query: Select[Any]) -> list[HeldLease]:
    held = []
    for row in (await connection.execute(query)).mappings():
        values: dict[str, Any] = dict(row)
        key, payload = values.pop("key"), values.pop("payload")
        held.append(HeldLease(lease=_lease(values), key=key, payload=payload))
    return held


async def save_leases(connection: AsyncConnection, job_id: UUID, leases: Sequence[Lease]) -> dict[int, int]:
    """Insert leases, or renew those that expired; gives the assignment number that stands for each item."""
    statement = insert(assignment).values([{"job_id": job_id} | _columns(lease) for lease in leases])
    renewed = {name: statement.excluded[name] for name in ("state", "cost", "leased_at", "expires_at", "why")}
    statement = statement.on_conflict_do_update(index_elements=["job_id", "item_id", "worker"], set_=renewed)
    rows = await connection.execute(statement.returning(assignment.c.item_id, assignment.c.assignment_id))
    return {row.item_id: row.assignment_id for row in rows}


async def leases_by_number(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> list[Lease]:
    wanted = assignment.c.assignment_id == func.any(bindparam("numbers", list(numbers), ARRAY(BigInteger)))
    return _leases(await connection.execute(select(*_LEASE).where(assignment.c.job_id == job_id, wanted)))


async def leases_by_pair(connection: AsyncConnection, job_id: UUID, wanted: Collection[Pair]) -> list[Lease]:
    pairs = as_table(wanted)
    query = select(*_LEASE).where(assignment.c.job_id == job_id, same_pair(assignment, pairs))
    return _leases(await connection.execute(query))


async def mark_answered(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> None:
    if numbers:
        await connection.execute(
            update(assignment)
            .where(assignment.c.job_id == job_id, assignment.c.assignment_id.in_(list(numbers)))
            .values(state=AssignmentState.ANSWERED)
        )


async def end_lease(connection: AsyncConnection, job_id: UUID, number: int, *, state: AssignmentState) -> None:
    wanted = (assignment.c.job_id == job_id, assignment.c.assignment_id == number)
    await connection.execute(update(assignment).where(*wanted).values(state=state))


async def extend_lease(connection: AsyncConnection, job_id: UUID, number: int, *, until: datetime) -> None:
    wanted = (assignment.c.job_id == job_id, assignment.c.assignment_id == number)
    await connection.execute(update(assignment).where(*wanted).values(expires_at=until))


async def lease_with_item(connection: AsyncConnection, job_id: UUID, number: int) -> HeldLease | None:
    found = await _held(
        connection, _WITH_ITEM.where(assignment.c.job_id == job_id, assignment.c.assignment_id == number)
    )
    return found[0] if found else None


async def page_of_leases(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    state: AssignmentState | None,
    worker: str | None,
    after: int,
    most: int,
) -> list[HeldLease]:
    """Assignments in the order in which they were first given, from behind `after`."""
    query = _WITH_ITEM.where(assignment.c.job_id == job_id, assignment.c.assignment_id > after)
    if state is not None:
        query = query.where(assignment.c.state == state)
    if worker is not None:
        query = query.where(assignment.c.worker == worker)
    return await _held(connection, query.order_by(assignment.c.assignment_id).limit(most))


async def expire_leases(connection: AsyncConnection, job_id: UUID, now: datetime) -> list[tuple[int, Decimal]]:
    """End the leases whose time is over; gives the item and the money that each returns."""
    statement = (
        update(assignment)
        .where(assignment.c.job_id == job_id, _LIVE, assignment.c.expires_at <= now)
        .values(state=AssignmentState.EXPIRED)
        .returning(assignment.c.item_id, assignment.c.cost)
    )
    return [(row.item_id, row.cost) for row in await connection.execute(statement)]


async def next_expiry(connection: AsyncConnection, job_id: UUID) -> datetime | None:
    query = select(func.min(assignment.c.expires_at)).where(assignment.c.job_id == job_id, _LIVE)
    expiry: datetime | None = await connection.scalar(query)
    return expiry


async def jobs_with_expired_leases(connection: AsyncConnection, now: datetime) -> list[UUID]:
    query = select(assignment.c.job_id).where(_LIVE, assignment.c.expires_at <= now).distinct()
    return list(await connection.scalars(query))


def _leases(found: CursorResult[Any]) -> list[Lease]:
    return [_lease(dict(row)) for row in found.mappings()]


def _lease(values: dict[Any, Any]) -> Lease:
    return Lease(**values | {"state": AssignmentState(values["state"])})


def _columns(lease: Lease) -> dict[str, Any]:
    return {column.name: getattr(lease, column.name) for column in _LEASE}
