"""The background runner: work on jobs that no request waits for, away from the requests."""

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
        """List the jobs that need this work: it was asked for, is due by itself, or was interrupted by a crash."""

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        """Do one piece of this work on a job; False if there is none. No other replica does the same meanwhile."""


class Lane:
    """Handlers that share a lock per job, a worker process and a number of connections.

    A job's work in one lane happens one piece after the other, that of the first handler first. Lanes do not wait for
    each other, and within a lane jobs take turns.
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
        """With `sweep_rests`, the sweep starts work only in a tenth of the time, and only if none is under way."""
        self.name = name
        self.handlers = handlers
        self.process = process
        self.sweep_rests = sweep_rests
        self.slots = asyncio.Semaphore(jobs_at_once)  # first come, first served: that makes jobs take turns
        self.tasks: dict[UUID, asyncio.Task[None]] = {}
        self.again: set[UUID] = set()  # jobs for which more work was announced while they were worked on
        self.rests_until: dict[UUID, float] = {}  # by the time of the event loop

    def is_rested(self, job_id: UUID) -> bool:
        """Whether work on this job has taken at most a tenth of the time lately."""
        return asyncio.get_running_loop().time() >= self.rests_until.get(job_id, 0.0)

    def is_idle(self) -> bool:
        """Whether nothing is under way, and work in this lane has taken at most a tenth of the time lately."""
        return not self.tasks and all(self.is_rested(job_id) for job_id in self.rests_until)

    def rest(self, job_id: UUID, worked: float) -> None:
        now = asyncio.get_running_loop().time()
        self.rests_until = {job: until for job, until in self.rests_until.items() if until > now}
        self.rests_until[job_id] = now + _REST * worked


class BackgroundRunner:
    """Runs the handlers of each lane: one task per job and lane, and an advisory lock against other replicas.

    All that is to be done is stored in the database, so a crash loses nothing: the sweep finds it again.
    """

    def __init__(self, database: AsyncEngine, lanes: Sequence[Lane]) -> None:
        """`database` needs a connection for each job that the lanes work on at once, and one for the sweep."""
        self._database = database
        self.lanes: dict[LaneName, Lane] = {lane.name: lane for lane in lanes}

    def begin(self, job_id: UUID, lane_name: LaneName = "upkeep") -> asyncio.Task[None]:
        """Do the job's work in this lane; if that is under way, look for more when it is done.

        Returns the task, which ends when the job has no such work left. It raises nothing: errors are logged.
        """
        lane = self.lanes[lane_name]
        if job_id in lane.tasks:
            lane.again.add(job_id)
        else:
            lane.tasks[job_id] = asyncio.create_task(self._work_on(lane, job_id))
        return lane.tasks[job_id]

    def begin_if_rested(self, job_id: UUID, lane_name: LaneName = "upkeep") -> None:
        """Begin, but not while a crowd would notice: such work takes at most a tenth of a busy job's time."""
        if self.lanes[lane_name].is_rested(job_id):
            self.begin(job_id, lane_name)

    async def sweep(self) -> None:
        """Begin the work that is due or that a crash has interrupted."""
        for lane in self.lanes.values():
            if lane.sweep_rests and not lane.is_idle():
                continue
            async with self._database.connect() as connection:
                due = {job_id: None for handler in lane.handlers for job_id in await handler.due(connection)}
            for job_id in due:
                if job_id not in lane.tasks:
                    self.begin(job_id, lane.name)

    async def close(self) -> None:
        """Stop all work. What is unfinished stays so in the database, and the next sweep begins it again."""
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
            return  # the job was deleted meanwhile
        except Exception as error:
            if is_lost(error):
                log.warning("work interrupted, will try again", lane=lane.name, job=str(job_id), error=str(error))
            else:
                log.exception("work failed", lane=lane.name, job=str(job_id))
        finally:
            lane.rest(job_id, now() - started)
            lane.tasks.pop(job_id, None)  # no await since the last look at `again`: a later `begin` starts a new task

    async def _run_next(self, lane: Lane, job_id: UUID) -> bool:
        """Run the first handler that finds work; False if none does, or if another replica works on the job."""
        async with lane.slots, _exclusively(self._database, job_id, lane.name) as connection:
            if connection is None:
                return False
            for handler in lane.handlers:
                if await handler.run(connection, job_id):
                    return True
        return False


@asynccontextmanager
async def _exclusively(database: AsyncEngine, job_id: UUID, work: str) -> AsyncIterator[AsyncConnection | None]:
    """A connection that holds the advisory lock for this work on a job; None if another replica holds it."""
    async with database.connect() as connection:
        if not await lock_work(connection, job_id, work):
            yield None
            return
        try:
            yield connection
        finally:
            await connection.rollback()
            await unlock_work(connection, job_id, work)
