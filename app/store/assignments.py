"""Assignments: leases of items to workers, one row per item and worker."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    CursorResult,
    Select,
    Text,
    Uuid,
    and_,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import AssignmentState
from app.store.arrays import as_rows
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


async def live_leases_of(
    connection: AsyncConnection, job_id: UUID, workers: Collection[str]
) -> dict[str, list[HeldLease]]:
    """What each of these workers holds, oldest first."""
    found: dict[str, list[HeldLease]] = {}
    if workers:
        among = assignment.c.worker == func.any(bindparam("workers", list(workers), ARRAY(Text)))
        query = _WITH_ITEM.where(assignment.c.job_id == job_id, among, _LIVE)
        for held in await _held(connection, query.order_by(assignment.c.leased_at, assignment.c.assignment_id)):
            found.setdefault(str(held.lease.worker), []).append(held)
    return found


async def _held(connection: AsyncConnection, query: Select[Any]) -> list[HeldLease]:
    held = []
    for row in (await connection.execute(query)).mappings():
        values: dict[str, Any] = dict(row)
        key, payload = values.pop("key"), values.pop("payload")
        held.append(HeldLease(lease=_lease(values), key=key, payload=payload))
    return held


async def save_leases(
    connection: AsyncConnection, job_id: UUID, leases: Sequence[Lease]
) -> dict[tuple[int, str | None], int]:
    """Insert leases, or renew those that expired; gives the assignment number that stands for an item and a worker."""
    names = [column.name for column in _LEASE]
    rows = as_rows(_LEASE, [[getattr(lease, name) for lease in leases] for name in names])
    statement = insert(assignment).from_select(["job_id", *names], select(literal(job_id, Uuid), *rows))
    renewed = {name: statement.excluded[name] for name in ("state", "cost", "leased_at", "expires_at", "why")}
    statement = statement.on_conflict_do_update(index_elements=["job_id", "item_id", "worker"], set_=renewed)
    numbers = await connection.execute(
        statement.returning(assignment.c.item_id, assignment.c.worker, assignment.c.assignment_id)
    )
    return {(row.item_id, row.worker): row.assignment_id for row in numbers}


async def leases_by_number(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> list[Lease]:
    query = select(*_LEASE).where(assignment.c.job_id == job_id, _numbered(numbers))
    return _leases(await connection.execute(query))


async def leases_by_pair(connection: AsyncConnection, job_id: UUID, wanted: Collection[Pair]) -> list[Lease]:
    pairs = as_table(wanted)
    query = select(*_LEASE).where(assignment.c.job_id == job_id, same_pair(assignment, pairs))
    return _leases(await connection.execute(query))


async def mark_answered(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> None:
    if numbers:
        await connection.execute(
            update(assignment)
            .where(assignment.c.job_id == job_id, _numbered(numbers))
            .values(state=AssignmentState.ANSWERED)
        )


async def save_changes(connection: AsyncConnection, job_id: UUID, leases: Sequence[Lease]) -> None:
    """Write back the state and the end of leases."""
    columns = [assignment.c.assignment_id, assignment.c.state, assignment.c.expires_at]
    values = [[getattr(lease, column.name) for lease in leases] for column in columns]
    number, state, expires_at = as_rows(columns, values)
    await connection.execute(
        update(assignment)
        .where(assignment.c.job_id == job_id, assignment.c.assignment_id == number)
        .values(state=state, expires_at=expires_at)
    )


async def leases_with_items(
    connection: AsyncConnection, job_id: UUID, numbers: Collection[int]
) -> dict[int, HeldLease]:
    held = await _held(connection, _WITH_ITEM.where(assignment.c.job_id == job_id, _numbered(numbers)))
    return {one.lease.assignment_id: one for one in held}


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


def _numbered(numbers: Collection[int]) -> ColumnElement[bool]:
    return assignment.c.assignment_id == func.any(bindparam("numbers", list(numbers), ARRAY(BigInteger)))
