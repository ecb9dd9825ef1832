"""Keep items that are being imported beside the others until all of them are known to be good."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import array_text, copied, driver_of
from app.store.items import Content, Standing

_MANY = 1000  # rows, from which on the planner should know how many there are
_PAIRS_AT_ONCE = 50

# A pooled connection makes the table once and finds it empty in every transaction, so the catalog does not grow.
_TABLE = """
    CREATE TEMP TABLE IF NOT EXISTS staged_item (
        position bigint PRIMARY KEY,
        key text NOT NULL,
        payload text,
        cost numeric NOT NULL,
        gold smallint,
        prior double precision[],
        features double precision[]
    ) ON COMMIT DELETE ROWS
"""
_STAGED = ("position", "key", "payload", "cost", "gold", "prior", "features")
_COPIED = (
    *("job_id", "item_id", "tie_break", "cost", "gold", "prior", "key", "payload", "features"),
    *("state", "votes", "evidence", "priority", "wanted", "label", "confidence", "progress", "reason"),
)

# Both sides were written by the same encoder: equal texts are equal contents, and only the others need a closer look.
_UNLIKE_THE_JOB = """
    SELECT sent.position, sent.key, sent.payload, sent.cost, sent.gold, sent.prior, sent.features,
        known.payload::text, known.cost, known.gold, known.prior, known.features
    FROM staged_item sent JOIN item known ON known.job_id = $1 AND known.key = sent.key
    WHERE (sent.payload, sent.cost, sent.gold, sent.prior, sent.features)
        IS DISTINCT FROM (known.payload::text, known.cost, known.gold, known.prior, known.features)
    ORDER BY sent.position
"""
_UNLIKE_THE_FIRST = """
    WITH repeated AS (SELECT key, min(position) AS first FROM staged_item GROUP BY key HAVING count(*) > 1)
    SELECT sent.position, sent.key, sent.payload, sent.cost, sent.gold, sent.prior, sent.features,
        other.payload, other.cost, other.gold, other.prior, other.features
    FROM repeated JOIN staged_item sent USING (key) JOIN staged_item other ON other.position = first
    WHERE sent.position > first
        AND (sent.payload, sent.cost, sent.gold, sent.prior, sent.features)
            IS DISTINCT FROM (other.payload, other.cost, other.gold, other.prior, other.features)
        AND NOT EXISTS (SELECT FROM item known WHERE known.job_id = $1 AND known.key = sent.key)
    ORDER BY sent.position
"""
_DROP_THE_REPEATED = """
    WITH repeated AS (SELECT key, min(position) AS first FROM staged_item GROUP BY key HAVING count(*) > 1)
    DELETE FROM staged_item sent USING repeated WHERE sent.key = repeated.key AND sent.position > first
"""
_DROP_THE_KNOWN = "DELETE FROM staged_item sent USING item WHERE item.job_id = :job AND item.key = sent.key"
_TOTALS = """
    SELECT count(*) AS items, coalesce(sum(1 / cost::double precision), 0) AS inverse_costs,
        coalesce(min(cost), 0) AS least_cost, count(gold) AS gold
    FROM staged_item
"""
_BETWEEN = """
    SELECT cost, gold, prior, key, payload, features FROM staged_item
    WHERE position >= $1 AND position < $2 ORDER BY position
"""


@dataclass(frozen=True, slots=True)
class Pair:
    """An item as it was sent, and what its key stood for before; the payloads are JSON texts."""

    position: int
    key: str
    sent: Content
    before: Content


class Staged(NamedTuple):
    """An item that waits to be judged. Most of it is only passed on, as the text that Postgres gave and will get."""

    text: str
    cost: Decimal
    gold: int | None
    prior: list[float] | None


@dataclass(frozen=True)
class Totals:
    items: int
    inverse_costs: float
    least_cost: Decimal
    gold: int


async def lock_imports(connection: AsyncConnection, job_id: UUID) -> None:
    """Keep other imports into the job, and its deletion, out until this transaction ends; nobody else has to wait."""
    name = f"suffice-import {job_id}"
    await connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})


async def empty_staging(connection: AsyncConnection) -> None:
    """In a transaction of its own: its commit also takes away what one that failed has left on disk."""
    async with connection.begin():
        await connection.execute(text(_TABLE))


def staged_rows(first: int, contents: Iterable[tuple[str, Content]]) -> bytes:
    """Items in Postgres's text format, with their positions from `first` on."""
    lines = [
        f"{position}\t{_escaped(key)}\t{_payload(content)}\t{content.cost}\t"
        f"{_null(content.gold)}\t{_array(content.prior)}\t{_array(content.features)}\n"
        for position, (key, content) in enumerate(contents, start=first)
    ]
    return "".join(lines).encode()


