"""Long work on a job over HTTP: start it, watch it."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Request, Response
from pydantic import BaseModel, Field

from app.api.cursors import Cursor, Limit, before_number, cursor_of
from app.api.dependencies import Database, InTurn, JobId, Time
from app.api.outlooks import outcome_of
from app.api.problems import documented
from app.errors import InvalidInput, JobUnknown, OperationUnknown
from app.store.operations import Operation, OperationState
from app.use_cases.chores import Chores, ask_for_refit
from app.use_cases.foresight import Foresight, ask_for_forecast
from app.use_cases.read_operations import list_operations, read_operation

router = APIRouter(prefix="/v1/jobs/{job}", tags=["operations"])

LOCATION = {"Location": {"description": "Where to watch it", "schema": {"type": "string"}, "required": True}}


class OperationOut(BaseModel):
    id: str
    kind: Annotated[str, Field(description="What is being done")]
    state: OperationState
    progress: Annotated[float, Field(ge=0, le=1)]
    outcome: Annotated[dict[str, Any] | None, Field(description="What came of it, once it is done or has failed")]
    created_at: datetime
    finished_at: datetime | None


class OperationsOut(BaseModel):
    operations: list[OperationOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


@router.post(
    "/refit",
    status_code=202,
    summary="Estimate everything anew",
    responses={202: {"headers": LOCATION}, **documented(JobUnknown, InvalidInput)},
)
async def post_refit(
    job_id: JobId, request: Request, response: Response, database: Database, turns: InTurn, clock: Time
) -> OperationOut:
    """Fit all answers of the job at once: every worker's skill, every item's belief, priority and verdict.

    It also happens by itself as answers come in (`refit` of the job says how often). Nobody waits for it: answers that
    come meanwhile are kept. The response says where to watch it; a refit that is waiting already is not doubled.
    """
    async with turns.of(job_id):
        asked = await ask_for_refit(database, job_id, clock())
    chores: Chores = request.app.state.chores
    chores.begin(job_id)
    return accepted(response, job_id, asked)


@router.post(
    "/forecast",
    status_code=202,
    summary="Foretell how the job ends",
    responses={202: {"headers": LOCATION}, **documented(JobUnknown, InvalidInput)},
)
async def post_forecast(
    job_id: JobId, request: Request, response: Response, database: Database, turns: InTurn, clock: Time
) -> OperationOut:
    """Rehearse the rest of the job on what its answers have taught: items resolved, accuracy and cost at the end.

    Each comes with an interval that holds it with a chance of 90 %, and `outcome.curve` tells the same for other
    budgets. The job's status keeps the latest as `forecast`. One is also made by itself from 20 answers on, and again
    when the answers have grown by half. Nobody waits for it; the response says where to watch it.
    """
    async with turns.of(job_id):
        asked = await ask_for_forecast(database, job_id, clock())
    foresight: Foresight = request.app.state.foresight
    foresight.begin(job_id)
    return accepted(response, job_id, asked)


@router.get("/operations", summary="List operations", responses=documented(JobUnknown, InvalidInput))
async def get_operations(job_id: JobId, database: Database, cursor: Cursor = None, limit: Limit = 100) -> OperationsOut:
    """See what was done to the job as a whole, newest first: refits, and forecasts that were asked for."""
    found, following = await list_operations(database, job_id, before=before_number(cursor), most=limit)
    return OperationsOut(
        operations=[shown(one) for one in found], next_cursor=None if following is None else cursor_of(following)
    )


@router.get(
    "/operations/{operation}",
    summary="Watch an operation",
    responses=documented(JobUnknown, OperationUnknown, InvalidInput),
)
async def get_operation(
    job_id: JobId,
    operation: Annotated[str, Path(description="The operation's id", json_schema_extra={"example": "1"})],
    database: Database,
) -> OperationOut:
    """Ask until `state` is `done` or `failed`; `progress` goes from 0 to 1, `outcome` then says what came of it."""
    return shown(await read_operation(database, job_id, operation))


def accepted(response: Response, job_id: UUID, asked: Operation) -> OperationOut:
    """What was asked for, and where to watch it."""
    response.headers["Location"] = f"/v1/jobs/{job_id}/operations/{asked.operation_id}"
    return shown(asked)


def shown(operation: Operation) -> OperationOut:
    return OperationOut(
        id=str(operation.operation_id),
        kind=operation.kind,
        state=operation.state,
        progress=operation.progress,
        outcome=outcome_of(operation),
        created_at=operation.created_at,
        finished_at=operation.finished_at,
    )
