"""Operations (long work that a requester can watch), and which jobs need background work."""

from dataclasses import asdict, fields
from uuid import UUID

from sqlalchemy import ColumnElement, insert, literal_column, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.operation import Operation
from app.store.end_of_money import MONEY_IS_SPENT
from app.store.tables import operation

_COLUMNS = [operation.c[field.name] for field in fields(Operation)]
_UNFINISHED = operation.c.state.in_([literal_column("'waiting'"), literal_column("'running'")])  # as in the index
_JOBS_TO_RECOUNT = text("SELECT DISTINCT job_id FROM worker WHERE recount")
_JOBS_WITH_HISTORY = text("SELECT DISTINCT job_id FROM imported_answers")
_JOBS_TO_REPRICE = text("SELECT job_id FROM job WHERE repriced_to IS NOT NULL")
_JOBS_TO_REFIT = text("""
    SELECT job_id FROM operation WHERE state IN ('waiting', 'running') AND kind = 'refit'
    UNION SELECT job_id FROM job WHERE answers >= refit_at""")
# A job gets a forecast once it has answers to learn from, and a new one when the answers have grown by half or items
# were added; and, of the newest answers, when its items or its money end, or when a refit afterwards closes or reopens
# items. A change of budget, requirement or items deletes the forecast.
# Forecasts know no other kinds of answers.
_ONE_LABEL = "coalesce(policy -> 'answer' ->> 'kind', 'choice') IN ('choice', 'ordinal')"
_DUE_FORECASTS = f"""
    SELECT job_id FROM operation WHERE state IN ('waiting', 'running') AND kind = 'forecast'
    UNION SELECT job_id FROM job
    WHERE answers >= 20 AND items > resolved + given_up AND NOT paused
        AND (answers >= 1.5 * coalesce((forecast ->> 'at_answers')::bigint, 0)
            OR (forecast ->> 'items')::bigint <> items)
        AND {_ONE_LABEL}
    UNION SELECT job_id FROM job
    WHERE answers > 0 AND items = resolved + given_up
        AND (coalesce((forecast ->> 'at_answers')::bigint, -1) <> answers OR (forecast ->> 'items')::bigint <> items)
        AND {_ONE_LABEL}
    UNION SELECT job_id FROM job
    WHERE (coalesce((forecast ->> 'at_answers')::bigint, -1) <> answers OR (forecast ->> 'items')::bigint <> items
            OR (forecast ->> 'to_finish') IS NULL
            OR (forecast ->> 'open_items')::bigint IS DISTINCT FROM items - resolved - given_up)
        AND {MONEY_IS_SPENT} AND {_ONE_LABEL}"""
_JOBS_TO_FORECAST = text(_DUE_FORECASTS)
_NEEDS_FORECAST = text(f"SELECT EXISTS (SELECT FROM ({_DUE_FORECASTS}) AS due WHERE job_id = :job)")
_MAY_REOPEN = text("""
    SELECT EXISTS (SELECT FROM operation WHERE job_id = :job AND state IN ('waiting', 'running') AND kind = 'refit')
        AS refit, EXISTS (SELECT FROM worker WHERE job_id = :job AND recount) AS recount""")
_TRY_LOCK = text("SELECT pg_try_advisory_lock(hashtextextended(:name, 0))")
_UNLOCK = text("SELECT pg_advisory_unlock(hashtextextended(:name, 0))")


async def insert_operation(connection: AsyncConnection, job_id: UUID, new: Operation) -> None:
    await connection.execute(insert(operation).values(job_id=job_id, **asdict(new)))


async def save_operation(connection: AsyncConnection, job_id: UUID, changed: Operation) -> None:
    this = (operation.c.job_id == job_id) & (operation.c.operation_id == changed.operation_id)
    await connection.execute(update(operation).where(this).values(**asdict(changed)))


async def load_operation(connection: AsyncConnection, job_id: UUID, number: int) -> Operation | None:
    found = await _operations(connection, job_id, operation.c.operation_id == number)
    return found[0] if found else None


