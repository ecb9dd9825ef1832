"""Recorded answers that are imported: they are checked in a temporary table, wait in another, and become answers."""

import json
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.policy.answers import Said
from app.policy.core.decision import Decision, Reason
from app.store.driver import fetch
from app.store.staging import copy_text, escaped

_NOBODY_WAITED = Reason("imported", "The answer was imported with others; the item was judged afterwards.")
_MANY = 1000  # rows; for more, the planner needs statistics
_MOST_NAMED = 20
_PAGE_ITEMS = 1000
_PAGE_ANSWERS = 5000  # unless one item has more: other writers of the job wait for a few tenths of a second

_TABLE = """
    CREATE TEMP TABLE IF NOT EXISTS staged_answer (
        position bigint NOT NULL,
        line bigint NOT NULL,
        key text NOT NULL,
        worker text NOT NULL,
        tier text,
        label bigint NOT NULL,
        number double precision,
        answered_at timestamptz NOT NULL
    ) ON COMMIT DELETE ROWS
"""
_STAGED = ("position", "line", "key", "worker", "tier", "label", "number", "answered_at")
_UNKNOWN_ITEMS = f"""
    SELECT sent.position, sent.line, sent.key AS item, NULL AS worker
    FROM staged_answer sent LEFT JOIN item i ON i.job_id = $1 AND i.key = sent.key
    WHERE i.item_id IS NULL ORDER BY sent.position LIMIT {_MOST_NAMED}"""
_FIRSTS = """
    firsts AS (
        SELECT key, worker, min(position) AS first FROM staged_answer GROUP BY key, worker HAVING count(*) > 1)"""
_DIFFERENT_FROM_FIRST = f"""
    WITH {_FIRSTS}
    SELECT sent.position, sent.line, sent.key AS item, sent.worker
    FROM firsts JOIN staged_answer sent USING (key, worker) JOIN staged_answer other ON other.position = first
    WHERE (sent.label, sent.number, sent.tier) IS DISTINCT FROM (other.label, other.number, other.tier)
    ORDER BY sent.position LIMIT {_MOST_NAMED}"""
_DELETE_REPEATED = f"""
    WITH {_FIRSTS}
    DELETE FROM staged_answer sent USING firsts
    WHERE sent.key = firsts.key AND sent.worker = firsts.worker AND sent.position > first"""
# One statement, so that an answer that is recorded meanwhile is found in one of the two tables.
_KNOWN = """
    known AS (
        SELECT i.key, a.worker, a.label, a.value AS number, a.tier
        FROM answer a JOIN item i USING (job_id, item_id) WHERE a.job_id = $1 AND a.worker IS NOT NULL
        UNION ALL
        SELECT i.key, one.worker, one.label, one.number, one.tier
        FROM imported_answers a JOIN item i USING (job_id, item_id),
            unnest(a.workers, a.labels, a.numbers, a.tiers) AS one (worker, label, number, tier)
        WHERE a.job_id = $1)"""
_DIFFERENT_FROM_KNOWN = f"""
    WITH {_KNOWN}
    SELECT sent.position, sent.line, sent.key AS item, sent.worker
    FROM staged_answer sent JOIN known USING (key, worker)
    WHERE (sent.label, sent.number) IS DISTINCT FROM (known.label, known.number)
        OR sent.tier IS NOT NULL AND sent.tier IS DISTINCT FROM known.tier
    ORDER BY sent.position LIMIT {_MOST_NAMED}"""
_DELETE_KNOWN = f"""
    WITH {_KNOWN}
    DELETE FROM staged_answer sent USING known WHERE sent.key = known.key AND sent.worker = known.worker"""
_HAS_ANSWERS = """
    SELECT EXISTS (SELECT FROM answer WHERE job_id = $1) OR EXISTS (SELECT FROM imported_answers WHERE job_id = $1)"""
