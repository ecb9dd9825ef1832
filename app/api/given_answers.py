"""The answers of a job over HTTP: a page of JSON, or all of them as a table that `suffice replay` reads."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, Field

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import Database, JobId
from app.api.media import VARY_DOCUMENTED, NegotiatedRoute, wanted_form
from app.api.problems import documented
from app.api.results import Stream
from app.errors import InvalidInput, JobUnknown, NotAcceptable
from app.store.answers import Given
from app.use_cases.read_answers import AnswerSet, open_answers

router = APIRouter(prefix="/v1/jobs/{job}/answers", tags=["results"], route_class=NegotiatedRoute)

_JSON, _CSV = "application/json", "text/csv"
_COLUMNS = ("item", "worker", "label", "counts", "answered_at")


class GivenAnswer(BaseModel):
    item: str
    worker: Annotated[str | None, Field(description="null: nobody was named")]
    label: str
    counts: Annotated[bool, Field(description="false: left out by the worker model, or its worker is blocked")]
    answered_at: datetime


class GivenAnswers(BaseModel):
    answers: list[GivenAnswer]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


_ROWS = "item,worker,label,counts,answered_at\r\ni1,w1,cat,true,2026-01-01T00:00:00+00:00\r\n"
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page, or with `Accept: text/csv` all answers",
        "headers": VARY_DOCUMENTED,
        "content": {_CSV: {"schema": {"type": "string"}, "example": _ROWS}},
    },
    **documented(JobUnknown, NotAcceptable, InvalidInput),
}


def _media(request: Request) -> str:
    return wanted_form(request, "Answers", (_JSON, _CSV))


@router.get("", summary="Read the answers", response_model=GivenAnswers, responses=_DOCUMENTED)
async def get_answers(
    job_id: JobId,
    database: Database,
    media: Annotated[str, Depends(_media)],
    cursor: Cursor = None,
    limit: Limit = 100,
) -> GivenAnswers | Stream:
    """Get every answer in the order in which it came, each with its item, worker and label.

    `Accept: text/csv` is all answers that the job has when it begins, streamed, whatever `cursor` and `limit` say, in a
    table that `suffice replay --answers` takes as it stands. There an answer without a worker has one of its own,
    `#` and the answer's number.
    """
    answers, after = await open_answers(database, job_id), after_number(cursor)
    if media == _CSV:
        return await _stream(answers)
    page, labels = await answers.page(after, limit), answers.job.rules.labels
    return GivenAnswers(
        answers=[
            GivenAnswer(
                item=one.item,
                worker=one.worker,
                label=labels[one.label],
                counts=one.counts,
                answered_at=one.answered_at,
            )
            for one in page.answers
        ],
        next_cursor=None if page.next_after is None else cursor_of(page.next_after),
    )


async def _stream(answers: AnswerSet) -> Stream:
    pages = answers.pages()
    first = await anext(pages)  # now, while a failure can still be told by a status
    name = f'attachment; filename="answers-{answers.job.job_id}.csv"'
    return Stream(
        _written(answers.job.rules.labels, first, pages),
        headers={"Content-Disposition": name},
        media_type="text/csv; charset=utf-8; header=present",
    )


async def _written(
    labels: Sequence[str], first: Sequence[Given], others: AsyncIterator[Sequence[Given]]
) -> AsyncIterator[bytes]:
    yield _lines([_COLUMNS]) + _lines(_rows(labels, first))
    async for page in others:
        yield _lines(_rows(labels, page))


def _rows(labels: Sequence[str], page: Sequence[Given]) -> list[tuple[str, ...]]:
    return [
        (
            one.item,
            f"#{one.answer_id}" if one.worker is None else one.worker,
            labels[one.label],
            "true" if one.counts else "false",
            one.answered_at.isoformat(),
        )
        for one in page
    ]


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
