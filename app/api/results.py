"""Results over HTTP."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import TypeAdapter

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import Database, JobId, Recent
from app.api.problems import documented
from app.api.schemas import ReasonOut, ResultOut, ResultsOut
from app.domain import ItemState
from app.errors import InvalidInput, JobUnknown, Unavailable
from app.policy.aggregation import AnyAggregation
from app.use_cases.read_results import read_results

router = APIRouter(prefix="/v1/jobs/{job}/results", tags=["results"])

_AGGREGATION: TypeAdapter[AnyAggregation] = TypeAdapter(AnyAggregation)

AggregationKind = Literal["majority", "weighted", "one-coin", "dawid-skene", "glad", "kos"]


@router.get("", summary="Read the labels", responses=documented(JobUnknown, InvalidInput, Unavailable))
async def get_results(
    job_id: JobId,
    database: Database,
    fits: Recent,
    aggregation: Annotated[
        AggregationKind | None, Query(description="Label by this instead of the job's own aggregation")
    ] = None,
    state: Annotated[ItemState | None, Query(description="Only items in this state")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> ResultsOut:
    """Get the labels with how sure they are, at any time: open items come with what is known so far.

    Items come in the order in which they were added. A tie has no label: it is not broken by chance.
    """
    chosen = None if aggregation is None else _AGGREGATION.validate_python({"kind": aggregation})
    page = await read_results(
        database, fits, job_id, aggregation=chosen, state=state, after=after_number(cursor), most=limit
    )
    return ResultsOut(
        results=[
            ResultOut(
                item=result.item,
                label=result.label,
                confidence=result.confidence,
                state=result.state,
                votes=result.votes,
                reason=ReasonOut(code=result.reason.code, message=result.reason.message),
            )
            for result in page.results
        ],
        next_cursor=None if page.next_after is None else cursor_of(page.next_after),
    )
