"""The service as an ASGI application."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from itertools import count
from typing import Any

import structlog
from fastapi import FastAPI

from app.api import (
    answers,
    assignments,
    catalog,
    docs,
    given_answers,
    health,
    items,
    jobs,
    next,  # noqa: A004  named by its noun
    operations,
    plans,
    problems,
    replays,
    results,
    workers,
)
from app.api.body_limit import BodyLimit
from app.api.item_files import Imports
from app.api.request_log import RequestLog, configure_logs
from app.api.time_limit import TimeLimit
from app.errors import StartupError
from app.settings import Settings
from app.store.database import LOST, create_engine
from app.use_cases.chores import Chores
from app.use_cases.clock import Clock
from app.use_cases.desk import Desk
from app.use_cases.fit_answers import Fits
from app.use_cases.foresight import Foresight
from app.use_cases.lab import Lab
from app.use_cases.release_expired import sweep
from app.use_cases.turns import Turns

log = structlog.get_logger()

_DESCRIPTION = """\
*Ask the crowd just enough.* Suffice tells a crowdsourcing platform which item to label next, whom to ask, and when an
item's answer is good enough to stop, so that a budget buys as many trustworthy labels as it can.

Try it from top to bottom: **create a job**, **add items**, **get the next items for a worker**, **send an answer**,
**read the labels**. Each example runs as it stands; on this page `the-job-you-created-last` becomes the id of the job
that you created last. Errors are [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems with a stable `code`.
"""

_REFITS = 2  # jobs that are refitted at once
_BACKGROUND = _REFITS + 1  # connections: the last is for forecasts, which are made one by one
_ROUNDS_PER_CHORES = 10  # of the sweep: what a crash has left behind need not be found at once

_READING_ORDER = ("plans", "jobs", "items", "workers", "work", "results", "operations", "catalog", "health")


class _Service(FastAPI):
    """Routes are tried in the order of how busy they are, and documented in the order in which people read."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            schema = super().openapi()
            schema["paths"] = dict(sorted(schema["paths"].items(), key=_reading_order))
        return super().openapi()


def _reading_order(path: tuple[str, dict[str, Any]]) -> int:
    operation, *_ = path[1].values()
    tags: list[str] = operation.get("tags", ["health"])
    return _READING_ORDER.index(tags[0])


def _utc_now() -> datetime:
    return datetime.now(UTC)


def create_app(settings: Settings | None = None, clock: Clock = _utc_now) -> FastAPI:
    settings = settings or Settings()
    if settings.database_url is None:
        raise StartupError("DATABASE_URL is not set; `suffice serve` starts a database of its own")
    configure_logs(settings.log_level)
    app = _Service(
        title="Suffice",
        version=version("suffice"),
        description=_DESCRIPTION,
        openapi_tags=[{"name": name} for name in _READING_ORDER],
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.settings = settings
    app.state.clock = clock
    app.state.fits = Fits()
    app.state.imports = Imports()
    app.state.database = create_engine(settings.database_url, settings.database_connections)
    app.state.turns = Turns()
    # A pool of their own: a refit holds a connection for as long as it takes, and nobody shall wait for that.
    app.state.background = create_engine(settings.database_url, _BACKGROUND)
    app.state.lab = Lab(create_engine(settings.database_url, 1), clock)
    app.state.chores = Chores(app.state.background, clock, app.state.turns, at_once=_REFITS)
    app.state.foresight = Foresight(app.state.background, clock)
    app.state.desk = Desk(app.state.database, clock, app.state.chores)
    problems.install(app)
    docs.install(app)
    for module in (
        next,
        answers,
        assignments,
        jobs,
        items,
        workers,
        results,
        given_answers,
        operations,
        replays,
        plans,
        catalog,
        health,
    ):  # the busiest first
        app.include_router(module.router)
    app.add_middleware(BodyLimit, most=settings.max_body_bytes, most_imported=settings.max_import_bytes)
    app.add_middleware(TimeLimit, seconds=settings.request_seconds)
    app.add_middleware(RequestLog, level=settings.log_level)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    _spare_the_collector()
    sweeper = asyncio.create_task(_sweep_forever(app))
    try:
        yield
    finally:
        sweeper.cancel()
        with suppress(asyncio.CancelledError):
            await sweeper
        await shut_down(app)


async def shut_down(app: FastAPI) -> None:
    """Let those who are being served finish, and let go of everything."""
    await app.state.desk.close()
    await app.state.chores.close()
    await app.state.lab.close()
    await app.state.foresight.close()
    await app.state.background.dispose()
    await app.state.database.dispose()


def _spare_the_collector() -> None:
    """What is loaded stays loaded: looking through it again and again for garbage costs a tenth of the throughput."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


async def _sweep_forever(app: FastAPI) -> None:
    """Leases expire by themselves, whether anybody asks or not."""
    settings: Settings = app.state.settings
    for rounds in count():
        await asyncio.sleep(settings.sweep_seconds)
        try:
            keep = timedelta(hours=settings.idempotency_hours)
            await sweep(app.state.database, app.state.clock(), keep_responses=keep)
            if rounds % _ROUNDS_PER_CHORES == 0:
                await app.state.chores.sweep()
                app.state.lab.begin()
                await app.state.foresight.sweep()
        except LOST as error:
            log.warning("sweep failed, will try again", error=str(error))
        except Exception:
            log.exception("sweep failed, will try again")
