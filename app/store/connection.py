"""Connect to Postgres, and migrate its schema."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from app.errors import StartupError

MIGRATIONS = Path(__file__).parent.parent.parent / "migrations"
CONNECT_TIMEOUT = 5.0  # seconds
# Plans for any job, not for the one that is asked about. Statistics list the jobs that exist when they are taken; a
# newer job is expected to have next to no rows, and a plan made for it may read everything once per worker: on a job of
# 5,000 answers, beside 30 older jobs, a statement took 12 s, and 24 ms with a plan for any job.
_SETTINGS = "SET plan_cache_mode = force_generic_plan"


def create_engine(url: str, connections: int) -> AsyncEngine:
    """Create a pool of connections; `url` is any address that libpq accepts."""
    return create_async_engine(
        "postgresql+asyncpg://",
        # The driver reads the address itself, so that options such as sslmode keep their usual meaning.
        async_creator=lambda: _connect(url),
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,  # data of workers and requesters does not belong in a log
    )


async def _connect(url: str) -> asyncpg.Connection:
    connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT)
    try:
        await connection.execute(_SETTINGS)  # a statement, because PgBouncer refuses most settings at the start
    except BaseException:  # a cancelled request, too, would leave the connection open
        connection.terminate()
        raise
    return connection


@asynccontextmanager
async def exclusive_transaction(engine: AsyncEngine, lock: int) -> AsyncIterator[AsyncConnection | None]:
    """Open a transaction that holds a database-wide advisory lock; yields None if another replica holds the lock."""
    async with engine.begin() as connection:
        free = await connection.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), {"lock": lock})
        yield connection if free else None


# Errors that may mean that the database does not answer: see `is_lost`.
LOST = (OSError, PoolTimeout, DBAPIError, asyncpg.InterfaceError, asyncpg.PostgresError)
# SQLSTATEs: connection exceptions, shutdown, crash, starting up, too many connections.
_UNAVAILABLE = ("08", "57P01", "57P02", "57P03", "53300")


def is_lost(error: Exception) -> bool:
    """Whether the database does not answer at the moment. The last statement may or may not have taken effect."""
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    cause = error.orig if isinstance(error, DBAPIError) else error
    state = str(getattr(cause, "sqlstate", None) or "")
    return isinstance(cause, OSError | PoolTimeout | asyncpg.InterfaceError) or state.startswith(_UNAVAILABLE)


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    return config


def head_revision() -> str | None:
    """Return the schema revision that the code needs."""
    return ScriptDirectory(str(MIGRATIONS)).get_current_head()


async def current_revision(engine: AsyncEngine) -> str | None:
    """Read the schema revision of the database; None before the first migration."""
    async with engine.connect() as connection:
        found = await connection.scalar(text("SELECT to_regclass('alembic_version') IS NOT NULL"))
        return await connection.scalar(text("SELECT version_num FROM alembic_version")) if found else None


def migrate(url: str) -> None:
    """Migrate the schema to the newest revision; replicas that start at the same time wait for each other."""
    asyncio.run(_check_reachable(url))
    command.upgrade(alembic_config(url), "head")


async def _check_reachable(url: str) -> None:
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        cause = str(error).splitlines()[0] if str(error) else f"no answer within {CONNECT_TIMEOUT:g} seconds"
        raise StartupError(
            f"Cannot reach the database at {_without_password(url)}: {cause}. Check DATABASE_URL"
        ) from error
    await connection.close()


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "DATABASE_URL, which is not a valid address"
