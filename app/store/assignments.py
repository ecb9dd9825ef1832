"""Assignments: one row per item and worker."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from asyncpg import Record
from sqlalchemy import func, literal_column, select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.assignment import Assignment, AssignmentState, HeldAssignment
from app.store.driver import columns_of, fetch
from app.store.tables import assignment

_LIVE = assignment.c.state == literal_column("'live'")

_COLUMNS = "a.assignment_id, a.item_id, a.worker, a.state, a.cost, a.leased_at, a.expires_at, a.why, a.tier, a.audit_id"
_HELD = f"""
    SELECT {_COLUMNS}, i.key, i.payload
    FROM assignment a JOIN item i ON i.job_id = a.job_id AND i.item_id = a.item_id
    WHERE a.job_id = $1"""
_HELD_BY = f"{_HELD} AND a.worker = ANY ($2::text[]) AND a.state = 'live' ORDER BY a.leased_at, a.assignment_id"
_HELD_UNDER = f"{_HELD} AND a.assignment_id = ANY ($2::bigint[])"
_HELD_PAGE = f"""{_HELD} AND a.assignment_id > $2
    AND ($3::text IS NULL OR a.state = $3) AND ($4::text IS NULL OR a.worker = $4)
    ORDER BY a.assignment_id LIMIT $5"""
_BY_NUMBER = f"SELECT {_COLUMNS} FROM assignment a WHERE a.job_id = $1 AND a.assignment_id = ANY ($2::bigint[])"
_BY_PAIR = f"""
    SELECT {_COLUMNS}
    FROM unnest($2::bigint[], $3::text[]) AS pair (item_id, worker)
    JOIN assignment a ON a.job_id = $1 AND a.item_id = pair.item_id AND a.worker = pair.worker"""
_SAVE = """
    INSERT INTO assignment
        (job_id, assignment_id, item_id, worker, state, cost, leased_at, expires_at, tier, why, audit_id)
    SELECT $1, sent.assignment_id, sent.item_id, sent.worker, sent.state, sent.cost, sent.leased_at, sent.expires_at,
           sent.tier, sent.why::jsonb, sent.audit_id
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::numeric[], $7::timestamptz[], $8::timestamptz[],
                $9::text[], $10::text[], $11::bigint[])
         AS sent (assignment_id, item_id, worker, state, cost, leased_at, expires_at, tier, why, audit_id)
    ON CONFLICT (job_id, item_id, worker) DO UPDATE
    SET state = excluded.state, cost = excluded.cost, leased_at = excluded.leased_at,
        expires_at = excluded.expires_at, tier = excluded.tier, why = excluded.why, audit_id = excluded.audit_id
    RETURNING item_id, worker, assignment_id"""
_ANSWERED = "UPDATE assignment SET state = 'answered' WHERE job_id = $1 AND assignment_id = ANY ($2::bigint[])"
_CHANGE = """
    UPDATE assignment a SET state = sent.state, expires_at = sent.expires_at
    FROM unnest($2::bigint[], $3::text[], $4::timestamptz[]) AS sent (assignment_id, state, expires_at)
    WHERE a.job_id = $1 AND a.assignment_id = sent.assignment_id"""
_EXPIRE = """
    UPDATE assignment SET state = 'expired' WHERE job_id = $1 AND state = 'live' AND expires_at <= $2
    RETURNING item_id, cost"""
_RELEASE_OF = """
    UPDATE assignment SET state = 'released' WHERE job_id = $1 AND state = 'live' AND worker = ANY ($2::text[])
    RETURNING item_id, cost"""


async def live_assignments_of(
    connection: AsyncConnection, job_id: UUID, workers: Collection[str]
) -> dict[str, list[HeldAssignment]]:
    """Load the live assignments of each of these workers, oldest first."""
    found: dict[str, list[HeldAssignment]] = {}
    if workers:
        for row in await fetch(connection, _HELD_BY, job_id, list(workers)):
            found.setdefault(row["worker"], []).append(_held_assignment(row))
    return found


async def assignments_with_items(
    connection: AsyncConnection, job_id: UUID, numbers: Collection[int]
) -> dict[int, HeldAssignment]:
    rows = await fetch(connection, _HELD_UNDER, job_id, list(numbers))
    return {row["assignment_id"]: _held_assignment(row) for row in rows}


async def assignments_by_number(
    connection: AsyncConnection, job_id: UUID, numbers: Collection[int]
) -> list[Assignment]:
    return [_assignment(row) for row in await fetch(connection, _BY_NUMBER, job_id, list(numbers))]


async def assignments_by_pair(
    connection: AsyncConnection, job_id: UUID, pairs: Collection[tuple[int, str]]
) -> list[Assignment]:
    """Load the assignments of these items to these workers, pair by pair."""
    items, workers = [item_id for item_id, _ in pairs], [worker for _, worker in pairs]
    return [_assignment(row) for row in await fetch(connection, _BY_PAIR, job_id, items, workers)]


async def save_assignments(
    connection: AsyncConnection, job_id: UUID, assignments: Sequence[Assignment]
) -> dict[tuple[int, str | None], int]:
    """Insert assignments, or renew ended ones; returns the assignment number of each item and worker."""
    names = ("assignment_id", "item_id", "worker", "state", "cost", "leased_at", "expires_at", "tier")
    why = [json.dumps(assignment.why) for assignment in assignments]
    audits = [assignment.audit_id for assignment in assignments]
    rows = await fetch(connection, _SAVE, job_id, *columns_of(assignments, *names), why, audits)
    return {(row["item_id"], row["worker"]): row["assignment_id"] for row in rows}


async def save_changes(connection: AsyncConnection, job_id: UUID, assignments: Sequence[Assignment]) -> None:
    """Write the state and the expiry of assignments."""
    await fetch(connection, _CHANGE, job_id, *columns_of(assignments, "assignment_id", "state", "expires_at"))


async def mark_answered(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> None:
    if numbers:
        await fetch(connection, _ANSWERED, job_id, list(numbers))


async def expire_assignments(connection: AsyncConnection, job_id: UUID, now: datetime) -> list[tuple[int, Decimal]]:
    """End the assignments whose lease has expired; returns the item and the money of each."""
    return [(row["item_id"], row["cost"]) for row in await fetch(connection, _EXPIRE, job_id, now)]


async def release_assignments_of(
    connection: AsyncConnection, job_id: UUID, workers: Collection[str]
) -> list[tuple[int, Decimal]]:
    """End the live assignments of these workers; returns the item and the money of each."""
    return [(row["item_id"], row["cost"]) for row in await fetch(connection, _RELEASE_OF, job_id, list(workers))]


async def next_expiry(connection: AsyncConnection, job_id: UUID) -> datetime | None:
    query = select(func.min(assignment.c.expires_at)).where(assignment.c.job_id == job_id, _LIVE)
    expiry: datetime | None = await connection.scalar(query)
    return expiry


async def jobs_with_expired_assignments(connection: AsyncConnection, now: datetime) -> list[UUID]:
    query = select(assignment.c.job_id).where(_LIVE, assignment.c.expires_at <= now).distinct()
    return list(await connection.scalars(query))


async def page_of_assignments(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    state: AssignmentState | None,
    worker: str | None,
    after: int,
    most: int,
) -> list[HeldAssignment]:
    """Load assignments after the number `after`, in the order in which they were first made."""
    return [_held_assignment(row) for row in await fetch(connection, _HELD_PAGE, job_id, after, state, worker, most)]


def _assignment(row: Record) -> Assignment:
    return Assignment(
        assignment_id=row["assignment_id"],
        item_id=row["item_id"],
        worker=row["worker"],
        state=AssignmentState(row["state"]),
        cost=row["cost"],
        leased_at=row["leased_at"],
        expires_at=row["expires_at"],
        why=row["why"],
        tier=row["tier"],
        audit_id=row["audit_id"],
    )


def _held_assignment(row: Record) -> HeldAssignment:
    return HeldAssignment(assignment=_assignment(row), key=row["key"], payload=row["payload"])
