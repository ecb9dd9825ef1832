"""Decisions about many items: read page by page, written in bulk."""

import asyncio
import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, fields
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

from app.domain.item import ItemDecision, ItemRow, ItemState
from app.policy.core.decision import Reason
from app.store.driver import array_text
from app.store.tables import answer, item

_DECISION = [field.name for field in fields(ItemDecision)]
_WITHOUT_REASON = [name for name in _DECISION if name != "reason"]
_COLUMNS = [
    item.c.item_id,
    item.c.cost,
    item.c.gold,
    item.c.gold_value,
    item.c.promoted,
    item.c.prior,
    item.c.prior_answered,
    item.c.feature_opinion,
    item.c.open_assignments,
    item.c.joined,
    cast(item.c.reason, Text).label("reason"),  # as text: a page has few different reasons, so each is parsed only once
    *(item.c[name] for name in _WITHOUT_REASON),
]
# Arrays stay as the driver returns them: converting them takes a third of the time to load a page.
_ITEM_ROW = [type_coerce(column, NullType()) if isinstance(column.type, ARRAY) else column for column in _COLUMNS]

_TEMPORARY = text(
    "CREATE TEMP TABLE IF NOT EXISTS rejudged ON COMMIT DELETE ROWS AS "
    f"SELECT item_id, {', '.join(_DECISION)} FROM item WITH NO DATA"
)
_WRITE = text(
    f"UPDATE item SET {', '.join(f'{name} = rejudged.{name}' for name in _DECISION)} "
    "FROM rejudged WHERE item.job_id = :job AND item.item_id = rejudged.item_id "
    "AND item.item_id BETWEEN :first AND :last"  # so that a page does not scan the whole job
)
# By the place of the source: of priors, and of features. Literals, as in the conditions of the indexes.
_SPOKEN_OF: Sequence[ColumnElement[bool]] = tuple(
    literal_column(f"item.{column} IS NOT NULL") for column in ("prior", "features")
)
_SET_FEATURE_OPINIONS = text(
    "UPDATE item SET feature_opinion = sent.shares::double precision[] "
    "FROM unnest(cast(:items AS bigint[]), cast(:shares AS text[])) AS sent (item_id, shares) "
    "WHERE item.job_id = :job AND item.item_id = sent.item_id AND item.item_id BETWEEN :first AND :last"
)
_VERSION: ColumnElement[str] = literal_column("item.xmin::text")
_EMPTY = text("TRUNCATE rejudged")


async def page_of_item_rows(
    connection: AsyncConnection, job_id: UUID, *, open_only: bool, after: int, most: int
) -> list[ItemRow]:
    """Load items after the number `after`, in the order in which they were added."""
    query = select(*_ITEM_ROW).where(item.c.job_id == job_id, item.c.item_id > after)
    if open_only:
        query = query.where(item.c.state == literal_column("'open'"))  # a literal, as in the condition of the index
    rows = await connection.execute(query.order_by(item.c.item_id).limit(literal_column(str(int(most)))))
    return await asyncio.to_thread(_item_rows, rows.all())


async def page_of_opinions(
    connection: AsyncConnection, job_id: UUID, place: int, *, without_answers: bool, after: int, most: int
) -> list[ItemRow]:
    """Load items after the number `after` about which this source may speak: all, or only those without answers.

    `place` is that of the source among the job's.
    """
    query = select(*_ITEM_ROW).where(item.c.job_id == job_id, item.c.item_id > after, _SPOKEN_OF[place])
    if without_answers:
        query = query.where(literal_column("0 = ALL (item.votes)"))
    rows = await connection.execute(query.order_by(item.c.item_id).limit(literal_column(str(int(most)))))
    return await asyncio.to_thread(_item_rows, rows.all())


async def item_rows_of(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[ItemRow]:
    """Load these items, in the order in which they were added."""
    these = func.any(bindparam("items", list(item_ids), ARRAY(BigInteger)))
    query = select(*_ITEM_ROW).where(item.c.job_id == job_id, item.c.item_id == these).order_by(item.c.item_id)
    return await asyncio.to_thread(_item_rows, (await connection.execute(query)).all())


async def versions_of(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> dict[int, str]:
    """Load a version per item that changes with every write to its row: the id of the writing transaction."""
    these = func.any(bindparam("items", list(item_ids), ARRAY(BigInteger)))
    query = select(item.c.item_id, _VERSION).where(item.c.job_id == job_id, item.c.item_id == these)
    return {row[0]: row[1] for row in await connection.execute(query)}


async def replace_decisions(
    connection: AsyncConnection, job_id: UUID, judged: Sequence[tuple[int, ItemDecision]]
) -> None:
    """Write new decisions, by item in ascending order: one COPY and one UPDATE."""
    if not judged:
        return
    driver = (await connection.get_raw_connection()).driver_connection
    assert driver is not None  # noqa: S101  the connection is open
    await connection.execute(_TEMPORARY)
    records = await asyncio.to_thread(_records, judged)
    await driver.copy_records_to_table("rejudged", records=records, columns=["item_id", *_DECISION])
    await connection.execute(_WRITE, {"job": job_id, "first": judged[0][0], "last": judged[-1][0]})
    await connection.execute(_EMPTY)  # for the next page in the same transaction


async def set_feature_opinions(
    connection: AsyncConnection, job_id: UUID, opinions: Sequence[tuple[int, Sequence[float] | None]]
) -> None:
    """Write what the features of items say about them, by item in ascending order; None: nothing that counts."""
    if not opinions:
        return
    items, shares = zip(*opinions, strict=True)
    texts = [None if each is None else array_text(each) for each in shares]
    sent = {"job": job_id, "first": items[0], "last": items[-1], "items": list(items), "shares": texts}
    await connection.execute(_SET_FEATURE_OPINIONS, sent)


async def ballots_on_items(
    connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]
) -> list[tuple[int, str, int]]:
    """Load the unscored votes on these items as (item, worker, label), in the order of commit.

    Votes of unnamed workers and removed votes are left out.
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


def _item_rows(rows: Sequence[Any]) -> list[ItemRow]:
    reasons = {reason: Reason(**json.loads(reason)) for reason in {row.reason for row in rows}}
    return [
        ItemRow(
            item_id=item_id,
            cost=cost,
            gold=gold,
            gold_value=gold_value,
            promoted=promoted,
            prior=prior,
            prior_answered=prior_answered,
            feature_opinion=feature_opinion,
            open_assignments=open_assignments,
            joined=joined,
            decision=_decision(reasons[reason], dict(zip(_WITHOUT_REASON, values, strict=True))),
        )
        for (
            item_id,
            cost,
            gold,
            gold_value,
            promoted,
            prior,
            prior_answered,
            feature_opinion,
            open_assignments,
            joined,
            reason,
            *values,
        ) in rows
    ]


def _decision(reason: Reason, values: dict[str, Any]) -> ItemDecision:
    values["state"] = ItemState(values["state"])
    return ItemDecision(reason=reason, **values)


def _records(judged: Sequence[tuple[int, ItemDecision]]) -> list[tuple[object, ...]]:
    reasons = {reason: json.dumps(asdict(reason)) for reason in {decision.reason for _, decision in judged}}
    return [
        (item_id, *(reasons[decision.reason] if name == "reason" else getattr(decision, name) for name in _DECISION))
        for item_id, decision in judged
    ]
