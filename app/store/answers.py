"""Answers: votes in the order in which they were committed."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, CursorResult, Uuid, bindparam, func, insert, literal, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.arrays import as_rows
from app.store.pairs import Pair, as_table, same_pair
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


_ANSWER = [column for column in answer.c if column.name != "job_id"]


async def insert_answers(connection: AsyncConnection, job_id: UUID, new: Sequence[Answer]) -> None:
    if not new:
        return
    names = [column.name for column in _ANSWER]
    rows = as_rows(_ANSWER, [[getattr(row, name) for row in new] for name in names])
    await connection.execute(insert(answer).from_select(["job_id", *names], select(literal(job_id, Uuid), *rows)))


async def answers_by_assignment(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> list[Answer]:
    wanted = answer.c.assignment_id == func.any(bindparam("numbers", list(numbers), ARRAY(BigInteger)))
    return _answers(await connection.execute(select(*_ANSWER).where(answer.c.job_id == job_id, wanted)))


async def answers_by_pair(connection: AsyncConnection, job_id: UUID, wanted: Collection[Pair]) -> list[Answer]:
    pairs = as_table(wanted)
    query = select(*_ANSWER).where(answer.c.job_id == job_id, same_pair(answer, pairs))
    return _answers(await connection.execute(query))


async def answers_on_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[Answer]:
    """All answers on these items, in the order of commit."""
    wanted = answer.c.item_id == func.any(bindparam("items", list(item_ids), ARRAY(BigInteger)))
    query = select(*_ANSWER).where(answer.c.job_id == job_id, wanted).order_by(answer.c.answer_id)
    return _answers(await connection.execute(query))


async def ballots_of(connection: AsyncConnection, job_id: UUID) -> list[tuple[int, str | None, int]]:
    """Every counted answer of a job as (item, worker, label), in the order of commit."""
    query = (
        select(answer.c.item_id, answer.c.worker, answer.c.label)
        .where(answer.c.job_id == job_id, answer.c.counted)
        .order_by(answer.c.answer_id)
    )
    return [(row.item_id, row.worker, row.label) for row in await connection.execute(query)]


def _answers(found: CursorResult[Any]) -> list[Answer]:
    return [Answer(**row) for row in found.mappings()]
