"""Answers: votes in the order in which they were committed."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import columns_of, fetch
from app.store.tables import answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    answer_id: int
    item_id: int
    worker: str | None
    assignment_id: int | None
    label: int
    cost: Decimal
    late: bool
    counted: bool
    verdict: dict[str, Any]
    answered_at: datetime
    withheld: bool = False  # its worker is blocked, and the vote removed


_NAMES = ("answer_id", "item_id", "worker", "assignment_id", "label", "cost", "late", "counted", "answered_at")
_COLUMNS = ", ".join(f"a.{name}" for name in (*_NAMES, "verdict", "withheld"))
_INSERT = f"""
    INSERT INTO answer (job_id, {", ".join(_NAMES)}, verdict)
    SELECT $1, {", ".join(f"sent.{name}" for name in _NAMES)}, sent.verdict::jsonb
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::smallint[], $7::numeric[], $8::boolean[],
                $9::boolean[], $10::timestamptz[], $11::text[]) AS sent ({", ".join(_NAMES)}, verdict)"""
_BY_ASSIGNMENT = f"SELECT {_COLUMNS} FROM answer a WHERE a.job_id = $1 AND a.assignment_id = ANY ($2::bigint[])"
_BY_PAIR = f"""
    SELECT {_COLUMNS}
    FROM unnest($2::bigint[], $3::text[]) AS pair (item_id, worker)
    JOIN answer a ON a.job_id = $1 AND a.item_id = pair.item_id AND a.worker = pair.worker"""
_ON_ITEMS = (
    f"SELECT {_COLUMNS} FROM answer a WHERE a.job_id = $1 AND a.item_id = ANY ($2::bigint[]) ORDER BY a.answer_id"
)


async def insert_answers(connection: AsyncConnection, job_id: UUID, new: Sequence[Answer]) -> None:
    verdicts = [json.dumps(row.verdict) for row in new]
    await fetch(connection, _INSERT, job_id, *columns_of(new, *_NAMES), verdicts)


async def answers_by_assignment(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> list[Answer]:
    return [_answer(row) for row in await fetch(connection, _BY_ASSIGNMENT, job_id, list(numbers))]


async def answers_by_pair(
    connection: AsyncConnection, job_id: UUID, pairs: Collection[tuple[int, str]]
) -> list[Answer]:
    """What these workers said of these items."""
    items, workers = [item_id for item_id, _ in pairs], [worker for _, worker in pairs]
    return [_answer(row) for row in await fetch(connection, _BY_PAIR, job_id, items, workers)]


async def answers_on_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[Answer]:
    """All answers on these items, in the order of commit."""
    return [_answer(row) for row in await fetch(connection, _ON_ITEMS, job_id, list(item_ids))]


async def ballots_of(connection: AsyncConnection, job_id: UUID) -> list[tuple[int, str | None, int]]:
    """Every answer of a job that counts as (item, worker, label), in the order of commit."""
    query = (
        select(answer.c.item_id, answer.c.worker, answer.c.label)
        .where(answer.c.job_id == job_id, answer.c.counted, ~answer.c.withheld)
        .order_by(answer.c.answer_id)
    )
    return [(row.item_id, row.worker, row.label) for row in await connection.execute(query)]


def _answer(row: Record) -> Answer:
    return Answer(**row)
