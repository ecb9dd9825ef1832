"""Items: what is labeled, its votes, and its place in the queue."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import HasDecision, Item, ItemDecision, ItemState
from app.policy.core.decision import Reason
from app.store.driver import array_text, columns_of, fetch

_NAMES = [field.name for kind in (Item, ItemDecision) for field in fields(kind) if field.name != "decision"]

# The items are named again in addition to the join, so that the planner expects few rows and uses the index.
_SAVE = """
    UPDATE item i
    SET open_assignments = sent.open_assignments, state = sent.state, tier = sent.tier, priority = sent.priority,
        max_open_assignments = sent.max_open_assignments, label = sent.label, confidence = sent.confidence,
        progress = sent.progress, votes = sent.votes::integer[], model_state = sent.model_state::double precision[],
        reason = sent.reason::jsonb
    FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::smallint[], $6::double precision[], $7::integer[],
                $8::smallint[], $9::double precision[], $10::double precision[], $11::text[], $12::text[], $13::text[])
         AS sent (item_id, open_assignments, state, tier, priority, max_open_assignments, label, confidence, progress,
                  votes, model_state, reason)
    WHERE i.job_id = $1 AND i.item_id = sent.item_id AND i.item_id = ANY ($2)"""
_CHANGE_OPEN_ASSIGNMENTS = """
    UPDATE item i SET open_assignments = i.open_assignments + sent.by
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
    """Load items by key or by number, each once."""
    # Two queries: with OR, Postgres scans the whole job until the table has good statistics.
    rows = await fetch(connection, _BY_KEY, job_id, list(keys)) if keys else []
    rows += await fetch(connection, _BY_NUMBER, job_id, list(item_ids)) if item_ids else []
    return list({row["item_id"]: item_from(row) for row in rows}.values())


async def save_decisions(connection: AsyncConnection, job_id: UUID, changed: Sequence[HasDecision]) -> None:
    """Write the decisions about these items and their numbers of open assignments."""
    if not changed:
        return
    decisions = [row.decision for row in changed]
    plain = columns_of(
        decisions, "state", "tier", "priority", "max_open_assignments", "label", "confidence", "progress"
    )
    votes, model_state = (
        [array_text(values) for values in column] for column in columns_of(decisions, "votes", "model_state")
    )
    reasons = [json.dumps({"code": decision.reason.code, "message": decision.reason.message}) for decision in decisions]
    numbers = columns_of(changed, "item_id", "open_assignments")
    await fetch(connection, _SAVE, job_id, *numbers, *plain, votes, model_state, reasons)


async def change_open_assignments(connection: AsyncConnection, job_id: UUID, change: Mapping[int, int]) -> None:
    """Add to the number of open assignments of each item."""
    if change:
        await fetch(connection, _CHANGE_OPEN_ASSIGNMENTS, job_id, list(change), list(change.values()))


async def promote_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> None:
    """Make resolved items gold."""
    if item_ids:
        await fetch(connection, _PROMOTE, job_id, list(item_ids))


async def demote_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int], *, newest: int) -> None:
    """Undo the promotion. Answers up to `newest` were already scored by the gold label and are not scored again."""
    if item_ids:
        await fetch(connection, _DEMOTE, job_id, list(item_ids), newest)


async def page_of_items(
    connection: AsyncConnection, job_id: UUID, *, state: ItemState | None, after: int, most: int
) -> list[Item]:
    """Load items after the number `after`, in the order in which they were added."""
    return [item_from(row) for row in await fetch(connection, _PAGE, job_id, after, state, most)]


def item_from(row: Record) -> Item:
    """Build an item from a row that has at least `COLUMNS`."""
    return Item(
        item_id=row["item_id"],
        key=row["key"],
        tie_break=row["tie_break"],
        payload=row["payload"],
        cost=row["cost"],
        gold=row["gold"],
        promoted=row["promoted"],
        prior=row["prior"],
        open_assignments=row["open_assignments"],
        scored=row["scored"],
        decision=ItemDecision(
            state=ItemState(row["state"]),
            votes=row["votes"],
            model_state=row["model_state"],
            tier=row["tier"],
            priority=row["priority"],
            max_open_assignments=row["max_open_assignments"],
            label=row["label"],
            confidence=row["confidence"],
            progress=row["progress"],
            reason=Reason(**row["reason"]),
        ),
    )
