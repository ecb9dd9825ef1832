"""Import recorded answers, all or none of them, in constant memory."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.operation import Operation
from app.errors import MOST_ERRORS, AnswerConflict, FieldError, InvalidInput, ItemUnknown, SufficeError, shortened
from app.policy.answers import Said
from app.store.history import (
    StagedAnswer,
    WrongRow,
    answer_rows,
    contradictions,
    count_staged_answers,
    empty_staged_answers,
    keep_new,
    rows_on_unknown_items,
    stage_answers,
)
from app.store.jobs import load_job, lock_job
from app.store.staging import lock_imports
from app.use_cases.operations.operation_lifecycle import create_operation
from app.use_cases.operations.refit import REFIT
from app.use_cases.threads import one_ahead
from app.use_cases.work.answer_content import said_in
from app.use_cases.workers.skills import wrong_tier


class AnswerDraft(NamedTuple):
    """An answer as it was sent, with labels by name; sets of labels may be the text of a table's cell."""

    item: str
    worker: str
    tier: str | None
    label: str | None
    labels: Sequence[str] | str | None
    value: float | None
    answered_at: datetime | None  # None: now
    line: int


@dataclass(frozen=True)
class Imported:
    """How many of the answers that were sent are new, and the operation that ends when they are fitted and judged."""

    added: int
    unchanged: int
    operation: Operation | None  # None: nothing is new


async def import_answers(
    database: AsyncEngine, job_id: UUID, chunks: Iterator[Sequence[AnswerDraft]], now: datetime
) -> Imported:
    """Check all answers and keep the new ones until they are recorded in the background.

    The chunks are read in a thread, and at most two are in memory. Nobody waits for an import but other imports into
    the job: the job is locked only to create the operation.
    """
    async with database.connect() as connection:
        await empty_staged_answers(connection)
        try:
            async with connection.begin():
                return await _import_answers(connection, job_id, chunks, now)
        except SufficeError:
            await empty_staged_answers(connection)
            raise


async def _import_answers(
    connection: AsyncConnection, job_id: UUID, chunks: Iterator[Sequence[AnswerDraft]], now: datetime
) -> Imported:
    sent = await _stage(connection, await load_job(connection, job_id), chunks, now)
    await lock_imports(connection, job_id)
    if unknown := await rows_on_unknown_items(connection, job_id):
        raise ItemUnknown(
            f"Line {unknown[0].line}: The job has no item {unknown[0].item!r}, so no answer was added. Add the items "
            "first, or leave these lines out.",
            errors=tuple(_problem(row, "item", "Must be the key of an item of this job") for row in unknown),
        )
    if different := await contradictions(connection, job_id):
        first = different[0]
        raise AnswerConflict(
            f"Line {first.line}: Worker {first.worker!r} has already answered {first.item!r} differently, so no answer "
            "was added. The first answer stays: leave these lines out.",
            errors=tuple(_problem(row, "worker", "Has already answered this item differently") for row in different),
        )
    added = await keep_new(connection, job_id)
    operation = await _requested_refit(connection, job_id, now) if added else None
    return Imported(added=added, unchanged=sent - added, operation=operation)


async def _requested_refit(connection: AsyncConnection, job_id: UUID, now: datetime) -> Operation:
    """Request the refit that follows when all answers are recorded; the job is locked from here on.

    Not a refit that waits already: it may begin before these answers are committed.
    """
    return await create_operation(connection, await lock_job(connection, job_id), REFIT, now)


async def _stage(connection: AsyncConnection, job: Job, chunks: Iterator[Sequence[AnswerDraft]], now: datetime) -> int:
    """Copy the answers into the staging table; returns how many there are."""
    staged = 0
    async with aclosing(one_ahead(_rows(job, chunks, now))) as prepared:
        async for answers, rows in prepared:
            await stage_answers(connection, rows)
            staged += answers
    await count_staged_answers(connection, staged)
    return staged


def _rows(job: Job, chunks: Iterator[Sequence[AnswerDraft]], now: datetime) -> Iterator[tuple[int, bytes]]:
    first, known = 0, dict[str, Said]()
    for chunk in chunks:
        answers: list[StagedAnswer] = []
        problems: list[SufficeError] = []
        for position, draft in enumerate(chunk, start=first):
            try:
                said = _said(job, draft, f"#/{position}", known)
            except SufficeError as error:
                problems.append(_with_line(error, draft.line))
                if len(problems) == MOST_ERRORS:
                    break
            else:
                answered_at = draft.answered_at or now
                answers.append(StagedAnswer(draft.line, draft.item, draft.worker, draft.tier, said, answered_at))
        if problems:
            errors = tuple(one for problem in problems for one in problem.errors)
            raise type(problems[0])(str(problems[0]), errors=errors[:MOST_ERRORS])
        yield len(chunk), answer_rows(first, answers)
        first += len(chunk)


def _said(job: Job, draft: AnswerDraft, pointer: str, known: dict[str, Said]) -> Said:
    """Return what an answer says; `known` keeps that of labels, because a million answers name only a few."""
    if draft.tier is not None and (wrong := wrong_tier(job, draft.tier, pointer)):
        raise InvalidInput.of([wrong])
    is_plain = draft.label is not None and draft.labels is None and draft.value is None
    if is_plain and draft.label in known:
        return known[draft.label]
    labels = job.policy.answer.from_text(draft.labels) if isinstance(draft.labels, str) else draft.labels
    sent: Mapping[str, Any] = {"label": draft.label, "labels": labels, "value": draft.value}
    said = said_in(job, sent, pointer)
    if is_plain and draft.label is not None:
        known[draft.label] = said
    return said


def _with_line(error: SufficeError, line: int) -> SufficeError:
    errors = tuple(FieldError(one.pointer, f"Line {line}: {one.message}") for one in error.errors)
    return type(error)(f"Line {line}: {error}", errors=errors)


def _problem(row: WrongRow, field: str, message: str) -> FieldError:
    named = row.item if row.worker is None else row.worker
    return FieldError(f"#/{row.position}/{field}", f"Line {row.line}: {message} ({shortened(named)})")
