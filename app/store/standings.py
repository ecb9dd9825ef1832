"""Standings of many items at once: read a page at a time, written back in bulk."""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Text,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    text,
    type_coerce,
)
from sqlalchemy.ext.asyncio import AsyncConnection
from sqlalchemy.types import NullType

from app.domain import ItemState, Reason
from app.store.items import Standing
from app.store.tables import answer, item


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """An item as far as judging it goes: without its key and payload, which may be large."""

    item_id: int
    cost: Decimal
    gold: int | None
    promoted: bool
    prior: Sequence[float] | None
    in_flight: int
    standing: Standing


_STANDING = [field.name for field in fields(Standing)]
_WITHOUT_REASON = [name for name in _STANDING if name != "reason"]
_COLUMNS = [
    item.c.item_id,
    item.c.cost,
    item.c.gold,
    item.c.promoted,
    item.c.prior,
    item.c.in_flight,
    cast(item.c.reason, Text).label("reason"),  # a page has few different ones, and each is read once
    *(item.c[name] for name in _WITHOUT_REASON),
]
# Arrays as the driver gives them: those of a whole page are a third of the time that its loading takes.
_PLACE = [type_coerce(column, NullType()) if isinstance(column.type, ARRAY) else column for column in _COLUMNS]

_TEMPORARY = text(
    "CREATE TEMP TABLE IF NOT EXISTS judged_again ON COMMIT DELETE ROWS AS "
    f"SELECT item_id, {', '.join(_STANDING)} FROM item WITH NO DATA"
)
_WRITE = text(
    f"UPDATE item SET {', '.join(f'{name} = judged_again.{name}' for name in _STANDING)} "
    "FROM judged_again WHERE item.job_id = :job AND item.item_id = judged_again.item_id "
    "AND item.item_id BETWEEN :first AND :last"  # so that no page scans the whole job
)
_VERSION: ColumnElement[str] = literal_column("item.xmin::text")
_EMPTY = text("TRUNCATE judged_again")


async def page_of_places(
    connection: AsyncConnection, job_id: UUID, *, open_only: bool, after: int, most: int
) -> list[Place]:
    """Items in the order in which they were added, from behind `after`."""
    query = select(*_PLACE).where(item.c.job_id == job_id, item.c.item_id > after)
    if open_only:
        query = query.where(item.c.state == literal_column("'open'"))  # literally, as in the index's own condition
    rows = await connection.execute(query.order_by(item.c.item_id).limit(literal_column(str(int(most)))))
    return await asyncio.to_thread(_places, rows.all())


async def places_of(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[Place]:
    """These items, in the order in which they were added."""
    these = func.any(bindparam("items", list(item_ids), ARRAY(BigInteger)))
    query = select(*_PLACE).where(item.c.job_id == job_id, item.c.item_id == these).order_by(item.c.item_id)
    return await asyncio.to_thread(_places, (await connection.execute(query)).all())


async def versions_of(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> dict[int, str]:
    """What changes whenever anything about an item does: the transaction that wrote its row."""
    these = func.any(bindparam("items", list(item_ids), ARRAY(BigInteger)))
    query = select(item.c.item_id, _VERSION).where(item.c.job_id == job_id, item.c.item_id == these)
    return {row[0]: row[1] for row in await connection.execute(query)}


async def replace_standings(connection: AsyncConnection, job_id: UUID, judged: Sequence[tuple[int, Standing]]) -> None:
    """Write what was judged anew, by item in ascending order. A copy feeds one statement."""
    if not judged:
        return
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None  # noqa: S101  the connection is open
    await connection.execute(_TEMPORARY)
    records = await asyncio.to_thread(_records, judged)
    await driver.copy_records_to_table("judged_again", records=records, columns=["item_id", *_STANDING])
    await connection.execute(_WRITE, {"job": job_id, "first": judged[0][0], "last": judged[-1][0]})
    await connection.execute(_EMPTY)  # the next page of the same transaction finds it empty


async def ballots_on_items(
    connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]
) -> list[tuple[int, str, int]]:
    """The votes on these items that no label was held to as (item, worker, label): item by item, as they came.

    Of named workers, and without those that were removed.
    """
    query = (
        select(answer.c.item_id, answer.c.worker, answer.c.label)
        .join(item, (item.c.job_id == answer.c.job_id) & (item.c.item_id == answer.c.item_id))
        .where(
            answer.c.job_id == job_id,
            answer.c.item_id == func.any(bindparam("items", list(item_ids), ARRAY(BigInteger))),
            answer.c.worker.is_not(None),
            ~answer.c.withheld,
            answer.c.answer_id > item.c.scored,
        )
        .order_by(answer.c.item_id, answer.c.answer_id)
    )
    return [(row.item_id, row.worker, row.label) for row in await connection.execute(query)]


def _places(rows: Sequence[Any]) -> list[Place]:
    reasons = {reason: Reason(**json.loads(reason)) for reason in {row.reason for row in rows}}
    return [
        Place(
            item_id=item_id,
            cost=cost,
            gold=gold,
            promoted=promoted,
            prior=prior,
            in_flight=in_flight,
            standing=_standing(reasons[reason], dict(zip(_WITHOUT_REASON, values, strict=True))),
        )
        for item_id, cost, gold, promoted, prior, in_flight, reason, *values in rows
    ]


def _standing(reason: Reason, values: dict[str, Any]) -> Standing:
    values["state"] = ItemState(values["state"])
    return Standing(reason=reason, **values)


def _records(judged: Sequence[tuple[int, Standing]]) -> list[tuple[object, ...]]:
    reasons = {reason: json.dumps(asdict(reason)) for reason in {standing.reason for _, standing in judged}}
    return [
        (item_id, *(reasons[standing.reason] if name == "reason" else getattr(standing, name) for name in _STANDING))
        for item_id, standing in judged
    ]
