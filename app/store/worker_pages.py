"""Workers as requesters see them: one by name, or a sorted page of them."""

from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.worker import WorkerOrder, WorkerPosition, WorkerRecord, WorkerSortKey, WorkerStatus
from app.store.driver import fetch

# The mean of Beta(agreed_answers + 1/2, scored_answers - agreed_answers + 1/2).
_SKILL_BY_AGREEMENT = """
    CASE WHEN scored_answers > 0
        THEN (agreed_answers + 0.5)::double precision / (scored_answers + 1)::double precision
    END"""
_MEDIAN = "(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY one) FROM unnest(seconds) AS one)"
# For each sort key, the expression and its type.
_SORT_VALUES = {
    WorkerSortKey.NAME: ("NULL::double precision", "double precision"),
    WorkerSortKey.SKILL: ("accuracy", "double precision"),
    WorkerSortKey.ANSWERS: ("answers", "bigint"),
    WorkerSortKey.AGREEMENT: (
        "agreed_answers::double precision / nullif(scored_answers, 0)::double precision",
        "double precision",
    ),
    WorkerSortKey.SECONDS: (_MEDIAN, "double precision"),
    WorkerSortKey.PRICE: ("price", "numeric"),
    WorkerSortKey.COPYING_PROBABILITY: ("copying_probability", "double precision"),
}
# The column `status` is `active` or `blocked`; each refit decides again who is a low-information worker.
_STATUS = """
    CASE WHEN status = 'blocked' THEN 'blocked'
        WHEN low_information IS NOT NULL THEN 'low-information'
        ELSE 'active'
    END"""
_COLUMNS = f"""
    worker, skill, price, registered, tier, answers, scored_answers, agreed_answers, gold_asked, gold_right,
    {_MEDIAN} AS median_seconds, {_STATUS} AS status, block, low_information, recount, copying_probability, trusted,
    stated_accuracy, stated_weight"""
_ONE = f"SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND worker = $2"
_PAGE = f"""
    SELECT {_COLUMNS}, sort_value FROM (SELECT *, {{value}} AS sort_value FROM worker WHERE job_id = $1) AS worker
    WHERE ($2::text IS NULL OR true) AND {{status}} AND {{behind}}
    ORDER BY {{order}} LIMIT $5"""
# Of the few blocked and low-information workers there are indexes.
_WITH_STATUS = {
    None: "true",
    WorkerStatus.ACTIVE: "status = 'active' AND low_information IS NULL",
    WorkerStatus.LOW_INFORMATION: "status = 'active' AND low_information IS NOT NULL",
    WorkerStatus.BLOCKED: "status = 'blocked'",
}


async def find_worker(connection: AsyncConnection, job_id: UUID, name: str) -> WorkerRecord | None:
    """Load everything that is known about a worker; None if the job does not know the name."""
    rows = await fetch(connection, _ONE, job_id, name)
    return _record(rows[0]) if rows else None


async def page_of_workers(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    order: WorkerOrder,
    skill_by_agreement: bool,
    status: WorkerStatus | None,
    after: WorkerPosition | None,
    most: int,
) -> list[tuple[WorkerRecord, WorkerPosition]]:
    """Load the workers after `after` in this order, each with its position.

    Sorting by name uses the primary key; any other order sorts all workers of the job.
    """
    value, kind = _SORT_VALUES[order.key]
    if order.key is WorkerSortKey.SKILL and skill_by_agreement:
        value = _SKILL_BY_AGREEMENT
    statement = _PAGE.format(
        value=value, status=_WITH_STATUS[status], behind=_behind(order, after, kind), order=_sorted(order)
    )
    sort_value, name = after or (None, "")
    rows = await fetch(connection, statement, job_id, None, sort_value, name, most)
    return [(_record(row), (row["sort_value"], row["worker"])) for row in rows]


def _sorted(order: WorkerOrder) -> str:
    direction = "DESC" if order.descending else "ASC"
    if order.key is WorkerSortKey.NAME:
        return f"worker {direction}"
    return f"sort_value {direction} NULLS LAST, worker"


def _behind(order: WorkerOrder, after: WorkerPosition | None, kind: str) -> str:
    """Return the SQL condition for workers after `after`. It names every parameter: Postgres needs the type of each."""
    value, name, further = f"$3::{kind}", "$4::text", "<" if order.descending else ">"
    typed = f"({value} IS NULL OR true) AND ({name} IS NULL OR true)"
    if after is None:
        return typed
    if order.key is WorkerSortKey.NAME:
        return f"{typed} AND worker {further} {name}"
    if after[0] is None:
        return f"{typed} AND sort_value IS NULL AND worker > {name}"
    return (
        f"{typed} AND (sort_value {further} {value} OR (sort_value = {value} AND worker > {name}) "
        "OR sort_value IS NULL)"
    )


def _record(row: Record) -> WorkerRecord:
    values = {name: row[name] for name in WorkerRecord.__slots__}
    return WorkerRecord(**values | {"status": WorkerStatus(row["status"])})
