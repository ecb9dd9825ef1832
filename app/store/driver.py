"""Plain SQL for the hot path, sent directly to the driver.

Sent through SQLAlchemy, a statement takes five times as much processor time, and statements are a third of the cost of
a request. All other statements go through SQLAlchemy.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal

from asyncpg import Connection, Record
from sqlalchemy.ext.asyncio import AsyncConnection


async def fetch(connection: AsyncConnection, statement: str, *arguments: object) -> list[Record]:
    """Run a statement in the current transaction and return its rows."""
    rows: list[Record] = await driver_of(connection).fetch(statement, *arguments)
    return rows


async def copied(
    connection: AsyncConnection, statement: str, *arguments: object, layout: Literal["text", "binary"]
) -> bytes:
    """Return all rows of a query in one of Postgres's COPY formats."""
    rows = BytesIO()

    # A coroutine instead of `rows` itself: the driver writes to a file in a thread. If the caller is cancelled while
    # the thread writes the last piece, the driver asks the server to stop; the server is done, so the caller hangs.
    async def keep(piece: bytes) -> None:
        rows.write(piece)

    await driver_of(connection).copy_from_query(statement, *arguments, output=keep, format=layout)
    return rows.getvalue()


def columns_of(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """Turn rows into one list per attribute, as `unnest` takes them."""
    return [[getattr(row, name) for row in rows] for name in names]


def array_text(values: Sequence[float]) -> str:
    """Format an array as Postgres's text: `unnest` would flatten an array of arrays completely."""
    return "{" + ",".join(map(repr, values)) + "}"


def driver_of(connection: AsyncConnection) -> Connection:
    """Return the driver's own connection, which must be in a transaction."""
    sync = connection.sync_connection
    assert sync is not None  # noqa: S101  it is open
    driver: Connection = sync.connection.driver_connection
    # SQLAlchemy begins a transaction with its own first statement, usually the lock of the job. Before that statement,
    # everything that is sent this way would be committed immediately.
    assert driver.is_in_transaction()  # noqa: S101
    return driver
