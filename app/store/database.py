"""Connect to Postgres and bring its schema up to date."""

import asyncio
from pathlib import Path

import asyncpg
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.errors import StartupError

MIGRATIONS = Path(__file__).parent.parent.parent / "migrations"
CONNECT_TIMEOUT = 5.0  # seconds


def create_engine(url: str, connections: int) -> AsyncEngine:
    """A pool of connections; `url` is any address that libpq would take."""
    return create_async_engine(
        "postgresql+asyncpg://",
        # The driver reads the address itself, so that sslmode and the like mean what they mean everywhere.
        async_creator=lambda: asyncpg.connect(url, timeout=CONNECT_TIMEOUT),
        pool_size=connections,
        max_overflow=0,
        hide_parameters=True,  # what workers and requesters sent does not belong in a log
    )


def alembic_config(url: str) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.set_main_option("path_separator", "os")
    config.attributes["url"] = url
    return config


def head_revision() -> str | None:
    """The revision that the code expects."""
    return ScriptDirectory(str(MIGRATIONS)).get_current_head()


async def current_revision(engine: AsyncEngine) -> str | None:
    """The revision that the database has."""
    async with engine.connect() as connection:
        found = await connection.scalar(text("SELECT to_regclass('alembic_version') IS NOT NULL"))
        return await connection.scalar(text("SELECT version_num FROM alembic_version")) if found else None


def migrate(url: str) -> None:
    """Bring the schema to the newest revision; replicas that start together wait for each other."""
    asyncio.run(_check_reachable(url))
    command.upgrade(alembic_config(url), "head")


async def _check_reachable(url: str) -> None:
    try:
        connection = await asyncpg.connect(url, timeout=CONNECT_TIMEOUT)
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        cause = str(error).splitlines()[0] if str(error) else f"no answer within {CONNECT_TIMEOUT:g} seconds"
        raise StartupError(f"Cannot reach the database at {_without_password(url)}: {cause}") from error
    await connection.close()


def _without_password(url: str) -> str:
    try:
        return make_url(url).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):
        return "DATABASE_URL, which is not an address"