async def stage(connection: AsyncConnection, rows: bytes) -> None:
    await _copy(connection, "staged_item", _STAGED, rows)


async def count_staged(connection: AsyncConnection, staged: int) -> None:
    """Tell the planner how much has come; nobody else does for a temporary table."""
    if staged >= _MANY:
        await connection.execute(text("ANALYZE staged_item"))


async def unlike_before(connection: AsyncConnection, job_id: UUID) -> AsyncGenerator[list[Pair]]:
    """Pairs of one key whose contents are not the same text: with the job's item, else with the first that was sent."""
    driver = driver_of(connection)
    for query in (_UNLIKE_THE_JOB, _UNLIKE_THE_FIRST):
        await driver.execute(f"DECLARE pairs CURSOR FOR {query}", job_id)
        while rows := await driver.fetch(f"FETCH {_PAIRS_AT_ONCE} FROM pairs"):
            yield [Pair(row[0], row[1], _content(row[2:7]), _content(row[7:12])) for row in map(tuple, rows)]
        await driver.execute("CLOSE pairs")  # the driver's own cursors stay open, and the table in use


async def drop_known(connection: AsyncConnection, job_id: UUID) -> Totals:
    """Keep the first of each key that the job does not have yet; what is left is to be added."""
    await connection.execute(text(_DROP_THE_REPEATED))
    await connection.execute(text(_DROP_THE_KNOWN), {"job": job_id})
    left = (await connection.execute(text(_TOTALS))).one()
    return Totals(left.items, left.inverse_costs, left.least_cost, left.gold)


async def staged_between(connection: AsyncConnection, first: int, end: int) -> bytes:
    """What is left of these positions, in their order, in Postgres's text format."""
    return await copied(connection, _BETWEEN, first, end, layout="text")


def staged_items(rows: bytes) -> list[Staged]:
    return [_staged(line) for line in rows.decode().split("\n")[:-1]]


def new_rows(
    job_id: UUID,
    item_ids: Sequence[int],
    tie_breaks: Sequence[int],
    staged: Sequence[Staged],
    first: Sequence[Standing],
) -> bytes:
    """Finished items in Postgres's text format; alike items share a standing, which is put into words once."""
    job = str(job_id)
    ends = {id(standing): _standing_text(standing) for standing in {id(each): each for each in first}.values()}
    lines = [
        f"{job}\t{item_id}\t{tie_break}\t{row.text}\t{ends[id(standing)]}\n"
        for item_id, tie_break, row, standing in zip(item_ids, tie_breaks, staged, first, strict=True)
    ]
    return "".join(lines).encode()


async def insert_rows(connection: AsyncConnection, rows: bytes) -> None:
    if rows:
        await _copy(connection, "item", _COPIED, rows)


async def clear_staging(connection: AsyncConnection, staged: int) -> None:
    """Let go of a large table early: the commit would cut it off, which takes a while, and keep its locks meanwhile."""
    if staged >= _MANY:
        await connection.execute(text("TRUNCATE staged_item"))


async def count_items(connection: AsyncConnection, added: int) -> None:
    """After many, the planner is told that the table has grown; not while somebody else tells it."""
    if added >= _MANY:
        async with connection.begin():
            await connection.execute(text("ANALYZE (SKIP_LOCKED) item"))


async def _copy(connection: AsyncConnection, table: str, columns: Sequence[str], rows: bytes) -> None:
    async def source() -> AsyncIterator[bytes]:
        yield rows

    await driver_of(connection).copy_to_table(table, source=source(), columns=columns, format="text")


def _content(row: Sequence[Any]) -> Content:
    payload, cost, gold, prior, features = row
    return Content(payload=payload, cost=cost, gold=gold, prior=prior, features=features)


def _staged(line: str) -> Staged:
    cost, gold, prior, _ = line.split("\t", 3)
    shares = None if prior == "\\N" else [float(share) for share in prior[1:-1].split(",")]
    return Staged(line, Decimal(cost), None if gold == "\\N" else int(gold), shares)


def _payload(content: Content) -> str:
    return "\\N" if content.payload is None else _escaped(to_json(content.payload).decode())


def _standing_text(standing: Standing) -> str:
    """The columns of a standing, which alike items share."""
    return (
        f"{standing.state}\t{_array(standing.votes)}\t{_array(standing.evidence)}\t{standing.priority!r}\t"
        f"{standing.wanted}\t{_null(standing.label)}\t{standing.confidence!r}\t{standing.progress!r}\t"
        f"{_escaped(json.dumps(standing.reason.as_json()))}"
    )


def _escaped(value: str | None) -> str:
    if value is None:
        return "\\N"
    if value.isprintable() and "\\" not in value:
        return value
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _null(value: object) -> str:
    return "\\N" if value is None else str(value)


def _array(values: Sequence[float] | None) -> str:
    return "\\N" if values is None else array_text(values)
