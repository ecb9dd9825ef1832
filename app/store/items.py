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
    Select,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    select,
    text,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import BigInteger, Integer, Text

from app.domain import AssignmentState, ItemState, Reason
from app.store.tables import answer, assignment, item


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
_ITEM = [item.c.item_id, item.c.key, item.c.payload, item.c.cost, item.c.prior, item.c.in_flight, *_STANDING]


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
            rows = _items(await connection.execute(select(*_ITEM).where(item.c.job_id == job_id, wanted)))
            found |= {row.item_id: row for row in rows}
    return list(found.values())


async def best_open_items(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    worker: str | None,
    affordable: Decimal | None,
    besides: Collection[int],
    most: int,
) -> list[Item]:
    """The items that this worker should answer next, best first: the head of the queue, less what the worker knows."""
    conditions = [_has_room(), _new_to(worker)]
    if affordable is not None:
        conditions.append(item.c.cost <= affordable)
    if besides:
        conditions.append(item.c.item_id != func.all(bindparam("besides", list(besides), ARRAY(BigInteger))))
    query = (
        select(*_ITEM)
        .where(item.c.job_id == job_id, *conditions)
        .order_by(item.c.priority.desc(), item.c.tie_break)
        # A literal: with a parameter here the planner sorts the whole job instead of reading the index.
        .limit(literal_column(str(int(most))))
    )
    return _items(await connection.execute(query))


async def has_room_for(connection: AsyncConnection, job_id: UUID, worker: str | None) -> bool:
    """Is there an open item that this worker could take, whatever it costs?"""
    return await _any(connection, job_id, _has_room(), _new_to(worker))


async def has_open_for(connection: AsyncConnection, job_id: UUID, worker: str | None) -> bool:
    """Is there an open item that is new to this worker, even if all its answers are out?"""
    return await _any(connection, job_id, item.c.state == literal_column("'open'"), _new_to(worker))


async def save_standings(connection: AsyncConnection, job_id: UUID, changed: Collection[Item]) -> None:
    """Write back what answers have changed."""
    if not changed:
        return
    names = [field.name for field in fields(Standing)]
    statement = (
        update(item)
        .where(item.c.job_id == bindparam("at_job"), item.c.item_id == bindparam("at_item"))
        .values({name: bindparam(f"to_{name}") for name in names} | {"in_flight": bindparam("to_in_flight")})
    )
    rows = [
        {"at_job": job_id, "at_item": row.item_id, "to_in_flight": row.in_flight}
        | {f"to_{name}": value for name, value in asdict(row.standing).items()}
        for row in changed
    ]
    await connection.execute(statement, rows)


async def change_in_flight(connection: AsyncConnection, job_id: UUID, change: Mapping[int, int]) -> None:
    """Add to the number of answers that are out, per item."""
    if not change:
        return
    by_item = (
        func.unnest(
            bindparam("items", list(change), ARRAY(BigInteger)),
            bindparam("changes", list(change.values()), ARRAY(Integer)),
        )
        .table_valued("item_id", "by")
        .render_derived()
    )
    await connection.execute(
        update(item)
        .where(
            item.c.job_id == job_id,
            item.c.item_id == by_item.c.item_id,
            item.c.item_id == func.any(bindparam("these", list(change), ARRAY(BigInteger))),  # so that an index is used
        )
        .values(in_flight=item.c.in_flight + by_item.c.by)
    )


async def gold_labels(connection: AsyncConnection, job_id: UUID) -> dict[int, int]:
    """The items whose right label is known, and that label."""
    query = select(item.c.item_id, item.c.gold).where(item.c.job_id == job_id, item.c.gold.is_not(None))
    return {row.item_id: row.gold for row in await connection.execute(query)}


async def page_of_items(
    connection: AsyncConnection, job_id: UUID, *, state: ItemState | None, after: int, most: int
) -> list[Item]:
    """Items in the order in which they were added, from behind `after`."""
    query = select(*_ITEM).where(item.c.job_id == job_id, item.c.item_id > after)
    if state is not None:
        query = query.where(item.c.state == state)
    return _items(await connection.execute(query.order_by(item.c.item_id).limit(most)))


def _has_room() -> ColumnElement[bool]:
    # As in the index's own condition, literally, so that the planner recognises it.
    return and_(item.c.state == literal_column("'open'"), item.c.in_flight < item.c.wanted)


def _new_to(worker: str | None) -> ColumnElement[bool]:
    """Not answered, held or skipped by this worker; what expired or was given back may be given again."""
    if worker is None:
        return true()
    answered = exists().where(
        answer.c.job_id == item.c.job_id, answer.c.item_id == item.c.item_id, answer.c.worker == worker
    )
    leased = exists().where(
        assignment.c.job_id == item.c.job_id,
        assignment.c.item_id == item.c.item_id,
        assignment.c.worker == worker,
        assignment.c.state.in_([AssignmentState.LIVE, AssignmentState.SKIPPED]),
    )
    return and_(~answered, ~leased)


async def _any(connection: AsyncConnection, job_id: UUID, *conditions: ColumnElement[bool]) -> bool:
    query: Select[tuple[bool]] = select(exists().where(item.c.job_id == job_id, *conditions))
    return bool(await connection.scalar(query))


def _items(found: CursorResult[Any]) -> list[Item]:
    return [_item(dict(row)) for row in found.mappings()]


def _item(values: dict[Any, Any]) -> Item:
    standing = {field.name: values.pop(field.name) for field in fields(Standing)}
    standing["state"] = ItemState(standing["state"])
    standing["reason"] = Reason(**standing["reason"])
    return Item(standing=Standing(**standing), **values)
