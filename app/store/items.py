"""Items: what is labeled, its votes, and its place in the queue."""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    CursorResult,
    bindparam,
    func,
    select,
    text,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, Text

from app.domain import ItemState, Reason
from app.store.arrays import as_rows
from app.store.tables import item


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What the requester said about an item; classes are positions in the job's labels."""

    payload: Any
    cost: Decimal
    gold: int | None
    prior: Sequence[float] | None
    features: Sequence[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where an item stands after its answers so far."""

    state: ItemState
    votes: Sequence[int]
    evidence: Sequence[float]
    priority: float
    wanted: int
    label: int | None
    confidence: float
    progress: float
    reason: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    item_id: int
    key: str
    tie_break: int
    payload: Any
    cost: Decimal
    prior: Sequence[float] | None
    in_flight: int
    standing: Standing


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    item_id: int
    key: str
    tie_break: int
    content: Content
    standing: Standing


_CONTENT = [item.c[field.name] for field in fields(Content)]
_STANDING = [item.c[field.name] for field in fields(Standing)]
_COPIED_CONTENT = [field.name for field in fields(Content) if field.name != "payload"]
_COPIED_STANDING = [field.name for field in fields(Standing) if field.name != "reason"]
_COPIED = [
    "job_id",
    "item_id",
    "key",
    "tie_break",
    "payload",
    *_COPIED_CONTENT,
    "reason",
    *_COPIED_STANDING,
]
_MANY = 1000
ITEM = [item.c[field.name] for field in fields(Item) if field.name != "standing"] + _STANDING


async def insert_items(connection: AsyncConnection, job_id: UUID, new: Sequence[NewItem]) -> None:
    """Copied in, as Postgres likes it best; after many, the planner is told that the table has grown."""
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None  # noqa: S101  the connection is open
    records = await asyncio.to_thread(_records, job_id, new)
    await driver.copy_records_to_table("item", records=records, columns=_COPIED)
    if len(new) >= _MANY:
        await connection.execute(text("ANALYZE item"))


def _records(job_id: UUID, new: Sequence[NewItem]) -> list[tuple[object, ...]]:
    return [
        (
            job_id,
            row.item_id,
            row.key,
            row.tie_break,
            None if row.content.payload is None else json.dumps(row.content.payload),
            *(getattr(row.content, name) for name in _COPIED_CONTENT),
            json.dumps(asdict(row.standing.reason)),
            *(getattr(row.standing, name) for name in _COPIED_STANDING),
        )
        for row in new
    ]


async def contents_by_key(connection: AsyncConnection, job_id: UUID, keys: Collection[str]) -> dict[str, Content]:
    """What is already known of these keys."""
    wanted = item.c.key == func.any(bindparam("keys", list(keys), ARRAY(Text)))
    query = select(item.c.key, *_CONTENT).where(item.c.job_id == job_id, wanted)
    rows = [dict(row) for row in (await connection.execute(query)).mappings()]
    return {row.pop("key"): Content(**row) for row in rows}


async def load_items(
    connection: AsyncConnection, job_id: UUID, *, keys: Collection[str], item_ids: Collection[int]
) -> list[Item]:
    """Items by key or by number, each once."""
    found: dict[int, Item] = {}
    # Two queries: an OR of the two is a scan of the job while the table's statistics are still young.
    for wanted in (
        item.c.key == func.any(bindparam("keys", list(keys), ARRAY(Text))) if keys else None,
        item.c.item_id == func.any(bindparam("ids", list(item_ids), ARRAY(BigInteger))) if item_ids else None,
    ):
        if wanted is not None:
            rows = items_of(await connection.execute(select(*ITEM).where(item.c.job_id == job_id, wanted)))
            found |= {row.item_id: row for row in rows}
    return list(found.values())


async def save_standings(connection: AsyncConnection, job_id: UUID, changed: Sequence[Item]) -> None:
    """Write back what answers have changed."""
    if not changed:
        return
    standings = [row.standing for row in changed]
    values = [[getattr(standing, column.name) for standing in standings] for column in _STANDING]
    values[_STANDING.index(item.c.reason)] = [asdict(standing.reason) for standing in standings]
    numbers, copies = [row.item_id for row in changed], [row.in_flight for row in changed]
    number, in_flight, *columns = as_rows([item.c.item_id, item.c.in_flight, *_STANDING], [numbers, copies, *values])
    await connection.execute(
        update(item)
        .where(item.c.job_id == job_id, item.c.item_id == number, _among(numbers))
        .values({"in_flight": in_flight} | {column.name: to for column, to in zip(_STANDING, columns, strict=True)})
    )


async def change_in_flight(connection: AsyncConnection, job_id: UUID, change: Mapping[int, int]) -> None:
    """Add to the number of answers that are out, per item."""
    if not change:
        return
    number, by = as_rows([item.c.item_id, item.c.in_flight], [list(change), list(change.values())])
    await connection.execute(
        update(item)
        .where(item.c.job_id == job_id, item.c.item_id == number, _among(change))
        .values(in_flight=item.c.in_flight + by)
    )


def _among(numbers: Collection[int]) -> ColumnElement[bool]:
    """Beside a join, so that the planner sees few rows and uses the index."""
    return item.c.item_id == func.any(bindparam("these", list(numbers), ARRAY(BigInteger)))


async def gold_labels(connection: AsyncConnection, job_id: UUID) -> dict[int, int]:
    """The items whose right label is known, and that label."""
    query = select(item.c.item_id, item.c.gold).where(item.c.job_id == job_id, item.c.gold.is_not(None))
    return {row.item_id: row.gold for row in await connection.execute(query)}


async def page_of_items(
    connection: AsyncConnection, job_id: UUID, *, state: ItemState | None, after: int, most: int
) -> list[Item]:
    """Items in the order in which they were added, from behind `after`."""
    query = select(*ITEM).where(item.c.job_id == job_id, item.c.item_id > after)
    if state is not None:
        query = query.where(item.c.state == state)
    return items_of(await connection.execute(query.order_by(item.c.item_id).limit(most)))


def items_of(found: CursorResult[Any]) -> list[Item]:
    return [item_of(dict(row)) for row in found.mappings()]


def item_of(values: dict[Any, Any]) -> Item:
    standing = {field.name: values.pop(field.name) for field in fields(Standing)}
    standing["state"] = ItemState(standing["state"])
    standing["reason"] = Reason(**standing["reason"])
    return Item(standing=Standing(**standing), **values)
