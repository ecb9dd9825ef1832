"""Operations: long work on a job that a requester can watch."""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from asyncpg import Record
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import fetch

OperationState = Literal["waiting", "running", "done", "failed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    operation_id: int
    kind: str
    state: OperationState = "waiting"
    progress: float = 0.0
    outcome: dict[str, Any] | None = None
    created_at: datetime
    finished_at: datetime | None = None


_COLUMNS = "operation_id, kind, state, progress, outcome, created_at, finished_at"
_INSERT = "INSERT INTO operation (job_id, operation_id, kind, state, created_at) VALUES ($1, $2, $3, $4, $5)"
_LOAD = f"SELECT {_COLUMNS} FROM operation WHERE job_id = $1 AND operation_id = $2"
_FIRST_UNFINISHED = f"""
    SELECT {_COLUMNS} FROM operation WHERE job_id = $1 AND state IN ('waiting', 'running')
    ORDER BY operation_id LIMIT 1"""
_PAGE = f"SELECT {_COLUMNS} FROM operation WHERE job_id = $1 AND operation_id < $2 ORDER BY operation_id DESC LIMIT $3"
_SAVE = """
    UPDATE operation SET state = $3, progress = $4, outcome = $5::text::jsonb, finished_at = $6
    WHERE job_id = $1 AND operation_id = $2"""
_JOBS_IN_NEED = text("""
    SELECT job_id FROM operation WHERE state IN ('waiting', 'running')
    UNION SELECT job_id FROM job WHERE answers >= refit_at
    UNION SELECT job_id FROM worker WHERE status = 'blocked' AND block @> '{"pending": true}'""")
_TRY_TO_BE_ALONE = text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))")
_NO_LONGER_ALONE = text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))")


async def insert_operation(connection: AsyncConnection, job_id: UUID, new: Operation) -> None:
    await fetch(connection, _INSERT, job_id, new.operation_id, new.kind, new.state, new.created_at)


async def save_operation(connection: AsyncConnection, job_id: UUID, changed: Operation) -> None:
    outcome = None if changed.outcome is None else json.dumps(changed.outcome)
    values = (changed.state, changed.progress, outcome, changed.finished_at)
    await fetch(connection, _SAVE, job_id, changed.operation_id, *values)


async def load_operation(connection: AsyncConnection, job_id: UUID, number: int) -> Operation | None:
    rows = await fetch(connection, _LOAD, job_id, number)
    return _operation(rows[0]) if rows else None


async def first_unfinished(connection: AsyncConnection, job_id: UUID) -> Operation | None:
    """The one to be carried out next; one that is running though nobody runs it was left behind by a crash."""
    rows = await fetch(connection, _FIRST_UNFINISHED, job_id)
    return _operation(rows[0]) if rows else None


async def page_of_operations(connection: AsyncConnection, job_id: UUID, *, before: int, most: int) -> list[Operation]:
    """Operations, newest first."""
    return [_operation(row) for row in await fetch(connection, _PAGE, job_id, before, most)]


async def jobs_in_need(connection: AsyncConnection) -> list[UUID]:
    """Jobs with work left that nobody waits for: operations, refits that are due, votes to be counted again."""
    return list(await connection.scalars(_JOBS_IN_NEED))


async def try_to_be_alone(connection: AsyncConnection, job_id: UUID) -> bool:
    """Keep other replicas from the chores of a job as long as this connection lasts, or until `no_longer_alone`."""
    free: bool = await connection.scalar(_TRY_TO_BE_ALONE, {"name": f"suffice-chores {job_id}"})
    await connection.commit()
    return free


async def no_longer_alone(connection: AsyncConnection, job_id: UUID) -> None:
    await connection.execute(_NO_LONGER_ALONE, {"name": f"suffice-chores {job_id}"})
    await connection.commit()


def _operation(row: Record) -> Operation:
    return Operation(**row)
