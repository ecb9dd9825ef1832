"""Run migrations on the database that the caller names; one process at a time."""

import asyncio

from alembic import context
from sqlalchemy import Connection, text

from app.store.connection import create_engine
from app.store.tables import metadata

_LOCK = 7_183_504_211  # any fixed number: the process that migrates holds this advisory lock


def _run(connection: Connection) -> None:
    connection.execute(text(f"SELECT pg_advisory_lock({_LOCK})"))
    connection.commit()
    context.configure(
        connection=connection,
        target_metadata=metadata,
        compare_type=True,
        compare_server_default=True,
        transaction_per_migration=True,
    )
    with context.begin_transaction():
        context.run_migrations()
    connection.commit()
    connection.execute(text(f"SELECT pg_advisory_unlock({_LOCK})"))


async def _connect_and_run() -> None:
    engine = create_engine(context.config.attributes["url"], connections=1)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(_run)
    finally:
        await engine.dispose()


asyncio.run(_connect_and_run())
