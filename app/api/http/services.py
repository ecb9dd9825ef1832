"""The dependencies of endpoints: all services in one typed object, and the job id from the path."""

from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Path, Request
from sqlalchemy.ext.asyncio import AsyncEngine

from app.errors import JobUnknown, shortened
from app.settings import Settings
from app.use_cases.clock import Clock
from app.use_cases.items.import_slots import ImportSlots
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.runner import BackgroundRunner
from app.use_cases.results.fit_answers import Fits
from app.use_cases.work.batching import JobBatcher

ANY_JOB = "the-job-you-created-last"  # in examples of the documentation; /docs replaces it with a real id


@dataclass(frozen=True, kw_only=True)
class Services:
    """All services of the application. `main` creates it once; endpoints get it as `ServicesOf`."""

    settings: Settings
    clock: Clock
    database: AsyncEngine
    background_database: AsyncEngine  # a separate pool, because a refit holds a connection for a long time
    job_locks: JobLocks
    batcher: JobBatcher
    fits: Fits
    import_slots: ImportSlots
    runner: BackgroundRunner

    async def close(self) -> None:
        """Wait for running requests and background work, then close the connections."""
        await self.batcher.close()
        await self.runner.close()
        await self.background_database.dispose()
        await self.database.dispose()


def services_of(request: Request) -> Services:
    """Return the services of the application that received the request."""
    services: Services = request.app.state.services
    return services


# Coroutines, although they never wait: FastAPI would run plain functions in a thread, which costs more.
async def _services(request: Request) -> Services:
    return services_of(request)


async def _job_id(
    job: Annotated[str, Path(description="The job's id", json_schema_extra={"example": ANY_JOB})],
) -> UUID:
    try:
        return UUID(job)
    except ValueError:
        raise JobUnknown(f"There is no job {shortened(job)}. GET /v1/jobs lists all jobs.") from None


ServicesOf = Annotated[Services, Depends(_services)]
JobId = Annotated[UUID, Depends(_job_id)]
