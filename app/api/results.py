"""Results over HTTP: a page of JSON, or the whole set as a table."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeAlias, cast

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field, TypeAdapter
from starlette.types import Send

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import Database, JobId, Recent
from app.api.media import VARY_DOCUMENTED, NegotiatedRoute, wanted_form
from app.api.parquet import parquet
from app.api.problems import documented
from app.api.tables import comma_separated, ndjson, objects
from app.api.wire import ReasonOut
from app.domain import ItemState
from app.errors import InvalidInput, JobUnknown, NotAcceptable
from app.policy.aggregation import AnyAggregation
from app.use_cases.read_results import Results, ResultSet, open_results

router = APIRouter(prefix="/v1/jobs/{job}/results", tags=["results"], route_class=NegotiatedRoute)

_AGGREGATION: TypeAdapter[AnyAggregation] = TypeAdapter(AnyAggregation)
_JSON = "application/json"

AggregationKind = Literal["majority", "weighted", "one-coin", "dawid-skene", "glad", "kos"]
Writer: TypeAlias = Callable[[Sequence[str], AsyncIterator[Results]], AsyncIterator[bytes]]


class ResultOut(BaseModel):
    item: str
    label: Annotated[str | None, Field(description="null without votes, and on a tie")]
    confidence: Annotated[float, Field(ge=0, le=1, description="How likely the label is the right one")]
    state: ItemState
    votes: dict[str, int]
    reason: ReasonOut


class ResultsOut(BaseModel):
    results: list[ResultOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


@dataclass(frozen=True)
class Table:
    """A form in which the whole set is sent."""

    write: Writer
    content_type: str
    suffix: str | None = None  # of the file as which it is to be saved


_TABLES = {
    "application/x-ndjson": Table(ndjson, "application/x-ndjson"),
    "text/csv": Table(comma_separated, "text/csv; charset=utf-8; header=present", "csv"),
    "application/vnd.apache.parquet": Table(parquet, "application/vnd.apache.parquet", "parquet"),
    # Other names of the first; those who ask by them get them back.
    "application/ndjson": Table(ndjson, "application/ndjson"),
    "application/jsonl": Table(ndjson, "application/jsonl"),
}
_OFFERED = (_JSON, *_TABLES)
_NAMED = 4  # of them; the others are other names

_LINE = (
    '{"item": "i1", "label": "cat", "confidence": 0.9375, "state": "resolved", "votes": {"cat": 3, "dog": 0}, '
    '"reason": {"code": "ratio", "message": "3 votes to 0, at least 4 to 1"}}\n'
)
_ROWS = (
    "item,label,confidence,state,reason_code,reason,votes.cat,votes.dog\r\n"
    'i1,cat,0.9375,resolved,ratio,"3 votes to 0, at least 4 to 1",3,0\r\n'
)
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page, or with another `Accept` the whole set",
        "headers": VARY_DOCUMENTED,
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}, "example": _LINE},
            "text/csv": {"schema": {"type": "string"}, "example": _ROWS},
            "application/vnd.apache.parquet": {"schema": {"type": "string", "format": "binary"}},
        },
    },
    **documented(JobUnknown, NotAcceptable, InvalidInput),
}


class Stream(StreamingResponse):
    """Ends what makes its body, also when the client leaves in the middle."""

    async def stream_response(self, send: Send) -> None:
        async with aclosing(cast("AsyncGenerator[bytes]", self.body_iterator)):
            await super().stream_response(send)


def _media(request: Request) -> str:
    return wanted_form(request, "Results", _OFFERED, named=_NAMED)


async def _results(
    job_id: JobId,
    database: Database,
    fits: Recent,
    aggregation: Annotated[
        AggregationKind | None, Query(description="Label by this instead of the job's own aggregation")
    ] = None,
    state: Annotated[ItemState | None, Query(description="Only items in this state")] = None,
) -> ResultSet:
    chosen = None if aggregation is None else _AGGREGATION.validate_python({"kind": aggregation})
    return await open_results(database, fits, job_id, aggregation=chosen, state=state)


@router.get("", summary="Read the labels", response_model=ResultsOut, responses=_DOCUMENTED)
async def get_results(
    request: Request,
    media: Annotated[str, Depends(_media)],
    results: Annotated[ResultSet, Depends(_results)],
    cursor: Cursor = None,
    limit: Limit = 100,
) -> ResultsOut | Stream:
    """Get the labels with how sure they are, at any time: open items come with what is known so far.

    Items come in the order in which they were added. A tie has no label: it is not broken by chance.

    `Accept` chooses the form: `application/json` is a page; `application/x-ndjson`, `text/csv` and
    `application/vnd.apache.parquet` are the whole set, streamed: all items that the job has when it begins, from behind
    `cursor` if that is given, and no more than `limit` only if that is given. The set is read piece by piece and is not
    one snapshot: an answer that comes meanwhile shows in what has not been read yet. A set that cannot be finished
    breaks off without the end that HTTP demands. Values in CSV stand as they are, so import them as text where `=` in
    front would make a formula.
    """
    after = after_number(cursor)
    if media == _JSON:
        return await _page(results, after, limit)
    pages = results.pages(after, limit if "limit" in request.query_params else None)
    return await _stream(results, pages, _TABLES[media])


async def _page(results: ResultSet, after: int, most: int) -> ResultsOut:
    page = await results.page(after, most)
    return ResultsOut(
        results=[ResultOut(**one) for one in objects(results.job.rules.labels, page.results)],
        next_cursor=None if page.next_after is None else cursor_of(page.next_after),
    )


async def _stream(results: ResultSet, pages: AsyncIterator[Results], table: Table) -> Stream:
    first = await anext(pages)  # now, while a failure can still be told by a status
    name = f'attachment; filename="results-{results.job.job_id}.{table.suffix}"'
    headers = {"Content-Disposition": name} if table.suffix else None
    body = table.write(results.job.rules.labels, _with(first, pages))
    return Stream(body, headers=headers, media_type=table.content_type)


async def _with(first: Results, pages: AsyncIterator[Results]) -> AsyncIterator[Results]:
    yield first
    async for results in pages:
        yield results
