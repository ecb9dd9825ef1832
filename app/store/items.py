"""Items: what is labeled, its votes, and its place in the queue."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState, Reason
from app.store.driver import array_text, columns_of, fetch


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
    gold: int | None
    promoted: bool
    prior: Sequence[float] | None
    in_flight: int
    scored: int = 0  # the last answer that was held to a label
    standing: Standing


class Standee(Protocol):
    """Whatever stands somewhere: an item, or as much of it as judging takes."""

    @property
    def item_id(self) -> int: ...

    @property
    def in_flight(self) -> int: ...

    @property
    def standing(self) -> Standing: ...


_NAMES = [field.name for kind in (Item, Standing) for field in fields(kind) if field.name != "standing"]

# Named once more beside the join, so that the planner sees few rows and uses the index.
_SAVE = """
    UPDATE item i
    SET in_flight = sent.in_flight, state = sent.state, priority = sent.priority, wanted = sent.wanted,
        label = sent.label, confidence = sent.confidence, progress = sent.progress, votes = sent.votes::integer[],
        evidence = sent.evidence::double precision[], reason = sent.reason::jsonb
    FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::double precision[], $6::integer[], $7::smallint[],
                $8::double precision[], $9::double precision[], $10::text[], $11::text[], $12::text[])
         AS sent (item_id, in_flight, state, priority, wanted, label, confidence, progress, votes, evidence, reason)
    WHERE i.job_id = $1 AND i.item_id = sent.item_id AND i.item_id = ANY ($2)"""
_CHANGE_IN_FLIGHT = """
    UPDATE item i SET in_flight = i.in_flight + sent.by
    FROM unnest($2::bigint[], $3::integer[]) AS sent (item_id, by)
    WHERE i.job_id = $1 AND i.item_id = sent.item_id AND i.item_id = ANY ($2)"""
COLUMNS = ", ".join(f"i.{name}" for name in _NAMES)
_BY_KEY = f"SELECT {COLUMNS} FROM item i WHERE i.job_id = $1 AND i.key = ANY ($2::text[])"
_BY_NUMBER = f"SELECT {COLUMNS} FROM item i WHERE i.job_id = $1 AND i.item_id = ANY ($2::bigint[])"

_PROMOTE = """
    UPDATE item SET gold = label, promoted = true
    WHERE job_id = $1 AND item_id = ANY ($2::bigint[]) AND state = 'resolved' AND gold IS NULL"""
_DEMOTE = """
    UPDATE item SET gold = NULL, promoted = false, scored = $3
    WHERE job_id = $1 AND item_id = ANY ($2::bigint[]) AND promoted"""
_PAGE = f"""
    SELECT {COLUMNS} FROM item i WHERE i.job_id = $1 AND i.item_id > $2 AND ($3::text IS NULL OR i.state = $3)
    ORDER BY i.item_id LIMIT $4"""


async def load_items(
    connection: AsyncConnection, job_id: UUID, *, keys: Collection[str], item_ids: Collection[int]
) -> list[Item]:
    """Items by key or by number, each once."""
    # Two queries: an OR of the two is a scan of the job while the table's statistics are still young.
    rows = await fetch(connection, _BY_KEY, job_id, list(keys)) if keys else []
    rows += await fetch(connection, _BY_NUMBER, job_id, list(item_ids)) if item_ids else []
    return list({row["item_id"]: item_from(row) for row in rows}.values())


async def save_standings(connection: AsyncConnection, job_id: UUID, changed: Sequence[Standee]) -> None:
    """Write back what answers have changed."""
    if not changed:
        return
    standings = [row.standing for row in changed]
    plain = columns_of(standings, "state", "priority", "wanted", "label", "confidence", "progress")
    votes, evidence = (
        [array_text(values) for values in column] for column in columns_of(standings, "votes", "evidence")
    )
    reasons = [json.dumps(standing.reason.as_json()) for standing in standings]
    numbers = columns_of(changed, "item_id", "in_flight")
    await fetch(connection, _SAVE, job_id, *numbers, *plain, votes, evidence, reasons)


async def change_in_flight(connection: AsyncConnection, job_id: UUID, change: Mapping[int, int]) -> None:
    """Add to the number of answers that are out, per item."""
    if change:
        await fetch(connection, _CHANGE_IN_FLIGHT, job_id, list(change), list(change.values()))


async def promote_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> None:
    """Make gold of resolved items."""
    if item_ids:
        await fetch(connection, _PROMOTE, job_id, list(item_ids))


async def demote_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int], *, newest: int) -> None:
    """Take that back. What was answered up to the newest answer was held to the gold, and is to no label again."""
    if item_ids:
        await fetch(connection, _DEMOTE, job_id, list(item_ids), newest)


async def page_of_items(
    connection: AsyncConnection, job_id: UUID, *, state: ItemState | None, after: int, most: int
) -> list[Item]:
    """Items in the order in which they were added, from behind `after`."""
    return [item_from(row) for row in await fetch(connection, _PAGE, job_id, after, state, most)]


def item_from(row: Record) -> Item:
    """From a row of `COLUMNS`, and perhaps more."""
    return Item(
        item_id=row["item_id"],
        key=row["key"],
        tie_break=row["tie_break"],
        payload=row["payload"],
        cost=row["cost"],
        gold=row["gold"],
        promoted=row["promoted"],
        prior=row["prior"],
        in_flight=row["in_flight"],
        scored=row["scored"],
        standing=Standing(
            state=ItemState(row["state"]),
            votes=row["votes"],
            evidence=row["evidence"],
            priority=row["priority"],
            wanted=row["wanted"],
            label=row["label"],
            confidence=row["confidence"],
            progress=row["progress"],
            reason=Reason(**row["reason"]),
        ),
    )
