"""What a job needs done now and then, in the background: refits, and votes to be counted again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import JobUnknown
from app.store.database import is_lost
from app.store.jobs import Job, load_job, lock_job, save_ledger
from app.store.operations import (
    Operation,
    first_unfinished,
    insert_operation,
    jobs_in_need,
    no_longer_alone,
    save_operation,
    try_to_be_alone,
    waiting_operation,
)
from app.use_cases.clock import Clock
from app.use_cases.recount_votes import recount_pending
from app.use_cases.refit_job import Overtaken, refit_job
from app.use_cases.turns import Turns
from app.use_cases.workshop import Workshop

log = structlog.get_logger()

REFIT = "refit"
_WORK = "chores"
_REST = 10  # times as long as the chores took
_STEP = 0.05  # of progress, below which it is not worth writing down


class Chores:
    """One task per job and process; an advisory lock sees to it that only one replica is at a job's chores.

    Whatever is to be done stands in the database, so that a crash forgets nothing: the sweep finds it again.
    """

    def __init__(self, database: AsyncEngine, clock: Clock, turns: Turns, *, at_once: int = 1) -> None:
        """Each job that is seen to holds one connection of `database` all the while: `at_once` are there to be held."""
        self._database, self._clock, self._turns = database, clock, turns
        self._workshop = Workshop()
        self._room = asyncio.Semaphore(at_once)
        self._tasks: dict[UUID, asyncio.Task[None]] = {}
        self._again: set[UUID] = set()
        self._rest: dict[UUID, float] = {}  # until when a job's chores should let the crowd work, by the loop's time

    def begin_unless_at_rest(self, job_id: UUID) -> None:
        """The same as `begin`, but not while a crowd would notice: chores take a tenth of a busy job's time at most."""
        if asyncio.get_running_loop().time() >= self._rest.get(job_id, 0.0):
            self.begin(job_id)

    def begin(self, job_id: UUID) -> asyncio.Task[None]:
        """See to a job, unless that is under way: then once more afterwards."""
        if job_id in self._tasks:
            self._again.add(job_id)
            return self._tasks[job_id]
        self._tasks[job_id] = asyncio.create_task(self._see_to(job_id))
        return self._tasks[job_id]

    async def sweep(self) -> None:
        """Begin what nobody has begun, or what a crash has left behind."""
        async with self._database.connect() as connection:
            in_need = await jobs_in_need(connection)
        for job_id in in_need:
            if job_id not in self._tasks:
                self.begin(job_id)

    async def close(self) -> None:
        """Leave everything as it is: it can be taken up again."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._workshop.close()

    async def _see_to(self, job_id: UUID) -> None:
        now = asyncio.get_running_loop().time
        started = now()
        try:
            while True:
                self._again.discard(job_id)
                async with self._room, alone(self._database, job_id, _WORK) as connection:
                    while connection is not None and await self._next_chore(connection, job_id):
                        pass
                if job_id not in self._again:
                    return
        except JobUnknown:
            return  # deleted meanwhile
        except Exception as error:
            if is_lost(error):
                log.warning("chores interrupted, will try again", job=str(job_id), error=str(error))
            else:
                log.exception("chores failed", job=str(job_id))
        finally:
            self._rest = {job: until for job, until in self._rest.items() if until > now()}
            self._rest[job_id] = now() + _REST * (now() - started)
            self._tasks.pop(job_id, None)  # at once: whoever comes now begins anew

    async def _next_chore(self, connection: AsyncConnection, job_id: UUID) -> bool:
        """Do one; False where none is left."""
        await recount_pending(partial(_transaction, connection), self._turns, job_id, self._clock)
        async with connection.begin():
            job = await load_job(connection, job_id)
            asked = await first_unfinished(connection, job_id, REFIT)
        if asked is None and is_due(job):
            asked = await _note_refit(connection, job_id, self._clock())
        if asked is None:
            return False
        await self._refit(connection, job_id, asked)
        return True

    async def _refit(self, connection: AsyncConnection, job_id: UUID, asked: Operation) -> None:
        shown = replace(asked, state="running", progress=0.0)

        async def report(progress: float) -> None:
            nonlocal shown
            if progress - shown.progress >= _STEP:
                shown = replace(shown, progress=min(progress, 1.0))
                await save_shown(connection, job_id, shown)

        await save_shown(connection, job_id, shown)
        try:
            outcome = await refit_job(connection, self._workshop, job_id, self._clock, report)
        except Overtaken:
            return  # it stands there as unfinished, and so comes next
        except Exception as error:
            if not is_lost(error):
                await _put_off(connection, job_id)
                failed = {"error": "the fit failed; the log of the service tells why"}
                await save_shown(
                    connection, job_id, replace(shown, state="failed", outcome=failed, finished_at=self._clock())
                )
            raise
        done = replace(shown, state="done", progress=1.0, outcome=outcome, finished_at=self._clock())
        await save_shown(connection, job_id, done)


def calls_for_chores(before: Job, after: Job) -> bool:
    """A transaction has left something to be done: a refit is due, or somebody was blocked whose votes remain."""
    return is_due(after) or after.blocks > before.blocks


def is_due(job: Job) -> bool:
    """The job has had so many answers since all of them were fitted that they should be fitted again."""
    return job.refit_at is not None and job.answers >= job.refit_at


async def ask_for_refit(database: AsyncEngine, job_id: UUID, now: datetime) -> Operation:
    """Write down that a refit is wanted; one that waits already will do."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        return await waiting_operation(connection, job_id, REFIT) or await note(connection, job, REFIT, now)


async def _note_refit(connection: AsyncConnection, job_id: UUID, now: datetime) -> Operation:
    async with connection.begin():
        return await note(connection, await lock_job(connection, job_id), REFIT, now)


async def note(
    connection: AsyncConnection, job: Job, kind: str, now: datetime, outcome: dict[str, Any] | None = None
) -> Operation:
    """Write down an operation of a job that this transaction has locked."""
    new = Operation(operation_id=job.operations + 1, kind=kind, outcome=outcome, created_at=now)
    await insert_operation(connection, job.job_id, new)
    await save_ledger(connection, replace(job, operations=new.operation_id))
    return new


async def _put_off(connection: AsyncConnection, job_id: UUID) -> None:
    """A fit that fails once will fail again: wait for more answers."""
    async with connection.begin():
        job = await lock_job(connection, job_id)
        if is_due(job) and job.rules.refit is not None:
            await save_ledger(connection, replace(job, refit_at=job.rules.refit.next_at(job.answers)))


async def save_shown(connection: AsyncConnection, job_id: UUID, shown: Operation) -> None:
    async with connection.begin():
        await save_operation(connection, job_id, shown)


@asynccontextmanager
async def _transaction(connection: AsyncConnection) -> AsyncIterator[AsyncConnection]:
    async with connection.begin():
        yield connection


@asynccontextmanager
async def alone(database: AsyncEngine, job_id: UUID, work: str) -> AsyncIterator[AsyncConnection | None]:
    """A connection for as long as it takes, with every other replica kept out; None where one is at it."""
    async with database.connect() as connection:
        if not await try_to_be_alone(connection, job_id, work):
            yield None
            return
        try:
            yield connection
        finally:
            await connection.rollback()
            await no_longer_alone(connection, job_id, work)
