"""Answers, in the order in which they were committed."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from asyncpg import Record
from pydantic_core import to_json
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.answer import ALL_ANSWERS, Answer, AnswerFilter, AnswerRecord, CountedVote, voter_of
from app.policy.answers import Said
from app.store.driver import columns_of, fetch

_NAMES = (
    *("answer_id", "item_id", "worker", "assignment_id", "tier", "label", "value", "cost", "late", "counted"),
    "answered_at",
)
_COLUMNS = ", ".join(f"a.{name}" for name in (*_NAMES, "verdict", "withheld"))
_INSERT = f"""
    INSERT INTO answer (job_id, {", ".join(_NAMES)}, verdict)
    SELECT $1, {", ".join(f"sent.{name}" for name in _NAMES)}, sent.verdict::jsonb
    FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::double precision[],
                $9::numeric[], $10::boolean[], $11::boolean[], $12::timestamptz[], $13::text[])
         AS sent ({", ".join(_NAMES)}, verdict)"""
_BY_ASSIGNMENT = f"SELECT {_COLUMNS} FROM answer a WHERE a.job_id = $1 AND a.assignment_id = ANY ($2::bigint[])"
_BY_PAIR = f"""
    SELECT {_COLUMNS}
    FROM unnest($2::bigint[], $3::text[]) AS pair (item_id, worker)
    JOIN answer a ON a.job_id = $1 AND a.item_id = pair.item_id AND a.worker = pair.worker"""
_PAGE = """
    SELECT a.answer_id, i.key, a.worker, a.label, a.value, a.counted AND NOT a.withheld, a.answered_at, a.tier
    FROM answer a JOIN item i ON i.job_id = a.job_id AND i.item_id = a.item_id
    WHERE a.job_id = $1 AND a.answer_id > $2 AND a.answer_id <= $3 {only} ORDER BY a.answer_id LIMIT {most}"""
# Answers are numbered without gaps in the order of commit, so half of those that are left are out with every step.
_LAST_BEFORE = """
    WITH RECURSIVE step (low, high) AS (
        SELECT 0::bigint, $2::bigint + 1
        UNION ALL
        SELECT CASE WHEN middle.answered_at < $3 THEN middle.answer_id ELSE step.low END,
               CASE WHEN middle.answered_at < $3 THEN step.high ELSE middle.answer_id END
        FROM step CROSS JOIN LATERAL (
            SELECT a.answer_id, a.answered_at FROM answer a
            WHERE a.job_id = $1 AND a.answer_id = (step.low + step.high) / 2) AS middle
        WHERE step.high - step.low > 1)
    SELECT max(low) AS last FROM step"""
_SINCE = """
    SELECT answer_id, item_id, worker, tier, label, value, counted AND NOT withheld AS votes FROM answer
    WHERE job_id = $1 AND answer_id > $2 ORDER BY answer_id"""
_ON_ITEMS_SINCE = """
    SELECT item_id, worker, tier, label, value FROM answer
    WHERE job_id = $1 AND item_id = ANY ($2::bigint[]) AND answer_id > $3 AND counted AND NOT withheld
    ORDER BY answer_id"""
_ON_ITEMS = (
    f"SELECT {_COLUMNS} FROM answer a WHERE a.job_id = $1 AND a.item_id = ANY ($2::bigint[]) ORDER BY a.answer_id"
)


_CLOCKS_DIFFER = timedelta(minutes=1)  # at most, between two replicas: times are not exactly in the order of commit


async def insert_answers(connection: AsyncConnection, job_id: UUID, new: Sequence[Answer]) -> None:
    verdicts = [to_json(row.verdict).decode() for row in new]
    values = [row.said if isinstance(row.said, float) else None for row in new]
    labels = [0 if value is not None else row.said for row, value in zip(new, values, strict=True)]
    before, after = _NAMES[: _NAMES.index("label")], _NAMES[_NAMES.index("value") + 1 :]
    columns = *columns_of(new, *before), labels, values, *columns_of(new, *after)
    await fetch(connection, _INSERT, job_id, *columns, verdicts)


async def answers_by_assignment(connection: AsyncConnection, job_id: UUID, numbers: Collection[int]) -> list[Answer]:
    return [_answer(row) for row in await fetch(connection, _BY_ASSIGNMENT, job_id, list(numbers))]


async def answers_by_pair(
    connection: AsyncConnection, job_id: UUID, pairs: Collection[tuple[int, str]]
) -> list[Answer]:
    """Load the answers of these workers to these items, pair by pair."""
    items, workers = [item_id for item_id, _ in pairs], [worker for _, worker in pairs]
    return [_answer(row) for row in await fetch(connection, _BY_PAIR, job_id, items, workers)]


async def answers_on_items(connection: AsyncConnection, job_id: UUID, item_ids: Collection[int]) -> list[Answer]:
    """Load all answers on these items, in the order of commit."""
    return [_answer(row) for row in await fetch(connection, _ON_ITEMS, job_id, list(item_ids))]


async def page_of_answers(
    connection: AsyncConnection,
    job_id: UUID,
    *,
    after: int,
    until: int,
    most: int,
    only: AnswerFilter = ALL_ANSWERS,
    in_time: bool = True,
) -> list[AnswerRecord]:
    """Load answers after the number `after` and up to `until`, in the order of commit: all, or those of a filter.

    `in_time` says that their times are in that order, which those of imported answers are not.
    """
    conditions, arguments = "", list[object]()
    for condition, value in (
        ("a.worker = ${}::text", only.worker),
        ("a.item_id = ${}::bigint", only.item_id),
        ("a.answered_at >= ${}::timestamptz", only.since),
        ("a.answered_at < ${}::timestamptz", only.until),
    ):
        if value is not None:
            arguments.append(value)
            conditions += f" AND {condition.format(len(arguments) + 3)}"
    if in_time and only.since is not None:
        after = max(after, await _last_before(connection, job_id, until, only.since - _CLOCKS_DIFFER))
    if in_time and only.until is not None:
        until = await _last_before(connection, job_id, until, only.until + _CLOCKS_DIFFER)
    statement = _PAGE.format(only=conditions, most=int(most))
    rows = await fetch(connection, statement, job_id, after, until, *arguments)
    return [
        AnswerRecord(number, item, worker, _said(label, value), counts, answered_at, tier)
        for number, item, worker, label, value, counts, answered_at, tier in rows
    ]


async def _last_before(connection: AsyncConnection, job_id: UUID, answers: int, moment: datetime) -> int:
    """Return the number of the last answer before this moment, 0 if there is none."""
    last: int = (await fetch(connection, _LAST_BEFORE, job_id, answers, moment))[0]["last"]
    return last


async def votes_since(connection: AsyncConnection, job_id: UUID, after: int) -> tuple[list[CountedVote], int]:
    """Load the votes after the answer number `after`, in the order of commit, and the number of the last answer."""
    rows = await fetch(connection, _SINCE, job_id, after)
    return [_vote(row) for row in rows if row["votes"]], rows[-1]["answer_id"] if rows else after


async def votes_on_items_since(
    connection: AsyncConnection, job_id: UUID, item_ids: Collection[int], after: int
) -> list[CountedVote]:
    """Load the votes on these items after the answer number `after`, in the order of commit."""
    return [_vote(row) for row in await fetch(connection, _ON_ITEMS_SINCE, job_id, list(item_ids), after)]


def _vote(row: Record) -> CountedVote:
    return CountedVote(row["item_id"], voter_of(row["worker"], row["tier"]), _said(row["label"], row["value"]))


def _answer(row: Record) -> Answer:
    columns = dict(row)
    return Answer(said=_said(columns.pop("label"), columns.pop("value")), **columns)


def _said(label: int, value: float | None) -> Said:
    return label if value is None else value
