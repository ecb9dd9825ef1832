"""Staging: imported items wait in a temporary table until all of them are checked."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import to_json
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import ItemContent, ItemDecision
from app.store.driver import array_text, copied, driver_of

_MANY = 1000  # rows; for more, the planner needs statistics
_PAIRS_AT_ONCE = 50

# A pooled connection creates the table once, and every commit empties it, so the system catalog does not grow.
_TABLE = """
    CREATE TEMP TABLE IF NOT EXISTS staged_item (
        position bigint PRIMARY KEY,
        key text NOT NULL,
        payload text,
        cost numeric NOT NULL,
        gold bigint,
        gold_value double precision,
        prior double precision[],
        features double precision[]
    ) ON COMMIT DELETE ROWS
"""
_STAGED = ("position", "key", "payload", "cost", "gold", "gold_value", "prior", "features")
_COPIED = (
    *("job_id", "item_id", "tie_break", "joined", "cost", "gold", "gold_value", "prior", "key", "payload", "features"),
    *(
        "state",
        "votes",
        "model_state",
        "tier",
        "priority",
        "max_open_assignments",
        "label",
        "confidence",
        "progress",
        "reason",
    ),
)

_GIVEN_GOLD = "CASE WHEN known.promoted THEN NULL ELSE known.gold END"  # by the requester, not by the crowd
# The same encoder wrote both sides, so equal texts are equal contents. Only different texts must be compared.
_DIFFERENT_FROM_JOB = f"""
    SELECT sent.position, sent.key, sent.payload, sent.cost, sent.gold, sent.gold_value, sent.prior, sent.features,
        known.payload::text, known.cost, {_GIVEN_GOLD}, known.gold_value, known.prior, known.features
    FROM staged_item sent JOIN item known ON known.job_id = $1 AND known.key = sent.key
    WHERE (sent.payload, sent.cost, sent.gold, sent.gold_value, sent.prior, sent.features) IS DISTINCT FROM
        (known.payload::text, known.cost, {_GIVEN_GOLD}, known.gold_value, known.prior, known.features)
    ORDER BY sent.position
"""
_DIFFERENT_FROM_FIRST = """
    WITH repeated AS (SELECT key, min(position) AS first FROM staged_item GROUP BY key HAVING count(*) > 1)
    SELECT sent.position, sent.key, sent.payload, sent.cost, sent.gold, sent.gold_value, sent.prior, sent.features,
        other.payload, other.cost, other.gold, other.gold_value, other.prior, other.features
    FROM repeated JOIN staged_item sent USING (key) JOIN staged_item other ON other.position = first
    WHERE sent.position > first
        AND (sent.payload, sent.cost, sent.gold, sent.gold_value, sent.prior, sent.features)
            IS DISTINCT FROM (other.payload, other.cost, other.gold, other.gold_value, other.prior, other.features)
        AND NOT EXISTS (SELECT FROM item known WHERE known.job_id = $1 AND known.key = sent.key)
    ORDER BY sent.position
"""
_DELETE_REPEATED = """
    WITH repeated AS (SELECT key, min(position) AS first FROM staged_item GROUP BY key HAVING count(*) > 1)
    DELETE FROM staged_item sent USING repeated WHERE sent.key = repeated.key AND sent.position > first
"""
_DELETE_KNOWN = "DELETE FROM staged_item sent USING item WHERE item.job_id = :job AND item.key = sent.key"
_TOTALS = """
    SELECT count(*) AS items, coalesce(sum(1 / cost::double precision), 0) AS inverse_costs,
        coalesce(min(cost), 0) AS least_cost, count(gold) AS gold, count(prior) AS priors,
        max(cardinality(features)) AS feature_length
    FROM staged_item
"""
_STAGED_BETWEEN = """
    SELECT cost, gold, gold_value, prior, key, payload, features FROM staged_item
    WHERE position >= $1 AND position < $2 ORDER BY position
"""


@dataclass(frozen=True, slots=True)
class StagedPair:
    """An item as it was sent, and the content that its key had before; payloads are JSON texts."""

    position: int
    key: str
    sent: ItemContent
    before: ItemContent


class StagedItem(NamedTuple):
    """An item that waits to be judged. Most columns stay the text that Postgres sent, and are sent back as they are."""

    text: str
    cost: Decimal
    gold: int | None
    gold_value: float | None
    prior: list[float] | None


@dataclass(frozen=True)
class StagedTotals:
    """What new items add to the totals of their job."""

    items: int
    inverse_costs: float
    least_cost: Decimal
    gold: int
    priors: int
    feature_length: int | None  # of the features that items have


async def lock_imports(connection: AsyncConnection, job_id: UUID) -> None:
    """Block other imports into the job, and its deletion, until this transaction ends; other requests do not wait."""
    name = f"suffice-import {job_id}"
    await connection.execute(text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))"), {"name": name})


async def empty_staging(connection: AsyncConnection) -> None:
    """Create or empty the table in a separate transaction; its commit frees what a failed import left on disk."""
    async with connection.begin():
        await connection.execute(text(_TABLE))


def staged_rows(first: int, contents: Iterable[tuple[str, ItemContent]]) -> bytes:
    """Format items as Postgres's COPY text, with positions from `first` on."""
    lines = [
        f"{position}\t{escaped(key)}\t{_payload(content)}\t{content.cost}\t"
        f"{_null(content.gold)}\t{_null(content.gold_value)}\t{_array(content.prior)}\t{_array(content.features)}\n"
        for position, (key, content) in enumerate(contents, start=first)
    ]
    return "".join(lines).encode()


