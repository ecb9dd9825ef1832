"""The background runner: work on jobs that no request waits for."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal, Protocol
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import JobUnknown
from app.store.connection import is_lost
from app.store.operations import lock_work, unlock_work
from app.use_cases.operations.worker_process import WorkerProcess

log = structlog.get_logger()

LaneName = Literal["upkeep", "forecast", "replay"]
_REST = 10  # times as long as the work took


class Handler(Protocol):
    """One kind of background work."""

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        """List the jobs that need this work: it was requested, is due, or was interrupted by a crash."""

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        """Do one piece of this work on a job; False if there is none. The caller keeps other replicas out."""


class Lane:
    """Handlers that share a lock per job, a worker process and a number of connections.

    Within a lane, the work on one job runs one piece after the other, starting with the first handler, and jobs take
    turns. Lanes do not wait for each other.
    """

    def __init__(
        self,
        name: LaneName,
        handlers: Sequence[Handler],
        process: WorkerProcess,
        *,
        jobs_at_once: int,
        sweep_rests: bool = False,
    ) -> None:
        """With `sweep_rests`, work that the sweep starts takes at most a tenth of the time, one piece at a time."""
        self.name = name
        self.handlers = handlers
        self.process = process
        self.sweep_rests = sweep_rests
        self.slots = asyncio.Semaphore(jobs_at_once)  # first come, first served, so that jobs take turns
        self.tasks: dict[UUID, asyncio.Task[None]] = {}
        self.again: set[UUID] = set()  # jobs that got more work while a task worked on them
        self.rests_until: dict[UUID, float] = {}  # by the time of the event loop

    def is_rested(self, job_id: UUID) -> bool:
        """Whether work on this job has recently taken at most a tenth of the time."""
        return asyncio.get_running_loop().time() >= self.rests_until.get(job_id, 0.0)

    def is_idle(self) -> bool:
        """Whether nothing runs, and work in this lane has recently taken at most a tenth of the time."""
        return not self.tasks and all(self.is_rested(job_id) for job_id in self.rests_until)

    def rest(self, job_id: UUID, worked: float) -> None:
        now = asyncio.get_running_loop().time()
        self.rests_until = {job: until for job, until in self.rests_until.items() if until > now}
        self.rests_until[job_id] = now + _REST * worked


class BackgroundRunner:
    """Runs the handlers of each lane: one task per job and lane, and an advisory lock against other replicas.

    All pending work is stored in the database, so a crash loses nothing: the sweep finds it again.
    """

    def __init__(self, database: AsyncEngine, lanes: Sequence[Lane]) -> None:
        """`database` needs one connection for each job that is worked on at the same time, and one for the sweep."""
        self._database = database
        self.lanes: dict[LaneName, Lane] = {lane.name: lane for lane in lanes}

    def begin(self, job_id: UUID, lane_name: LaneName = "upkeep") -> asyncio.Task[None]:
        """Start the job's work in this lane; if it already runs, look for more when it is done.

        Returns the task, which ends when no such work is left. It does not raise: errors are logged.
        """
        lane = self.lanes[lane_name]
        if job_id in lane.tasks:
            lane.again.add(job_id)
        else:
            lane.tasks[job_id] = asyncio.create_task(self._work_on(lane, job_id))
        return lane.tasks[job_id]

    def begin_if_rested(self, job_id: UUID, lane_name: LaneName = "upkeep") -> None:
        """Begin, unless the job had such work recently: it may take at most a tenth of a busy job's time."""
        if self.lanes[lane_name].is_rested(job_id):
            self.begin(job_id, lane_name)

    async def sweep(self) -> None:
        """Begin work that is due or was interrupted by a crash."""
        for lane in self.lanes.values():
            if lane.sweep_rests and not lane.is_idle():
                continue
            async with self._database.connect() as connection:
                due = {job_id: None for handler in lane.handlers for job_id in await handler.due(connection)}
            for job_id in due:
                if job_id not in lane.tasks:
                    self.begin(job_id, lane.name)

    async def close(self) -> None:
        """Stop all work. Unfinished work stays in the database, and the next sweep begins it again."""
        tasks = [task for lane in self.lanes.values() for task in lane.tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for lane in self.lanes.values():
            lane.process.close()

    async def _work_on(self, lane: Lane, job_id: UUID) -> None:
        now = asyncio.get_running_loop().time
        started = now()
        try:
            more = True
            while more:
                lane.again.discard(job_id)
                more = await self._run_next(lane, job_id) or job_id in lane.again
        except JobUnknown:
            return  # the job was deleted in the meantime
        except Exception as error:
            if is_lost(error):
                log.warning("work interrupted, will try again", lane=lane.name, job=str(job_id), error=str(error))
            else:
                log.exception("work failed", lane=lane.name, job=str(job_id))
        finally:
            lane.rest(job_id, now() - started)
            lane.tasks.pop(job_id, None)  # no await since `again` was checked, so a later `begin` starts a new task

    async def _run_next(self, lane: Lane, job_id: UUID) -> bool:
        """Run the first handler that finds work; False if no handler does, or if another replica works on the job."""
        async with lane.slots, _exclusively(self._database, job_id, lane.name) as connection:
            if connection is None:
                return False
            for handler in lane.handlers:
                if await handler.run(connection, job_id):
                    return True
        return False


@asynccontextmanager
async def _exclusively(database: AsyncEngine, job_id: UUID, work: str) -> AsyncIterator[AsyncConnection | None]:
    """Yield a connection that holds the advisory lock for this work on a job; None if another replica holds it."""
    async with database.connect() as connection:
        if not await lock_work(connection, job_id, work):
            yield None
            return
        try:
            yield connection
        finally:
            await connection.rollback()
            await unlock_work(connection, job_id, work)