_COUNT = "SELECT count(*) FROM staged_answer"
_KEEP = """
    INSERT INTO imported_answers AS known (job_id, item_id, workers, tiers, labels, numbers, answered_at)
    SELECT $1, item_id, array_agg(worker), array_agg(tier), array_agg(label), array_agg(number),
        array_agg(answered_at)
    FROM (SELECT i.item_id, sent.worker, sent.tier, sent.label, sent.number, sent.answered_at
          FROM staged_answer sent JOIN item i ON i.job_id = $1 AND i.key = sent.key
          ORDER BY i.item_id, sent.position) AS one
    GROUP BY item_id ORDER BY item_id
    ON CONFLICT (job_id, item_id) DO UPDATE
    SET workers = known.workers || excluded.workers, tiers = known.tiers || excluded.tiers,
        labels = known.labels || excluded.labels, numbers = known.numbers || excluded.numbers,
        answered_at = known.answered_at || excluded.answered_at"""

_LAST_OF_PAGE = f"""
    SELECT coalesce(max(item_id) FILTER (WHERE total <= {_PAGE_ANSWERS}), min(item_id)) AS last
    FROM (SELECT item_id, sum(cardinality(workers)) OVER (ORDER BY item_id) AS total
          FROM (SELECT item_id, workers FROM imported_answers WHERE job_id = $1 AND item_id > $2
                ORDER BY item_id LIMIT {_PAGE_ITEMS}) AS first_items) AS page"""
# The votes of a worker whose votes are removed do not count here either.
_RECORD = """
    WITH page AS (
        DELETE FROM imported_answers WHERE job_id = $1 AND item_id > $2 AND item_id <= $3 RETURNING *
    ), fresh AS MATERIALIZED (
        SELECT page.item_id, one.* FROM page, unnest(workers, tiers, labels, numbers, answered_at)
            WITH ORDINALITY AS one (worker, tier, label, number, answered_at, place)
        {unless}
    ), recorded AS (
        INSERT INTO answer (job_id, answer_id, item_id, worker, tier, label, value, cost, late, counted, withheld,
            verdict, answered_at)
        SELECT $1, $4 + row_number() OVER (ORDER BY fresh.item_id, place), fresh.item_id, fresh.worker, fresh.tier,
            label, number, 0, false, true, coalesce(w.block ->> 'votes' = 'remove', false), $5::jsonb,
            fresh.answered_at
        FROM fresh LEFT JOIN worker w ON w.job_id = $1 AND w.worker = fresh.worker
        RETURNING item_id, worker, label, value
    )
    SELECT worker, array_agg(item_id), array_agg(label), array_agg(value) FROM recorded GROUP BY worker"""
# What the worker has answered meanwhile stays. By the numbers of items, so that a page does not scan the whole job.
_UNLESS_ANSWERED = """WHERE NOT EXISTS (
            SELECT FROM answer a WHERE a.job_id = $1 AND a.item_id > $2 AND a.item_id <= $3
                AND a.item_id = page.item_id AND a.worker = one.worker)"""
_RELEASE = """
    UPDATE assignment a SET state = 'released' FROM unnest($2::bigint[], $3::text[]) AS sent (item_id, worker)
    WHERE a.job_id = $1 AND a.state = 'live' AND a.item_id = sent.item_id AND a.worker = sent.worker
    RETURNING a.item_id, a.cost"""


class StagedAnswer(NamedTuple):
    """An answer that was sent, with what it says as one number."""

    line: int
    key: str
    worker: str
    tier: str | None
    said: Said
    answered_at: datetime


class WrongRow(NamedTuple):
    """A row that cannot be imported: its position among all rows, and its line in the file."""

    position: int
    line: int
    item: str
    worker: str | None


class NewAnswers(NamedTuple):
    """A worker's imported answers that were just recorded."""

    worker: str
    items: Sequence[int]
    said: Sequence[Said]  # about each of these items


async def empty_staged_answers(connection: AsyncConnection) -> None:
    """Create or empty the table in a separate transaction; its commit frees what a failed import left on disk."""
    async with connection.begin():
        await connection.execute(text(_TABLE))