async def stage(connection: AsyncConnection, rows: bytes) -> None:
    """Copy rows from `staged_rows` into the table."""
    await copy_text(connection, "staged_item", _STAGED, rows)


async def count_staged(connection: AsyncConnection, staged: int) -> None:
    """Update the planner's statistics: autovacuum does not see temporary tables."""
    if staged >= _MANY:
        await connection.execute(text("ANALYZE staged_item"))


async def different_from_before(connection: AsyncConnection, job_id: UUID) -> AsyncGenerator[list[StagedPair]]:
    """Yield items that differ from an earlier one with the same key: the job's item, or the first that was sent."""
    driver = driver_of(connection)
    for query in (_DIFFERENT_FROM_JOB, _DIFFERENT_FROM_FIRST):
        await driver.execute(f"DECLARE pairs CURSOR FOR {query}", job_id)
        while rows := await driver.fetch(f"FETCH {_PAIRS_AT_ONCE} FROM pairs"):
            yield [StagedPair(row[0], row[1], _content(row[2:8]), _content(row[8:14])) for row in map(tuple, rows)]
        await driver.execute("CLOSE pairs")  # the driver would leave it open, and the table in use


async def drop_known(connection: AsyncConnection, job_id: UUID) -> StagedTotals:
    """Delete repeated items and those that the job has already; returns the totals of the rest."""
    await connection.execute(text(_DELETE_REPEATED))
    await connection.execute(text(_DELETE_KNOWN), {"job": job_id})
    left = (await connection.execute(text(_TOTALS))).one()
    return StagedTotals(left.items, left.inverse_costs, left.least_cost, left.gold, left.priors, left.feature_length)


async def staged_between(connection: AsyncConnection, first: int, end: int) -> bytes:
    """Read the items at these positions as Postgres's COPY text, in order."""
    return await copied(connection, _STAGED_BETWEEN, first, end, layout="text")


def staged_items(rows: bytes) -> list[StagedItem]:
    """Parse the text of `staged_between`."""
    return [_staged(line) for line in rows.decode().split("\n")[:-1]]


def new_rows(
    job_id: UUID,
    item_ids: Sequence[int],
    tie_breaks: Sequence[int],
    joined: float,
    staged: Sequence[StagedItem],
    first: Sequence[ItemDecision],
) -> bytes:
    """Format judged items as Postgres's COPY text; equal items share a decision, which is formatted once."""
    job = str(job_id)
    texts = {id(decision): _decision_text(decision) for decision in {id(each): each for each in first}.values()}
    lines = [
        f"{job}\t{item_id}\t{tie_break}\t{joined!r}\t{row.text}\t{texts[id(decision)]}\n"
        for item_id, tie_break, row, decision in zip(item_ids, tie_breaks, staged, first, strict=True)
    ]
    return "".join(lines).encode()


async def insert_rows(connection: AsyncConnection, rows: bytes) -> None:
    """Copy rows from `new_rows` into the job's items."""
    if rows:
        await copy_text(connection, "item", _COPIED, rows)


async def clear_staging(connection: AsyncConnection, staged: int) -> None:
    """Truncate a large table before the job is locked; otherwise the commit would do it under the job's lock."""
    if staged >= _MANY:
        await connection.execute(text("TRUNCATE staged_item"))


async def count_items(connection: AsyncConnection, added: int) -> None:
    """Update the planner's statistics after a large import, unless another session does so at the moment."""
    if added >= _MANY:
        async with connection.begin():
            await connection.execute(text("ANALYZE (SKIP_LOCKED) item"))


async def copy_text(connection: AsyncConnection, table: str, columns: Sequence[str], rows: bytes) -> None:
    async def source() -> AsyncIterator[bytes]:
        yield rows

    await driver_of(connection).copy_to_table(table, source=source(), columns=columns, format="text")


def _content(row: Sequence[Any]) -> ItemContent:
    payload, cost, gold, gold_value, prior, features = row
    return ItemContent(payload=payload, cost=cost, gold=gold, gold_value=gold_value, prior=prior, features=features)


def _staged(line: str) -> StagedItem:
    cost, gold, gold_value, prior, _ = line.split("\t", 4)
    shares = None if prior == "\\N" else [float(share) for share in prior[1:-1].split(",")]
    known = None if gold == "\\N" else int(gold)
    return StagedItem(line, Decimal(cost), known, None if gold_value == "\\N" else float(gold_value), shares)


def _payload(content: ItemContent) -> str:
    return "\\N" if content.payload is None else escaped(to_json(content.payload).decode())


def _decision_text(decision: ItemDecision) -> str:
    """Format the columns of a decision."""
    return (
        f"{decision.state}\t{_array(decision.votes)}\t{_array(decision.model_state)}\t{decision.tier}\t{decision.priority!r}\t"
        f"{decision.max_open_assignments}\t{_null(decision.label)}\t{decision.confidence!r}\t{decision.progress!r}\t"
        f"{escaped(json.dumps(decision.reason.as_json()))}"
    )


def escaped(value: str | None) -> str:
    if value is None:
        return "\\N"
    if value.isprintable() and "\\" not in value:
        return value
    return value.replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")


def _null(value: object) -> str:
    return "\\N" if value is None else str(value)


def _array(values: Sequence[float] | None) -> str:
    return "\\N" if values is None else array_text(values)