async def first_unfinished(connection: AsyncConnection, job_id: UUID, kind: str) -> Operation | None:
    """Load the oldest unfinished operation: a waiting one, or a running one that a crash has interrupted."""
    found = await _operations(connection, job_id, _UNFINISHED & (operation.c.kind == kind))
    return found[-1] if found else None


async def count_unfinished(connection: AsyncConnection, job_id: UUID, kind: str) -> int:
    return len(await _operations(connection, job_id, _UNFINISHED & (operation.c.kind == kind)))


async def waiting_operation(connection: AsyncConnection, job_id: UUID, kind: str) -> Operation | None:
    """Load the oldest operation of this kind that has not started."""
    waits = _UNFINISHED & (operation.c.state == "waiting") & (operation.c.kind == kind)
    found = await _operations(connection, job_id, waits)
    return found[-1] if found else None


async def page_of_operations(connection: AsyncConnection, job_id: UUID, *, before: int, most: int) -> list[Operation]:
    """Load operations, newest first."""
    return await _operations(connection, job_id, operation.c.operation_id < before, most)


async def jobs_with_unfinished(connection: AsyncConnection, kind: str) -> list[UUID]:
    """List jobs with unfinished operations of this kind."""
    query = select(operation.c.job_id).where(_UNFINISHED, operation.c.kind == kind).distinct()
    return list(await connection.scalars(query))


async def jobs_to_recount(connection: AsyncConnection) -> list[UUID]:
    """List jobs with votes to be removed from the counts or put back."""
    return list(await connection.scalars(_JOBS_TO_RECOUNT))


async def jobs_with_history(connection: AsyncConnection) -> list[UUID]:
    """List jobs with imported answers that wait to be recorded."""
    return list(await connection.scalars(_JOBS_WITH_HISTORY))


async def jobs_to_reprice(connection: AsyncConnection) -> list[UUID]:
    """List jobs with items to be judged by a new expected price."""
    return list(await connection.scalars(_JOBS_TO_REPRICE))


async def jobs_to_refit(connection: AsyncConnection) -> list[UUID]:
    """List jobs whose refit was asked for or is due."""
    return list(await connection.scalars(_JOBS_TO_REFIT))


async def jobs_to_forecast(connection: AsyncConnection) -> list[UUID]:
    """List jobs whose forecast was asked for, is missing or is out of date."""
    return list(await connection.scalars(_JOBS_TO_FORECAST))


async def needs_forecast(connection: AsyncConnection, job_id: UUID) -> bool:
    """Whether `jobs_to_forecast` would list this job."""
    needed: bool = await connection.scalar(_NEEDS_FORECAST, {"job": job_id})
    return needed


async def pending_verdicts(connection: AsyncConnection, job_id: UUID) -> tuple[bool, bool]:
    """Return whether a refit of the job is requested or running, and whether votes are being recounted."""
    row = (await connection.execute(_MAY_REOPEN, {"job": job_id})).one()
    return row.refit, row.recount


async def lock_work(connection: AsyncConnection, job_id: UUID, work: str) -> bool:
    """Try to lock this work on a job against other replicas, until `unlock_work` or the end of the connection.

    The lock belongs to the session, because the work commits many transactions.
    """
    free: bool = await connection.scalar(_TRY_LOCK, {"name": f"suffice-{work} {job_id}"})
    await connection.commit()
    return free


async def unlock_work(connection: AsyncConnection, job_id: UUID, work: str) -> None:
    """Release the lock of `lock_work`."""
    await connection.execute(_UNLOCK, {"name": f"suffice-{work} {job_id}"})
    await connection.commit()


async def _operations(
    connection: AsyncConnection, job_id: UUID, which: ColumnElement[bool], most: int | None = None
) -> list[Operation]:
    query = select(*_COLUMNS).where(operation.c.job_id == job_id, which).order_by(operation.c.operation_id.desc())
    return [Operation(**row) for row in (await connection.execute(query.limit(most))).mappings()]
