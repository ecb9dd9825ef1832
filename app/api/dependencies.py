"""What endpoints need: the database, the time, and the job that the path names.

Coroutines all, although none waits: FastAPI sends plain functions to a thread, which costs more than the rest.
"""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request
from sqlalchemy.ext.asyncio import AsyncEngine

from app.errors import JobUnknown
from app.use_cases.clock import Clock
from app.use_cases.desk import Desk
from app.use_cases.fit_answers import Fits
from app.use_cases.turns import Turns

ANY_JOB = "the-job-you-created-last"  # in the documentation's examples; the page at /docs puts the real id in its place


async def _database(request: Request) -> AsyncEngine:
    engine: AsyncEngine = request.app.state.database
    return engine


async def _fits(request: Request) -> Fits:
    fits: Fits = request.app.state.fits
    return fits


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


async def _turns(request: Request) -> Turns:
    turns: Turns = request.app.state.turns
    return turns


async def _clock(request: Request) -> Clock:
    clock: Clock = request.app.state.clock
    return clock


async def _job_id(
    job: Annotated[str, Path(description="The job's id", json_schema_extra={"example": ANY_JOB})],
) -> UUID:
    try:
        return UUID(job)
    except ValueError:
        raise JobUnknown(f"There is no job {job!r}") from None


Database = Annotated[AsyncEngine, Depends(_database)]
Recent = Annotated[Fits, Depends(_fits)]
Time = Annotated[Clock, Depends(_clock)]
AtDesk = Annotated[Desk, Depends(_desk)]
InTurn = Annotated[Turns, Depends(_turns)]
JobId = Annotated[UUID, Depends(_job_id)]
