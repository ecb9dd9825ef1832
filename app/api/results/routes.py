"""Results over HTTP: a page of JSON, or the whole set as NDJSON, CSV or Parquet."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, cast

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Send

from app.api.http.negotiation import VARY_DOCUMENTED, NegotiatedRoute, requested_media
from app.api.http.pagination import Cursor, Limit, after_number, cursor_of
from app.api.http.problems import documented
from app.api.http.services import JobId, ServicesOf
from app.api.results.aggregation_parameter import AggregationParameter, aggregation_of
from app.api.results.parquet import parquet
from app.api.results.schemas import ResultOut, ResultsOut
from app.api.results.text_tables import comma_separated, ndjson, objects
from app.domain.item import ItemState
from app.errors import InvalidInput, JobUnknown, NotAcceptable
from app.policy.job_policy import JobPolicy
from app.use_cases.results.read_results import Results, ResultSet, open_results

router = APIRouter(prefix="/v1/jobs/{job}/results", tags=["results"], route_class=NegotiatedRoute)

_JSON = "application/json"

Writer: TypeAlias = Callable[[JobPolicy, AsyncIterator[Results]], AsyncIterator[bytes]]


@dataclass(frozen=True)
class Table:
    """A format of the whole set."""

    write: Writer
    content_type: str
    suffix: str | None = None  # of the file name for browsers


_TABLES = {
    "application/x-ndjson": Table(ndjson, "application/x-ndjson"),
    "text/csv": Table(comma_separated, "text/csv; charset=utf-8; header=present", "csv"),
    "application/vnd.apache.parquet": Table(parquet, "application/vnd.apache.parquet", "parquet"),
    # Other names of NDJSON; the response uses the same name as the request.
    "application/ndjson": Table(ndjson, "application/ndjson"),
    "application/jsonl": Table(ndjson, "application/jsonl"),
}
_OFFERED = (_JSON, *_TABLES)
_NAMED = 4  # formats in messages; the rest are other names of NDJSON

_LINE = (
    '{"item": "i1", "label": "cat", "confidence": 0.9558, "state": "resolved", "votes": {"cat": 3, "dog": 0}, '
    '"reason": {"code": "posterior", '
    '"message": "The most likely label has probability 0.96; the job asks for 0.95."}}\n'
)
_ROWS = (
    "item,label,confidence,state,reason_code,reason,votes.cat,votes.dog\r\n"
    'i1,cat,0.9558,resolved,posterior,"The most likely label has probability 0.96; the job asks for 0.95.",3,0\r\n'
)
_DOCUMENTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "A page of results; with another `Accept` the whole set",
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
    """A response that closes the generator of its body, also if the client disconnects."""

    async def stream_response(self, send: Send) -> None:
        async with aclosing(cast("AsyncGenerator[bytes]", self.body_iterator)):
            await super().stream_response(send)


def _media(request: Request) -> str:
    return requested_media(request, "Results", _OFFERED, named=_NAMED)


async def _results(
    services: ServicesOf,
    job_id: JobId,
    aggregation: AggregationParameter = None,
    state: Annotated[ItemState | None, Query(description="Only items in this state")] = None,
) -> ResultSet:
    chosen = None if aggregation is None else aggregation_of(aggregation)
    return await open_results(services.database, services.fits, job_id, aggregation=chosen, state=state)


@router.get(
    "",
    summary="Read the labels",
    response_model=ResultsOut,
    responses=_DOCUMENTED,
    response_model_exclude_unset=True,
)
async def list_results(
    request: Request,
    media: Annotated[str, Depends(_media)],
    results: Annotated[ResultSet, Depends(_results)],
    cursor: Cursor = None,
    limit: Limit = 100,
) -> ResultsOut | Stream:
    """Get the labels and how sure they are, at any time; open items show what is known so far.

    Items come in the order in which they were added. A tie has no label: it is not broken at random.

    `Accept` chooses the format: `application/json` is a page; `application/x-ndjson`, `text/csv` and
    `application/vnd.apache.parquet` are the whole set as a stream: all items that the job has at the start of the
    request, after `cursor` and at most `limit` if you send these. The set is not one snapshot: an answer that arrives
    during the request may show in the part that is not yet read. If the service cannot finish the set, it closes the
    connection before the end of the body. CSV values are not escaped for spreadsheets: import them as text if they may
    begin with `=`.
    """
    after = after_number(cursor)
    if media == _JSON:
        return await _page(results, after, limit)
    pages = results.pages(after, limit if "limit" in request.query_params else None)
    return await _stream(results, pages, _TABLES[media])


async def _page(results: ResultSet, after: int, most: int) -> ResultsOut:
    page = await results.page(after, most)
    return ResultsOut(
        results=[ResultOut(**one) for one in objects(results.job.policy, page.results)],
        next_cursor=None if page.next_after is None else cursor_of(page.next_after),
    )


async def _stream(results: ResultSet, pages: AsyncIterator[Results], table: Table) -> Stream:
    first = await anext(pages)  # before the response starts, so that a failure gets its own status
    name = f'attachment; filename="results-{results.job.job_id}.{table.suffix}"'
    headers = {"Content-Disposition": name} if table.suffix else None
    body = table.write(results.job.policy, _with(first, pages))
    return Stream(body, headers=headers, media_type=table.content_type)


async def _with(first: Results, pages: AsyncIterator[Results]) -> AsyncIterator[Results]:
    yield first
    async for results in pages:
        yield results
