"""The recorded answers of a job over HTTP: a page of JSON, or all as a CSV file that `suffice replay` reads."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import AfterValidator, AwareDatetime, BeforeValidator
from pydantic_core import PydanticCustomError

from app.api.http.negotiation import VARY_DOCUMENTED, NegotiatedRoute, requested_media
from app.api.http.pagination import Cursor, Limit, after_number, cursor_of
from app.api.http.problems import documented
from app.api.http.services import JobId, ServicesOf
from app.api.results.routes import Stream
from app.api.results.schemas import RecordedAnswerOut, RecordedAnswersOut
from app.domain.answer import AnswerFilter, AnswerRecord
from app.errors import InvalidInput, ItemUnknown, JobUnknown, NotAcceptable
from app.policy.core.text import Key
from app.policy.job_policy import JobPolicy
from app.use_cases.results.read_answers import AnswerSet, open_answers

router = APIRouter(prefix="/v1/jobs/{job}/answers", tags=["results"], route_class=NegotiatedRoute)

_JSON, _CSV = "application/json", "text/csv"
_FIRST_YEAR, _LAST_YEAR = 1900, 9000


_ROWS = "item,worker,label,counts,answered_at\r\ni1,w1,cat,true,2026-01-05T09:00:00+00:00\r\n"
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page of answers; with `Accept: text/csv` all answers",
        "headers": VARY_DOCUMENTED,
        "content": {_CSV: {"schema": {"type": "string"}, "example": _ROWS}},
    },
    **documented(JobUnknown, ItemUnknown, NotAcceptable, InvalidInput),
}


def _media(request: Request) -> str:
    return requested_media(request, "Answers", (_JSON, _CSV))


def _written_out(sent: str) -> str:
    """Refuse numbers, which would be read as seconds since 1970."""
    try:
        float(sent)
    except ValueError:
        return sent
    raise PydanticCustomError("not_a_time", "Must be a time with its offset, like 2026-01-05T09:00:00Z, not a number")


def _in_reach(moment: datetime) -> datetime:
    """Refuse times so far away that they cannot be converted to UTC."""
    if not _FIRST_YEAR <= moment.year <= _LAST_YEAR:
        raise PydanticCustomError("out_of_reach", "Must be a time between the years 1900 and 9000")
    return moment


Moment = Annotated[AwareDatetime, BeforeValidator(_written_out), AfterValidator(_in_reach)]


def _filter(
    worker: Annotated[Key | None, Query(description="Only answers of this worker")] = None,
    since: Annotated[Moment | None, Query(description="Only answers that were recorded at this time or later")] = None,
    until: Annotated[Moment | None, Query(description="Only answers that were recorded before this time")] = None,
) -> AnswerFilter:
    return AnswerFilter(worker=worker, since=since, until=until)


@router.get(
    "",
    summary="Read the answers",
    response_model=RecordedAnswersOut,
    responses=_DOCUMENTED,
    response_model_exclude_unset=True,
)
async def list_answers(
    services: ServicesOf,
    job_id: JobId,
    media: Annotated[str, Depends(_media)],
    only: Annotated[AnswerFilter, Depends(_filter)],
    item: Annotated[Key | None, Query(description="Only answers to the item with this key")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> RecordedAnswersOut | Stream:
    """Get the answers in the order in which they were recorded: item, worker and what the worker said.

    With `Accept: text/csv` you get all answers that the job has at the start of the request, as a stream; `cursor` and
    `limit` are ignored. `suffice replay --answers` reads this file. In it, an answer without a worker gets its own
    worker name: `#` and the answer's number. A cursor continues the list with the filters that you send with it: send
    the same ones for all pages.
    """
    answers, after = await open_answers(services.database, job_id, item=item, only=only), after_number(cursor)
    if media == _CSV:
        return await _stream(answers)
    page, policy = await answers.page(after, limit), answers.job.policy
    return RecordedAnswersOut(
        answers=[
            RecordedAnswerOut(
                item=one.item,
                worker=one.worker,
                **{"label": None} | {policy.answer.field: policy.answer.content(one.said, policy.labels)},
                **({"tier": one.tier} if policy.worker_model.tier_names else {}),
                counts=one.counts,
                answered_at=one.answered_at,
            )
            for one in page.answers
        ],
        next_cursor=None if page.next_after is None else cursor_of(page.next_after),
    )


async def _stream(answers: AnswerSet) -> Stream:
    pages = answers.pages()
    first = await anext(pages)  # before the response starts, so that a failure gets its own status
    name = f'attachment; filename="answers-{answers.job.job_id}.csv"'
    return Stream(
        _written(answers.job.policy, first, pages),
        headers={"Content-Disposition": name},
        media_type="text/csv; charset=utf-8; header=present",
    )


async def _written(
    policy: JobPolicy, first: Sequence[AnswerRecord], others: AsyncIterator[Sequence[AnswerRecord]]
) -> AsyncIterator[bytes]:
    tier = ["tier"] if policy.worker_model.tier_names else []
    header = ["item", "worker", policy.answer.field, "counts", "answered_at", *tier]
    yield _lines([header]) + _lines(_rows(policy, first))
    async for page in others:
        yield _lines(_rows(policy, page))


def _rows(policy: JobPolicy, page: Sequence[AnswerRecord]) -> list[tuple[str, ...]]:
    kind, labels, has_tiers = policy.answer, policy.labels, bool(policy.worker_model.tier_names)
    return [
        (
            one.item,
            f"#{one.answer_id}" if one.worker is None else one.worker,
            kind.text(kind.content(one.said, labels)),
            "true" if one.counts else "false",
            one.answered_at.isoformat(),
            *([one.tier or ""] if has_tiers else []),
        )
        for one in page
    ]


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()
