"""Operations: long work on a job that a requester can watch."""

from dataclasses import asdict, dataclass, fields
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import ColumnElement, insert, literal_column, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.tables import operation

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


_COLUMNS = [operation.c[field.name] for field in fields(Operation)]
_UNFINISHED = operation.c.state.in_([literal_column("'waiting'"), literal_column("'running'")])  # as in the index
_JOBS_IN_NEED = text("""
    SELECT job_id FROM operation WHERE state IN ('waiting', 'running') AND kind = 'refit'
    UNION SELECT job_id FROM job WHERE answers >= refit_at
    UNION SELECT job_id FROM worker WHERE recount""")
# A forecast is made once there are answers to learn from, and again when they have grown by half
# or items were added. One that a change of budget or requirement has outdated is gone.
_JOBS_TO_FORETELL = text("""
    SELECT job_id FROM operation WHERE state IN ('waiting', 'running') AND kind = 'forecast'
    UNION SELECT job_id FROM job
    WHERE answers >= 20 AND items > resolved + given_up AND NOT paused
        AND (answers >= 1.5 * coalesce((forecast ->> 'at_answers')::bigint, 0)
            OR (forecast ->> 'items')::bigint <> items)""")
_TRY_TO_BE_ALONE = text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))")
_NO_LONGER_ALONE = text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))")


async def insert_operation(connection: AsyncConnection, job_id: UUID, new: Operation) -> None:
    await connection.execute(insert(operation).values(job_id=job_id, **asdict(new)))


async def save_operation(connection: AsyncConnection, job_id: UUID, changed: Operation) -> None:
    this = (operation.c.job_id == job_id) & (operation.c.operation_id == changed.operation_id)
    await connection.execute(update(operation).where(this).values(**asdict(changed)))


async def load_operation(connection: AsyncConnection, job_id: UUID, number: int) -> Operation | None:
    found = await _operations(connection, job_id, operation.c.operation_id == number)
    return found[0] if found else None


async def first_unfinished(connection: AsyncConnection, job_id: UUID, kind: str) -> Operation | None:
    """The one to be carried out next; one that is running though nobody runs it was left behind by a crash."""
    found = await _operations(connection, job_id, _UNFINISHED & (operation.c.kind == kind))
    return found[-1] if found else None


async def count_unfinished(connection: AsyncConnection, job_id: UUID, kind: str) -> int:
    return len(await _operations(connection, job_id, _UNFINISHED & (operation.c.kind == kind)))


async def waiting_operation(connection: AsyncConnection, job_id: UUID, kind: str) -> Operation | None:
    """One that nobody has begun."""
    waits = _UNFINISHED & (operation.c.state == "waiting") & (operation.c.kind == kind)
    found = await _operations(connection, job_id, waits)
    return found[-1] if found else None


async def page_of_operations(connection: AsyncConnection, job_id: UUID, *, before: int, most: int) -> list[Operation]:
    """Operations, newest first."""
    return await _operations(connection, job_id, operation.c.operation_id < before, most)


async def jobs_with_unfinished(connection: AsyncConnection, kind: str) -> list[UUID]:
    """Jobs with operations of this kind that are yet to be carried out."""
    query = select(operation.c.job_id).where(_UNFINISHED, operation.c.kind == kind).distinct()
    return list(await connection.scalars(query))


async def jobs_in_need(connection: AsyncConnection) -> list[UUID]:
    """Jobs with work left that nobody waits for: refits that were asked for or are due, votes to be counted again."""
    return list(await connection.scalars(_JOBS_IN_NEED))


async def jobs_to_foretell(connection: AsyncConnection) -> list[UUID]:
    """Jobs whose forecast was asked for, or is missing or old."""
    return list(await connection.scalars(_JOBS_TO_FORETELL))


async def try_to_be_alone(connection: AsyncConnection, job_id: UUID, work: str) -> bool:
    """Keep other replicas from this work on a job as long as this connection lasts, or until `no_longer_alone`."""
    free: bool = await connection.scalar(_TRY_TO_BE_ALONE, {"name": f"suffice-{work} {job_id}"})
    await connection.commit()
    return free


async def no_longer_alone(connection: AsyncConnection, job_id: UUID, work: str) -> None:
    await connection.execute(_NO_LONGER_ALONE, {"name": f"suffice-{work} {job_id}"})
    await connection.commit()


async def _operations(
    connection: AsyncConnection, job_id: UUID, which: ColumnElement[bool], most: int | None = None
) -> list[Operation]:
    query = select(*_COLUMNS).where(operation.c.job_id == job_id, which).order_by(operation.c.operation_id.desc())
    return [Operation(**row) for row in (await connection.execute(query.limit(most))).mappings()]
