"""Plain SQL, straight to the driver: for the hot path, where building statements would cost more than running them.

A statement takes a fifth of the processor time that it takes through SQLAlchemy, which is a third of all that a request
costs. What is not hot stays with SQLAlchemy.
"""

from collections.abc import Sequence
from io import BytesIO
from typing import Any, Literal

from asyncpg import Connection, Record
from sqlalchemy.ext.asyncio import AsyncConnection


async def fetch(connection: AsyncConnection, statement: str, *arguments: object) -> list[Record]:
    """Run a statement inside the transaction that is under way."""
    rows: list[Record] = await driver_of(connection).fetch(statement, *arguments)
    return rows


async def copied(
    connection: AsyncConnection, statement: str, *arguments: object, layout: Literal["text", "binary"]
) -> bytes:
    """All that a statement gives, in one of Postgres's own layouts."""
    rows = BytesIO()

    # Not `rows` itself: the driver would write to it in a thread, and who is cancelled while a thread writes the last
    # piece waits for ever. The driver then asks a server that is done to stop, and waits for it to say that it did.
    async def keep(piece: bytes) -> None:
        rows.write(piece)

    await driver_of(connection).copy_from_query(statement, *arguments, output=keep, format=layout)
    return rows.getvalue()


def columns_of(rows: Sequence[object], *names: str) -> list[list[Any]]:
    """One list per attribute, as `unnest` takes them."""
    return [[getattr(row, name) for row in rows] for name in names]


def array_text(values: Sequence[float]) -> str:
    """An array as Postgres reads it: `unnest` would take an array of arrays apart to the last."""
    return "{" + ",".join(map(repr, values)) + "}"


def driver_of(connection: AsyncConnection) -> Connection:
    """The driver's own connection, in a transaction."""
    sync = connection.sync_connection
    assert sync is not None  # noqa: S101  it is open
    driver: Connection = sync.connection.driver_connection
    # SQLAlchemy begins a transaction with its own first statement, here mostly the lock of the job; without it, what is
    # sent this way would be committed on the spot.
    assert driver.is_in_transaction()  # noqa: S101
    return driver
