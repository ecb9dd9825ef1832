"""Receive a file of recorded answers."""

import json
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any
from uuid import UUID

from fastapi import Request, Response

from app.api.history.csv_answers import csv_answers
from app.api.history.schemas import AnswersImported, HistoryAnswerIn
from app.api.http.content_type import CSV, content_type
from app.api.http.middleware import lift_time_limit
from app.api.http.services import Services
from app.api.items.json_items import line_items
from app.api.items.parsed_items import RowKind
from app.api.items.uploads import spooled
from app.errors import TooLarge
from app.use_cases.history.import_answers import AnswerDraft, import_answers

_ROWS = [
    {"item": "i1", "worker": "w1", "label": "cat", "answered_at": "2026-01-05T09:00:00Z"},
    {"item": "i1", "worker": "w2", "label": "dog"},
]
DOCUMENTED_BODIES: dict[str, Any] = {
    "application/x-ndjson": {
        "schema": {"type": "string", "description": "Recorded answers, one JSON object per line"},
        "example": "".join(json.dumps(row) + "\n" for row in _ROWS),
    },
    CSV: {
        "schema": {"type": "string", "description": "One recorded answer per row, below a header row"},
        "example": "item,worker,label,answered_at\ni1,w1,cat,2026-01-05T09:00:00Z\ni1,w2,dog,\n",
    },
}
DOCUMENTED_RESPONSE: dict[str, Any] = {
    "model": AnswersImported,
    "description": "The file of recorded answers is imported",
    "content": {"application/json": {"example": {"added": 2, "unchanged": 0, "operation": "1"}}},
}


def _draft(row: HistoryAnswerIn, line: int | None) -> AnswerDraft:
    assert line is not None  # noqa: S101  both formats have lines
    return AnswerDraft(row.item, row.worker, row.tier, row.label, row.labels, row.value, row.answered_at, line)


_ANSWERS = RowKind("answer", HistoryAnswerIn, _draft)


def _at_most(most: int, chunks: Iterator[Sequence[AnswerDraft]]) -> Iterator[Sequence[AnswerDraft]]:
    """Refuse a file with too many answers: those that are kept need room on the disk of the database."""
    answers = 0
    for chunk in chunks:
        answers += len(chunk)
        if answers > most:
            raise TooLarge(f"The file has more than {most:,} answers. Send it in several requests.")
        yield chunk


async def upload_answers(services: Services, job_id: UUID, request: Request) -> Response:
    """Import recorded answers, all or none; they are recorded and judged in the background."""
    reader, slots = csv_answers if content_type(request) == CSV else line_items, services.import_slots
    async with (
        spooled(request, services.settings.max_item_bytes) as spool,
        slots.job_locks.of(job_id),
        slots.large if spool.is_large else slots.small,
    ):
        lift_time_limit(request)
        drafts = _at_most(services.settings.max_history_answers, spool.drafts(reader, _ANSWERS))
        done = await import_answers(services.database, job_id, drafts, services.clock())
    services.runner.begin(job_id)
    operation = None if done.operation is None else str(done.operation.operation_id)
    body = AnswersImported(added=done.added, unchanged=done.unchanged, operation=operation)
    return Response(body.model_dump_json(), status_code=HTTPStatus.CREATED, media_type="application/json")
