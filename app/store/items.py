"""Items: what is labeled, its votes, and its place in the queue."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any
from uuid import UUID

from asyncpg import Record
from pydantic_core import to_json
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import HasDecision, Item, ItemDecision, ItemState
from app.policy.core.decision import Reason
from app.store.driver import array_text, columns_of, fetch

_STATES = {state.value: state for state in ItemState}  # the call of an enumeration takes a third of a row's time
_NAMES = [field.name for kind in (Item, ItemDecision) for field in fields(kind) if field.name != "decision"]

# The items are named again in addition to the join, so that the planner expects few rows and uses the index.
_SAVE = """
    UPDATE item i
    SET open_assignments = sent.open_assignments, state = sent.state, tier = sent.tier, priority = sent.priority,
        max_open_assignments = sent.max_open_assignments, label = sent.label, confidence = sent.confidence,
        progress = sent.progress, votes = sent.votes::integer[], model_state = sent.model_state::double precision[],
        reason = sent.reason::jsonb
    FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::smallint[], $6::double precision[], $7::integer[],
                $8::bigint[], $9::double precision[], $10::double precision[], $11::text[], $12::text[], $13::text[])
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
# By the place of the source: of priors, and of features.
_DROP_OPINIONS = tuple(
    f"UPDATE item SET {dropped} WHERE job_id = $1 AND item_id = ANY ($2::bigint[])"
    for dropped in ("prior_answered = true", "feature_opinion = NULL")
)
_PAGE = f"""
    SELECT {COLUMNS} FROM item i WHERE i.job_id = $1 AND i.item_id > $2 {{only}} AND ($3::bigint IS NULL OR true)
    ORDER BY i.item_id LIMIT {{most}}"""
_FIND = f"""
    SELECT {COLUMNS}, (SELECT count(*) FROM answer a WHERE a.job_id = $1 AND a.item_id = i.item_id) + coalesce((
        SELECT cardinality(workers) FROM imported_answers w WHERE w.job_id = $1 AND w.item_id = i.item_id), 0)
        AS answers
    FROM item i WHERE i.job_id = $1 AND i.key = $2"""
_CHANGE = """
    UPDATE item SET cost = coalesce($3, cost),
        payload = CASE WHEN 'payload' = ANY ($8::text[]) THEN $4::text::json ELSE payload END,
        gold = CASE WHEN 'gold' = ANY ($8::text[]) THEN $5::bigint ELSE gold END,
        prior = CASE WHEN 'prior' = ANY ($8::text[]) THEN $6::double precision[] ELSE prior END,
        features = CASE WHEN 'features' = ANY ($8::text[]) THEN $7::double precision[] ELSE features END,
        feature_opinion = CASE WHEN 'features' = ANY ($8::text[]) THEN NULL ELSE feature_opinion END,
        gold_value = CASE WHEN 'gold' = ANY ($8::text[]) THEN $9::double precision ELSE gold_value END
    WHERE job_id = $1 AND item_id = $2"""
_DELETE = "DELETE FROM item WHERE job_id = $1 AND item_id = $2"
# Most jobs have many items of the lowest cost, and the first of them ends the search.
_LEAST_COST = """
    SELECT coalesce(
        (SELECT i.cost FROM item i WHERE i.job_id = $1 AND i.cost = $2::numeric LIMIT 1),
        (SELECT min(i.cost) FROM item i WHERE i.job_id = $1),
        0) AS cost"""


@dataclass(frozen=True)
class FoundItem:
    """An item, and how many answers it has."""

    item: Item
    answers: int


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
    said = [decision.reason for decision in decisions]
    reasons = [to_json({"code": reason.code, "message": reason.message}).decode() for reason in said]
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


async def drop_opinions(connection: AsyncConnection, job_id: UUID, place: int, item_ids: Collection[int]) -> None:
    """Store that the opinions of this one of the job's sources about these items no longer count: it has answered."""
    if item_ids:
        await fetch(connection, _DROP_OPINIONS[place], job_id, list(item_ids))


async def page_of_items(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    state: ItemState | None = None,
    label: int | None = None,
    after: int,
    most: int,
) -> list[Item]:
    """Load items after the number `after`, in the order in which they were added: all, or those in a state."""
    # Literals, so that the planner uses the index of this state or label and reads no more than a page.
    only = "" if state is None else f"AND i.state = '{ItemState(state).value}'"
    only += "" if label is None else "AND i.label = $3"
    return [
        item_from(row) for row in await fetch(connection, _PAGE.format(only=only, most=int(most)), job_id, after, label)
    ]


async def find_item(connection: AsyncConnection, job_id: UUID, key: str) -> FoundItem | None:
    """Load the item with this key, and count its answers, with those that wait to be recorded; None: there is none."""
    rows = await fetch(connection, _FIND, job_id, key)
    return FoundItem(item_from(rows[0]), rows[0]["answers"]) if rows else None


async def change_content(connection: AsyncConnection, job_id: UUID, item_id: int, written: Mapping[str, Any]) -> None:
    """Write these fields of what the requester said about an item; the others stay as they are."""
    payload = written.get("payload")
    await fetch(
        connection,
        _CHANGE,
        job_id,
        item_id,
        written.get("cost"),
        None if payload is None else to_json(payload).decode(),
        written.get("gold"),
        written.get("prior"),
        written.get("features"),
        list(written),
        written.get("gold_value"),
    )


async def delete_one(connection: AsyncConnection, job_id: UUID, item_id: int) -> None:
    """Delete an item with its ended assignments."""
    await fetch(connection, _DELETE, job_id, item_id)


async def least_cost_of(connection: AsyncConnection, job_id: UUID, *, bound: Decimal) -> Decimal:
    """Return the lowest cost of an item, 0 without items; no item costs less than `bound`."""
    cost: Decimal = (await fetch(connection, _LEAST_COST, job_id, bound))[0]["cost"]
    return cost


def item_from(row: Record) -> Item:
    """Build an item from a row that has at least `COLUMNS`."""
    return Item(
        item_id=row["item_id"],
        key=row["key"],
        tie_break=row["tie_break"],
        payload=row["payload"],
        cost=row["cost"],
        gold=row["gold"],
        gold_value=row["gold_value"],
        promoted=row["promoted"],
        prior=row["prior"],
        prior_answered=row["prior_answered"],
        feature_opinion=row["feature_opinion"],
        open_assignments=row["open_assignments"],
        scored=row["scored"],
        joined=row["joined"],
        decision=ItemDecision(
            state=_STATES[row["state"]],
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
