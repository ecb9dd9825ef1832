"""The service as an ASGI application."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from itertools import count

import structlog
from fastapi import FastAPI

from app.api.audits import routes as audits
from app.api.catalog import routes as catalog
from app.api.health import routes as health
from app.api.http import docs_pages, problems
from app.api.http.logs import configure_logs
from app.api.http.middleware import BodyLimit, BodySizes, RequestLog, TimeLimit
from app.api.http.openapi import TAGS, DocumentedApp, operation_id
from app.api.http.services import Services
from app.api.items import routes as items
from app.api.jobs import routes as jobs
from app.api.operations import routes as operations
from app.api.plans import routes as plans
from app.api.results import recorded_answers
from app.api.results import routes as results
from app.api.work import routes as work
from app.api.workers import routes as workers
from app.errors import StartupError
from app.settings import Settings
from app.store.connection import LOST, create_engine
from app.use_cases.clock import Clock
from app.use_cases.items.import_slots import ImportSlots
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.lanes import CONNECTIONS, create_runner
from app.use_cases.results.fit_answers import Fits
from app.use_cases.work.batching import JobBatcher
from app.use_cases.work.held_assignments import sweep

log = structlog.get_logger()

_DESCRIPTION = """\
*Ask the crowd just enough.* Suffice tells a crowdsourcing platform which item to label next, whom to ask, and when an
item's answer is good enough to stop, so that a budget buys as many trustworthy labels as possible.

Try it from top to bottom: **create a job**, **add items**, **get the next items for a worker**, **send an answer**,
**read the labels**. Every example runs as it is: on this page, `the-job-you-created-last` is replaced by the id of the
job that you created last. Every error is an [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problem with a stable
`code`, a sentence in `detail`, and the wrong fields in `errors`.
"""

_UTC_NOW = partial(datetime.now, UTC)
_SWEEPS_PER_RUNNER_SWEEP = 10  # interrupted work can wait for some sweeps
_BUSIEST_FIRST = (work, jobs, items, workers, results, recorded_answers, operations, audits, plans, catalog, health)


def create_app(settings: Settings | None = None, clock: Clock = _UTC_NOW) -> FastAPI:
    """Build the application and its services; nothing connects to the database yet."""
    settings = settings or Settings()
    app = DocumentedApp(
        title="Suffice",
        version=version("suffice"),
        description=_DESCRIPTION,
        openapi_tags=[{"name": name, "description": text} for name, text in TAGS.items()],
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=operation_id,
        separate_input_output_schemas=False,
    )
    app.state.services = create_services(settings, clock)
    problems.install(app)
    docs_pages.install(app)
    for module in _BUSIEST_FIRST:
        app.include_router(module.router)
    sizes = BodySizes(settings.max_body_bytes, settings.max_answers_bytes, settings.max_import_bytes)
    app.add_middleware(BodyLimit, sizes=sizes)
    app.add_middleware(TimeLimit, seconds=settings.request_seconds)
    app.add_middleware(RequestLog, level=settings.log_level)
    return app


def create_services(settings: Settings, clock: Clock) -> Services:
    """Build what the endpoints of an application use; `shut_down` closes it."""
    if settings.database_url is None:
        raise StartupError(
            "DATABASE_URL is not set. Set it, or run `suffice serve`, which starts a database of its own"
        )
    database = create_engine(settings.database_url, settings.database_connections)
    background = create_engine(settings.database_url, CONNECTIONS)
    job_locks = JobLocks()
    runner = create_runner(background, clock, job_locks)
    return Services(
        settings=settings,
        clock=clock,
        database=database,
        background_database=background,
        job_locks=job_locks,
        batcher=JobBatcher(database, clock, runner),
        fits=Fits(),
        import_slots=ImportSlots(),
        runner=runner,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    services: Services = app.state.services
    configure_logs(services.settings.log_level)  # not earlier: building an application leaves the process as it was
    _exempt_modules_from_collection()
    sweeper = asyncio.create_task(_sweep_forever(services))
    try:
        yield
    finally:
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
        await services.close()


async def shut_down(app: FastAPI) -> None:
    """Finish the requests under way and close all connections, for an application that was never started."""
    services: Services = app.state.services
    await services.close()


def _exempt_modules_from_collection() -> None:
    """Exempt loaded modules from garbage collection: scanning them repeatedly costs a tenth of the throughput."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


async def _sweep_forever(services: Services) -> None:
    """End expired assignments and resume interrupted work, even if no request arrives."""
    for rounds in count():
        await asyncio.sleep(services.settings.sweep_seconds)
        try:
            keep = timedelta(hours=services.settings.idempotency_hours)
            await sweep(services.database, services.clock(), keep_responses=keep)
            if rounds % _SWEEPS_PER_RUNNER_SWEEP == 0:
                await services.runner.sweep()
        except LOST as error:
            log.warning("sweep failed, will try again", error=str(error))
        except Exception:
            log.exception("sweep failed, will try again")
