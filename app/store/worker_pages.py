"""Workers as requesters look at them: one, or page by page in any order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import fetch


class WorkerStatus(StrEnum):
    ACTIVE = "active"
    BLOCKED = "blocked"


class SortKey(StrEnum):
    NAME = "name"
    SKILL = "skill"
    ANSWERS = "answers"
    AGREEMENT = "agreement"
    SECONDS = "seconds"
    PRICE = "price"
    COPIES = "copies"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """All that is known of a worker."""

    worker: str
    skill: Sequence[float] | None
    price: Decimal
    registered: bool
    tier: str | None
    answers: int
    decided: int
    agreed: int
    gold_asked: int
    gold_right: int
    median_seconds: float | None
    status: WorkerStatus
    block: Mapping[str, Any] | None
    away: Mapping[str, Any] | None
    recount: bool
    copies: float | None


@dataclass(frozen=True, slots=True)
class Order:
    """By what workers are listed. Names decide between equals; who has no value comes last, either way round."""

    key: SortKey = SortKey.NAME
    descending: bool = False


Value = float | int | Decimal
Place = tuple[Value | None, str]  # the value by which a worker is listed, and its name

# Beta(agreed + 1/2, decided - agreed + 1/2) has this mean.
_BY_AGREEMENT = "CASE WHEN decided > 0 THEN (agreed + 0.5)::double precision / (decided + 1)::double precision END"
_MEDIAN = "(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY one) FROM unnest(seconds) AS one)"
_VALUES = {
    SortKey.NAME: ("NULL::double precision", "double precision"),
    SortKey.SKILL: ("accuracy", "double precision"),
    SortKey.ANSWERS: ("answers", "bigint"),
    SortKey.AGREEMENT: ("agreed::double precision / nullif(decided, 0)::double precision", "double precision"),
    SortKey.SECONDS: (_MEDIAN, "double precision"),
    SortKey.PRICE: ("price", "numeric"),
    SortKey.COPIES: ("copies", "double precision"),
}
_COLUMNS = f"""
    worker, skill, price, registered, tier, answers, decided, agreed, gold_asked, gold_right,
    {_MEDIAN} AS median_seconds, status, block, away, recount, copies"""
_ONE = f"SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND worker = $2"
_PAGE = f"""
    SELECT {_COLUMNS}, place FROM (SELECT *, {{value}} AS place FROM worker WHERE job_id = $1) AS worker
    WHERE ($2::text IS NULL OR status = $2) AND {{behind}}
    ORDER BY {{order}} LIMIT $5"""


async def find_worker(connection: AsyncConnection, job_id: UUID, name: str) -> WorkerRow | None:
    rows = await fetch(connection, _ONE, job_id, name)
    return _row(rows[0]) if rows else None


async def page_of_workers(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    order: Order,
    skill_by_agreement: bool,
    status: WorkerStatus | None,
    after: Place | None,
    most: int,
) -> list[tuple[WorkerRow, Place]]:
    """Workers in this order, from behind `after`, each with its place.

    By name it is a walk along the primary key; by anything else the workers of the job are sorted.
    """
    value, kind = _VALUES[order.key]
    if order.key is SortKey.SKILL and skill_by_agreement:
        value = _BY_AGREEMENT
    statement = _PAGE.format(value=value, behind=_behind(order, after, kind), order=_sorted(order))
    place, name = after or (None, "")
    rows = await fetch(connection, statement, job_id, status, place, name, most)
    return [(_row(row), (row["place"], row["worker"])) for row in rows]


def _sorted(order: Order) -> str:
    way = "DESC" if order.descending else "ASC"
    return f"worker {way}" if order.key is SortKey.NAME else f"place {way} NULLS LAST, worker"


def _behind(order: Order, after: Place | None, kind: str) -> str:
    """Every parameter is named with its type in each case: Postgres must know all of them."""
    value, name, further = f"$3::{kind}", "$4::text", "<" if order.descending else ">"
    typed = f"({value} IS NULL OR true) AND ({name} IS NULL OR true)"
    if after is None:
        return typed
    if order.key is SortKey.NAME:
        return f"{typed} AND worker {further} {name}"
    if after[0] is None:
        return f"{typed} AND place IS NULL AND worker > {name}"
    return f"{typed} AND (place {further} {value} OR (place = {value} AND worker > {name}) OR place IS NULL)"


def _row(row: Record) -> WorkerRow:
    values = {name: row[name] for name in WorkerRow.__slots__}
    return WorkerRow(**values | {"status": WorkerStatus(row["status"])})
