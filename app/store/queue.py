"""The queue: the index of open items by priority, read from its head."""

from collections.abc import Collection
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Numeric,
    Table,
    Text,
    and_,
    bindparam,
    exists,
    func,
    literal,
    literal_column,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.items import ITEM, Item, item_of
from app.store.tables import answer, assignment, item

# As in the index's own condition, literally, so that the planner recognises it.
_OPEN = item.c.state == literal_column("'open'")
_HAS_ROOM = and_(_OPEN, item.c.in_flight < item.c.wanted)
# What expired or was given back may be given again.
_TAKEN = assignment.c.state.in_([literal_column("'live'"), literal_column("'skipped'")])


@dataclass(frozen=True, slots=True)
class Queued:
    """An item that has room for one more answer, and who of those that ask must not get it."""

    item: Item
    seen_by: frozenset[str]


async def head_of_queue(
    connection: AsyncConnection, job_id: UUID, *, asking: Collection[str], most: int
) -> list[Queued]:
    """The items that should be answered next, best first, with those of the asking workers who must not get them."""
    return await _best(connection, job_id, asking, most)


async def best_open_item(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    worker: str | None,
    price: Decimal,
    affordable: Decimal | None,
    besides: Collection[int],
    asking: Collection[str],
) -> Queued | None:
    """The item that this worker should answer next, other than those that are known already."""
    conditions = [_new_to(worker)]
    if affordable is not None:
        conditions.append(item.c.cost * literal(price, Numeric) <= literal(affordable, Numeric))
    if besides:
        conditions.append(item.c.item_id != func.all(bindparam("besides", list(besides), ARRAY(BigInteger))))
    found = await _best(connection, job_id, asking, 1, *conditions)
    return found[0] if found else None


async def _best(
    connection: AsyncConnection, job_id: UUID, asking: Collection[str], most: int, *conditions: ColumnElement[bool]
) -> list[Queued]:
    among = bindparam("asking", list(asking), ARRAY(Text))
    query = (
        select(
            *ITEM, _workers_of(answer, among).label("answered"), _workers_of(assignment, among, _TAKEN).label("taken")
        )
        .where(item.c.job_id == job_id, _HAS_ROOM, *conditions)
        .order_by(item.c.priority.desc(), item.c.tie_break)
        # A literal: with a parameter here the planner sorts the whole job instead of reading the index.
        .limit(literal_column(str(int(most))))
    )
    return [_queued(dict(row)) for row in (await connection.execute(query)).mappings()]


def _queued(values: dict[Any, Any]) -> Queued:
    seen_by = frozenset(values.pop("answered")).union(values.pop("taken"))
    return Queued(item_of(values), seen_by)


async def who_finds_room(connection: AsyncConnection, job_id: UUID, workers: Collection[str | None]) -> set[str | None]:
    """Those for whom there is an open item that they could take, whatever it costs."""
    return await _for_whom(connection, job_id, workers, _HAS_ROOM)


async def who_finds_open(connection: AsyncConnection, job_id: UUID, workers: Collection[str | None]) -> set[str | None]:
    """Those for whom there is an open item that is new to them, even if all its answers are out."""
    return await _for_whom(connection, job_id, workers, _OPEN)


def _workers_of(table: Table, among: ColumnElement[Any], *conditions: ColumnElement[bool]) -> ColumnElement[Any]:
    """Those among the asking who stand in a table beside the item, as an array."""
    found = select(table.c.worker).where(
        table.c.job_id == item.c.job_id,
        table.c.item_id == item.c.item_id,
        table.c.worker == func.any(among),
        *conditions,
    )
    return func.array(found.correlate(item).scalar_subquery(), type_=ARRAY(Text))


def _new_to(worker: ColumnElement[str] | str | None) -> ColumnElement[bool]:
    """Not answered, held or skipped by this worker."""
    if worker is None:
        return true()
    same = [
        and_(table.c.job_id == item.c.job_id, table.c.item_id == item.c.item_id, table.c.worker == worker)
        for table in (answer, assignment)
    ]
    return and_(~exists().where(same[0]), ~exists().where(same[1], _TAKEN))


async def _for_whom(
    connection: AsyncConnection, job_id: UUID, workers: Collection[str | None], condition: ColumnElement[bool]
) -> set[str | None]:
    named = [worker for worker in workers if worker is not None]
    asking = func.unnest(bindparam("workers", named, ARRAY(Text))).table_valued("worker").render_derived()
    there_is = exists().where(item.c.job_id == job_id, condition, _new_to(asking.c.worker)).correlate(asking)
    found: set[str | None] = set(await connection.scalars(select(asking.c.worker).where(there_is))) if named else set()
    if len(named) < len(workers) and await connection.scalar(
        select(exists().where(item.c.job_id == job_id, condition))
    ):
        found.add(None)
    return found