def answer_rows(first: int, answers: Sequence[StagedAnswer]) -> bytes:
    """Format answers as Postgres's COPY text, with positions from `first` on."""
    lines = []
    for position, (line, key, worker, tier, said, answered_at) in enumerate(answers, start=first):
        label, number = (0, repr(said)) if isinstance(said, float) else (said, "\\N")
        lines.append(
            f"{position}\t{line}\t{escaped(key)}\t{escaped(worker)}\t{escaped(tier)}\t{label}\t{number}\t"
            f"{answered_at.isoformat()}\n"
        )
    return "".join(lines).encode()


async def stage_answers(connection: AsyncConnection, rows: bytes) -> None:
    """Copy rows from `answer_rows` into the table."""
    await copy_text(connection, "staged_answer", _STAGED, rows)


async def count_staged_answers(connection: AsyncConnection, staged: int) -> None:
    """Update the planner's statistics: autovacuum does not see temporary tables."""
    if staged >= _MANY:
        await connection.execute(text("ANALYZE staged_answer"))


async def rows_on_unknown_items(connection: AsyncConnection, job_id: UUID) -> list[WrongRow]:
    return await _wrong(connection, _UNKNOWN_ITEMS, job_id)


async def contradictions(connection: AsyncConnection, job_id: UUID) -> list[WrongRow]:
    """Find rows that say something else than an earlier row, or an answer of the job, of the same worker and item."""
    found = await _wrong(connection, _DIFFERENT_FROM_FIRST)
    return found or (await _wrong(connection, _DIFFERENT_FROM_KNOWN, job_id) if await _has(connection, job_id) else [])


async def keep_new(connection: AsyncConnection, job_id: UUID) -> int:
    """Keep the staged answers that are new to wait until they are recorded; returns how many there are."""
    await connection.execute(text(_DELETE_REPEATED))
    if await _has(connection, job_id):
        await fetch(connection, _DELETE_KNOWN, job_id)
    added: int = (await fetch(connection, _COUNT))[0]["count"]
    await fetch(connection, _KEEP, job_id)
    await connection.execute(text("TRUNCATE staged_answer"))  # else the commit would do it under the job's lock
    return added


async def end_of_page(connection: AsyncConnection, job_id: UUID, after: int) -> int | None:
    """Return the last item of the next page of waiting answers; None if none wait."""
    last: int | None = (await fetch(connection, _LAST_OF_PAGE, job_id, after))[0]["last"]
    return last


async def record_waiting(
    connection: AsyncConnection, job_id: UUID, *, after: int, last: int, answers: int, others: bool
) -> list[NewAnswers]:
    """Turn the waiting answers on these items into answers of the job, numbered from the present number on.

    `others` says whether the job may have answers that were not imported, and so not compared with these.
    """
    nothing_yet = {"decision": Decision.CONTINUE, "reason": _NOBODY_WAITED.as_json(), "label": None, "confidence": 0.0}
    verdict = json.dumps(nothing_yet)
    statement = _RECORD.format(unless=_UNLESS_ANSWERED if others else "")
    rows = await fetch(connection, statement, job_id, after, last, answers, verdict)
    return [NewAnswers(worker, items, labels if None in values else values) for worker, items, labels, values in rows]


async def release_pairs(
    connection: AsyncConnection, job_id: UUID, items: Collection[int], workers: Collection[str]
) -> list[tuple[int, Decimal]]:
    """End the live assignments of these pairs of item and worker; returns the item and the money of each."""
    rows = await fetch(connection, _RELEASE, job_id, list(items), list(workers))
    return [(row["item_id"], row["cost"]) for row in rows]


async def _has(connection: AsyncConnection, job_id: UUID) -> bool:
    return bool((await fetch(connection, _HAS_ANSWERS, job_id))[0][0])


async def _wrong(connection: AsyncConnection, query: str, *arguments: object) -> list[WrongRow]:
    return [WrongRow(*row) for row in await fetch(connection, query, *arguments)]
