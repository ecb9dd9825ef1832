"""Long work on a job over HTTP: start it, and watch it."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Path, Response

from app.api.http.pagination import Cursor, Limit, before_number, cursor_of
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import JobId, ServicesOf
from app.api.operations.schemas import OperationOut, OperationsOut, ReplayIn
from app.api.plans.forecast_schemas import forecast_outcome
from app.domain.operation import Operation
from app.errors import AnswerKindWrong, InvalidInput, JobUnknown, NothingToReplay, OperationUnknown
from app.use_cases.operations import read_operations
from app.use_cases.operations.forecast import FORECAST, request_forecast
from app.use_cases.operations.refit import request_refit
from app.use_cases.operations.replay import ReplayRequest, request_replay

router = APIRouter(prefix="/v1/jobs/{job}", tags=["operations"], route_class=ServiceRoute)

_LOCATION = {"Location": {"description": "Where to watch it", "schema": {"type": "string"}, "required": True}}


@router.post(
    "/refit",
    status_code=202,
    summary="Refit a job",
    responses={202: {"headers": _LOCATION}, **documented(JobUnknown, InvalidInput)},
)
async def refit_job(services: ServicesOf, job_id: JobId, response: Response) -> OperationOut:
    """Fit all answers of the job at once: every worker's skill, and every item's belief, priority and verdict.

    A refit also starts automatically as answers arrive (`refit` of the job says how often). Other requests do not wait
    for it, and answers that arrive meanwhile are included. The `Location` header says where to watch it. If a refit is
    already waiting, you get that one.
    """
    async with services.job_locks.of(job_id):
        requested = await request_refit(services.database, job_id, services.clock())
    services.runner.begin(job_id)
    return _accepted(response, job_id, requested)


@router.post(
    "/forecast",
    status_code=202,
    summary="Forecast how a job ends",
    responses={202: {"headers": _LOCATION}, **documented(JobUnknown, AnswerKindWrong, InvalidInput)},
)
async def forecast_job(services: ServicesOf, job_id: JobId, response: Response) -> OperationOut:
    """Simulate the rest of the job from its answers so far: resolved items, accuracy and cost at the end.

    Each number has an interval that contains the outcome in nine of ten cases, and `outcome.curve` has the same for
    other budgets. The job keeps the latest forecast as `forecast`. A forecast is also made automatically after 20
    answers, and again whenever the number of answers has grown by half. Other requests do not wait for it; the
    `Location` header says where to watch it.
    """
    async with services.job_locks.of(job_id):
        requested = await request_forecast(services.database, job_id, services.clock())
    services.runner.begin(job_id, "forecast")
    return _accepted(response, job_id, requested)


@router.post(
    "/replay",
    status_code=202,
    summary="Try other policies on a job's answers",
    responses={202: {"headers": _LOCATION}, **documented(JobUnknown, NothingToReplay, InvalidInput, body=True)},
)
async def replay_job(services: ServicesOf, job_id: JobId, body: ReplayIn, response: Response) -> OperationOut:
    """See what another policy would have cost: it buys the recorded answers again, one by one.

    Once the operation is done, `replays` in its outcome has a row for each policy and budget, like `suffice replay`:
    answers bought, accuracy with its standard deviation between seeds, resolved items and how many of those are right.
    Results are compared with gold or, for items without gold, with what the job's aggregation gives for all answers
    (numbers: within a twentieth of the range): a policy that finds this with few answers would have cost less. Every
    answer costs 1 here. Only `job`, `requallo` and `dispatch` close items early. The job itself does not change.
    """
    replay = ReplayRequest(body.policies, body.labels_per_item, body.workers, body.order, body.seeds)
    async with services.job_locks.of(job_id):
        requested = await request_replay(services.database, job_id, replay, services.clock())
    services.runner.begin(job_id, "replay")
    return _accepted(response, job_id, requested)


@router.get("/operations", summary="List operations", responses=documented(JobUnknown, InvalidInput))
async def list_operations(
    services: ServicesOf, job_id: JobId, cursor: Cursor = None, limit: Limit = 100
) -> OperationsOut:
    """See the long work on a job, the newest first: refits, and the forecasts and replays that were requested."""
    found, following = await read_operations.list_operations(
        services.database, job_id, before=before_number(cursor), most=limit
    )
    return OperationsOut(
        operations=[_operation_out(one) for one in found],
        next_cursor=None if following is None else cursor_of(following),
    )


@router.get(
    "/operations/{operation}",
    summary="Watch an operation",
    responses=documented(JobUnknown, OperationUnknown, InvalidInput),
)
async def get_operation(
    services: ServicesOf,
    job_id: JobId,
    operation: Annotated[str, Path(description="The operation's id", json_schema_extra={"example": "1"})],
) -> OperationOut:
    """Ask until `state` is `done` or `failed`. `progress` goes from 0 to 1; then `outcome` has the result."""
    return _operation_out(await read_operations.read_operation(services.database, job_id, operation))


def _accepted(response: Response, job_id: UUID, requested: Operation) -> OperationOut:
    response.headers["Location"] = f"/v1/jobs/{job_id}/operations/{requested.operation_id}"
    return _operation_out(requested)


def _operation_out(operation: Operation) -> OperationOut:
    return OperationOut(
        id=str(operation.operation_id),
        kind=operation.kind,
        state=operation.state,
        progress=operation.progress,
        outcome=_outcome(operation),
        created_at=operation.created_at,
        finished_at=operation.finished_at,
    )


def _outcome(operation: Operation) -> dict[str, Any] | None:
    found = operation.outcome
    if operation.finished_at is None or found is None:
        return None
    return forecast_outcome(found) if operation.kind == FORECAST and "curve" in found else found
