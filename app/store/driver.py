"""Plain SQL for the hot path, sent directly to the driver.

A statement takes a fifth of the processor time that it takes through SQLAlchemy, which is a third of the cost of a
request. Statements that are not hot stay with SQLAlchemy.
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

    # A coroutine instead of `rows` itself: the driver would write to a file in a thread, and a caller that is cancelled
    # while the thread writes the last piece waits for ever: the driver then asks the server, which is done, to stop.
    async def keep(piece: bytes) -> None:
        rows.write(piece)

    await driver_of(connection).copy_from_query(statement, *arguments, output=keep, format=layout)
    return rows.getvalue()


def columns_of(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """Turn rows into one list per attribute, as `unnest` takes them."""
    return [[getattr(row, name) for row in rows] for name in names]


def array_text(values: Sequence[float]) -> str:
    """An array as text, as Postgres reads it: `unnest` flattens arrays of arrays completely."""
    return "{" + ",".join(map(repr, values)) + "}"


def driver_of(connection: AsyncConnection) -> Connection:
    """The driver's own connection, which must be in a transaction."""
    sync = connection.sync_connection
    assert sync is not None  # noqa: S101  it is open
    driver: Connection = sync.connection.driver_connection
    # SQLAlchemy begins a transaction with its own first statement, mostly the lock of the job. Without that statement,
    # anything sent this way would be committed immediately.
    assert driver.is_in_transaction()  # noqa: S101
    return driver
