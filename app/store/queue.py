"""The queue: open items by tier and priority, read from the head of an index."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import Item
from app.store.driver import fetch
from app.store.items import COLUMNS, item_from

# The conditions on open items are those of the index, word for word, so that the planner uses it.
_OPEN = "i.job_id = $1 AND i.state = 'open'"
_HAS_ROOM = f"{_OPEN} AND i.open_assignments < i.max_open_assignments"
# After an expired or released assignment, the worker may get the item again.
_TAKEN = "a.state IN ('live', 'skipped')"
# All workers of an item, not only those who ask: an item has a few workers, but up to a hundred may ask.
_BEST = f"""
    SELECT {COLUMNS},
           ARRAY (SELECT worker FROM answer a
                  WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.worker IS NOT NULL) AS answered,
           ARRAY (SELECT worker FROM assignment a
                  WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.worker IS NOT NULL AND {_TAKEN}) AS taken
    FROM item i
    WHERE {_HAS_ROOM} {{conditions}}
    ORDER BY i.tier, i.priority DESC, i.tie_break
    LIMIT {{most}}"""
# Arrays, not EXISTS: the planner may turn EXISTS into a join that reads all answers of the worker for each item.
_NEW_TO = f"""
    {{worker}} <> ALL (ARRAY (
        SELECT a.worker FROM answer a
        WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.worker = {{worker}}))
    AND {{worker}} <> ALL (ARRAY (
        SELECT a.worker FROM assignment a
        WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND a.worker = {{worker}} AND {_TAKEN}))"""
_GOLD = f"""
    SELECT {COLUMNS} FROM item i
    WHERE i.job_id = $1 AND i.gold IS NOT NULL AND i.tie_break >= $5::bigint
        AND ($3::numeric IS NULL OR i.cost * $4::numeric <= $3::numeric) AND {_NEW_TO.format(worker="$2::text")}
    ORDER BY i.tie_break LIMIT 1"""
# The conditions of `ix_item_unsettled`, word for word. Each of these items is worth the same, so the cheapest is first.
_UNSETTLED = "i.job_id = $1 AND i.state = 'given_up' AND i.reason ->> 'code' = 'crowd-cannot-reach'"
_FIRST_UNSETTLED = f"""
    SELECT {COLUMNS} FROM item i
    WHERE {_UNSETTLED} AND i.open_assignments = 0 AND i.item_id <> ALL ($5::bigint[])
        AND ($3::numeric IS NULL OR i.cost * $4::numeric <= $3::numeric) AND {_NEW_TO.format(worker="$2::text")}
    ORDER BY i.cost, i.item_id LIMIT 1"""
_FOR_WHOM = f"""
    SELECT asking.worker FROM unnest($2::text[], $3::numeric[]) AS asking (worker, price)
    CROSS JOIN LATERAL (
        SELECT FROM item i
        WHERE {{condition}} AND ($4::numeric IS NULL OR i.cost * asking.price <= $4::numeric)
            AND (asking.worker IS NULL OR {_NEW_TO.format(worker="asking.worker")})
        LIMIT 1) AS found"""


# Where every open item is out to as many workers as it may be, all of them are read: there are few.
_TIME_OF_HEAD = f"""
    SELECT coalesce(
        (SELECT -i.priority FROM item i WHERE {_HAS_ROOM} ORDER BY i.tier, i.priority DESC, i.tie_break LIMIT 1),
        (SELECT min(-i.priority) FROM item i WHERE {_OPEN}),
        0) AS time"""


@dataclass(frozen=True, slots=True)
class QueuedItem:
    """An item that may get one more assignment, and the workers who must not get it."""

    item: Item
    seen_by: frozenset[str]


async def head_of_queue(connection: AsyncConnection, job_id: UUID, *, most: int) -> list[QueuedItem]:
    """Load the items that should be answered next, best first."""
    # A literal LIMIT: with a parameter the planner sorts the whole job instead of reading the index.
    return await _best(connection, _BEST.format(conditions="", most=int(most)), job_id)


async def time_of_head(connection: AsyncConnection, job_id: UUID) -> float:
    """Return when the clock of the next item rings, where a priority is minus a time; 0 if no item is open."""
    time: float = (await fetch(connection, _TIME_OF_HEAD, job_id))[0]["time"]
    return time


async def best_open_items(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    worker: str | None,
    price: Decimal,
    affordable: Decimal | None,
    besides: Collection[int],
    most: int,
) -> list[QueuedItem]:
    """Load the items that this worker should answer next, except those in `besides`."""
    conditions = [
        "AND i.item_id <> ALL ($2::bigint[])",
        "AND ($3::numeric IS NULL OR i.cost * $4::numeric <= $3::numeric)",
        "AND ($5::text IS NULL OR true)" if worker is None else f"AND {_NEW_TO.format(worker='$5::text')}",
    ]
    statement = _BEST.format(conditions=" ".join(conditions), most=int(most))
    return await _best(connection, statement, job_id, list(besides), affordable, price, worker)


async def gold_item(
    connection: AsyncConnection, job_id: UUID, *, worker: str, price: Decimal, affordable: Decimal | None, start: int
) -> Item | None:
    """Load a gold item that is new to the worker: the first from the random position `start` on, or else the first."""
    for tie_break in (start, 0):
        rows = await fetch(connection, _GOLD, job_id, worker, affordable, price, tie_break)
        if rows:
            return item_from(rows[0])
    return None


async def unsettled_item(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    worker: str,
    price: Decimal,
    affordable: Decimal | None,
    besides: Collection[int],
) -> Item | None:
    """Load the cheapest unsettled item, of those that nobody holds and that are new to the worker."""
    rows = await fetch(connection, _FIRST_UNSETTLED, job_id, worker, affordable, price, list(besides))
    return item_from(rows[0]) if rows else None


async def who_finds_room(
    connection: AsyncConnection, job_id: UUID, prices: Mapping[str | None, Decimal], money: Decimal | None
) -> set[str | None]:
    """Return the workers who could take some open item now, at their price, with this money; None: without limit."""
    return await _for_whom(connection, _HAS_ROOM, job_id, prices, money)


async def who_finds_open(
    connection: AsyncConnection, job_id: UUID, prices: Mapping[str | None, Decimal], money: Decimal | None
) -> set[str | None]:
    """Return the workers to whom some open item is new that this money pays, even if others hold it now."""
    return await _for_whom(connection, _OPEN, job_id, prices, money)


async def who_finds_unsettled(
    connection: AsyncConnection, job_id: UUID, prices: Mapping[str | None, Decimal], money: Decimal | None
) -> set[str | None]:
    """Return the workers to whom an unsettled item is new that this money pays, even if others hold it now."""
    return await _for_whom(connection, _UNSETTLED, job_id, prices, money)


async def _best(connection: AsyncConnection, statement: str, *arguments: object) -> list[QueuedItem]:
    rows = await fetch(connection, statement, *arguments)
    return [QueuedItem(item_from(row), frozenset(row["answered"]).union(row["taken"])) for row in rows]


async def _for_whom(
    connection: AsyncConnection,
    condition: str,
    job_id: UUID,
    prices: Mapping[str | None, Decimal],
    money: Decimal | None,
) -> set[str | None]:
    if not prices:
        return set()
    statement = _FOR_WHOM.format(condition=condition)
    rows = await fetch(connection, statement, job_id, list(prices), list(prices.values()), money)
    return {row["worker"] for row in rows}
