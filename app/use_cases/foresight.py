"""Make forecasts in the background, one by one: those that are asked for, and those that have grown old."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import JobUnknown
from app.store.database import is_lost
from app.store.jobs import load_job, lock_job, save_forecast
from app.store.operations import Operation, first_unfinished, jobs_to_foretell, waiting_operation
from app.use_cases.chores import alone, note, save_shown
from app.use_cases.clock import Clock
from app.use_cases.forecast_job import forecast_job, in_short
from app.use_cases.workshop import Workshop

log = structlog.get_logger()

FORECAST = "forecast"
_REST = 10  # times as long as the last ones took


class Foresight:
    """A queue of jobs and one process beside that of the refits: nobody who asks or answers ever waits for it.

    What was asked for stands in the database as an operation. What is made by itself is not written down before: the
    sweep finds it again as long as it is due.
    """

    def __init__(self, database: AsyncEngine, clock: Clock) -> None:
        self._database, self._clock = database, clock
        self._workshop = Workshop()
        self._waiting: list[UUID] = []
        self._task: asyncio.Task[None] | None = None
        self._rest = 0.0  # until when nothing is begun by itself, by the loop's time
        self._failed: dict[UUID, int] = {}  # the answers at which a forecast failed: it would again

    def begin(self, job_id: UUID) -> None:
        """See to the forecast of a job, after those of others."""
        if job_id not in self._waiting:
            self._waiting.append(job_id)
        if not self._busy:
            self._task = asyncio.create_task(self._see_to_all())

    @property
    def _busy(self) -> bool:
        return self._task is not None and not self._task.done()

    async def sweep(self) -> None:
        """Begin what is due, and what a crash has left behind; in a tenth of the time at most."""
        if self._busy or asyncio.get_running_loop().time() < self._rest:
            return
        async with self._database.connect() as connection:
            due = await jobs_to_foretell(connection)
        for job_id in due:
            self.begin(job_id)

    async def close(self) -> None:
        """Leave everything as it is: it can be taken up again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._workshop.close()

    async def _see_to_all(self) -> None:
        now = asyncio.get_running_loop().time
        started = now()
        try:
            await self._see_to_each()
        finally:
            self._rest = now() + _REST * (now() - started)

    async def _see_to_each(self) -> None:
        while self._waiting:
            job_id = self._waiting.pop(0)
            try:
                async with alone(self._database, job_id, FORECAST) as connection:
                    if connection is not None:
                        await self._see_to(connection, job_id)
            except JobUnknown:
                continue  # deleted meanwhile
            except Exception as error:
                if is_lost(error):
                    log.warning("forecast interrupted, will try again", job=str(job_id), error=str(error))
                else:
                    log.exception("forecast failed", job=str(job_id))

    async def _see_to(self, connection: AsyncConnection, job_id: UUID) -> None:
        async with connection.begin():
            job = await load_job(connection, job_id)
            asked = await first_unfinished(connection, job_id, FORECAST)
        if asked is None and self._failed.get(job_id) == job.answers:
            return
        try:
            await self._foretell(connection, job_id, asked)
        except JobUnknown:
            raise  # deleted meanwhile: it will not fail again
        except Exception as error:
            if not is_lost(error):
                self._failed[job_id] = job.answers
                failed = {"error": "the forecast failed; the log of the service tells why"}
                await self._finish(connection, job_id, asked, "failed", failed)
            raise

    async def _foretell(self, connection: AsyncConnection, job_id: UUID, asked: Operation | None) -> None:
        async def report(progress: float) -> None:
            if asked is not None:
                await save_shown(connection, job_id, replace(asked, state="running", progress=progress))

        await report(0.0)
        found = await forecast_job(connection, self._workshop, job_id, report)
        if found is None:
            await self._finish(connection, job_id, asked, "done", {"items": 0})
            return
        forecast, at_answers = found
        short = in_short(forecast, at_answers, self._clock())
        async with connection.begin():
            await save_forecast(connection, job_id, short)
        await self._finish(connection, job_id, asked, "done", short | {"curve": [asdict(at) for at in forecast.curve]})

    async def _finish(
        self, connection: AsyncConnection, job_id: UUID, asked: Operation | None, state: str, outcome: Mapping[str, Any]
    ) -> None:
        if asked is None:
            return
        progress = 1.0 if state == "done" else asked.progress
        ended = replace(asked, progress=progress, outcome=dict(outcome), finished_at=self._clock())
        await save_shown(connection, job_id, replace(ended, state="done" if state == "done" else "failed"))


async def ask_for_forecast(database: AsyncEngine, job_id: UUID, now: datetime) -> Operation:
    """Write down that a forecast is wanted; one that waits already will do."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        return await waiting_operation(connection, job_id, FORECAST) or await note(connection, job, FORECAST, now)
