"""Create an operation, carry it out, show its progress, and record how it ended."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.operation import Operation, OperationState
from app.errors import JobUnknown, SufficeError
from app.store.connection import is_lost
from app.store.jobs import lock_job, save_ledger
from app.store.operations import insert_operation, save_operation, waiting_operation
from app.use_cases.clock import Clock
from app.use_cases.operations.worker_process import WorkLost

T = TypeVar("T")
Report = Callable[[float], Awaitable[None]]  # takes the progress, from 0 to 1
Outcome = dict[str, Any]

log = structlog.get_logger()

_STEP = 0.05  # smaller steps of progress are not saved
_ATTEMPTS = 3  # at work whose process is killed: the work itself may take too much memory


class Outdated(Exception):
    """The input of the work has changed in the meantime; the operation stays unfinished and runs again."""


async def create_operation(
    connection: AsyncConnection, job: Job, kind: str, now: datetime, outcome: Outcome | None = None
) -> Operation:
    """Insert a waiting operation of a job that this transaction has locked."""
    new = Operation(operation_id=job.operations + 1, kind=kind, outcome=outcome, created_at=now)
    await insert_operation(connection, job.job_id, new)
    await save_ledger(connection, replace(job, operations=new.operation_id))
    return new


async def request_operation(database: AsyncEngine, job_id: UUID, kind: str, now: datetime) -> Operation:
    """Return the job's waiting operation of this kind, or create one."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        waiting = await waiting_operation(connection, job_id, kind)
        return waiting or await create_operation(connection, job, kind, now)


async def carry_out(
    connection: AsyncConnection,
    job_id: UUID,
    operation: Operation,
    work: Callable[[Report], Awaitable[Outcome]],
    clock: Clock,
) -> OperationState:
    """Run the work of an operation, save its progress in steps, and record its outcome or why it failed.

    Returns the last state of the operation: `running` if it must run again. The caller handles a lost database and a
    deleted job: the operation then stays unchanged, and the sweep finds it again.
    """
    shown = replace(operation, state="running", progress=0.0)

    async def report(progress: float) -> None:
        nonlocal shown
        if progress - shown.progress >= _STEP:
            shown = replace(shown, progress=min(progress, 1.0))
            await _save(connection, job_id, shown)

    await _save(connection, job_id, shown)
    try:
        outcome = await retry_lost_work(lambda: work(report))
        ended = replace(shown, state="done", progress=1.0, outcome=outcome)
    except Outdated:
        return shown.state
    except JobUnknown:
        raise
    except SufficeError as error:
        ended = replace(shown, state="failed", outcome={"error": error.detail})
    except Exception as error:
        if is_lost(error):
            raise
        log.exception("operation failed", kind=operation.kind, job=str(job_id))
        why = f"The {operation.kind} failed because of an error in the service. The log of the service has the details."
        ended = replace(shown, state="failed", outcome={"error": why})
    await _save(connection, job_id, replace(ended, finished_at=clock()))
    return ended.state


async def retry_lost_work(work: Callable[[], Awaitable[T]]) -> T:
    """Run the work; if its process is killed, start it again, a few times."""
    for _ in range(_ATTEMPTS - 1):
        try:
            return await work()
        except WorkLost:
            log.warning("a worker process was killed, its work starts again")
    return await work()


async def _save(connection: AsyncConnection, job_id: UUID, shown: Operation) -> None:
    async with connection.begin():
        await save_operation(connection, job_id, shown)
