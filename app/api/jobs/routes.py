"""Jobs over HTTP."""

from datetime import datetime, timedelta
from typing import Annotated, Any, cast
from uuid import uuid4

from fastapi import APIRouter, Query, Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from app.api.audits.trust import trust_out
from app.api.http.common_schemas import ReasonOut, rounded_money
from app.api.http.idempotency import REPLAYED, IdempotencyKey, keyed_request, response_of
from app.api.http.middleware import lift_time_limit
from app.api.http.pagination import Cursor, Limit, after_job, cursor_of
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import JobId, ServicesOf
from app.api.jobs.schemas import CostToFinishOut, ItemCounts, JobChanges, JobIn, JobOut, JobsOut, WorkerModelInForce
from app.api.plans.forecast_schemas import job_forecast_out
from app.api.plans.plan_schemas import job_plan_out
from app.domain.job import Job, JobState
from app.domain.stored_response import NO_JOB, StoredResponse
from app.errors import BudgetBelowCommitted, IdempotencyConflict, InvalidInput, JobUnknown
from app.policy.core.text import Key
from app.policy.job_policy import JobPolicy
from app.use_cases.jobs import change_job as changing
from app.use_cases.jobs import create_job as creating
from app.use_cases.jobs import manage_jobs
from app.use_cases.jobs.budget_warnings import budget_warnings
from app.use_cases.jobs.job_state import cost_to_finish, state_message
from app.use_cases.jobs.manage_jobs import read_job
from app.use_cases.respond_once import respond_once

router = APIRouter(prefix="/v1/jobs", tags=["jobs"], route_class=ServiceRoute)

_LOCATION = {"Location": {"description": "The job's URL", "schema": {"type": "string"}, "required": True}}


@router.post(
    "",
    status_code=201,
    summary="Create a job",
    response_model=JobOut,
    responses={201: {"headers": _LOCATION | REPLAYED}, **documented(IdempotencyConflict, InvalidInput, body=True)},
)
async def create_job(services: ServicesOf, body: JobIn, request: Request, key: IdempotencyKey = None) -> Response:
    """Start here: give the labels, the budget for all answers, and when an answer is good enough.

    Only `labels` and `budget` are required; the defaults are the best policy that we know. The `offer` of a plan under
    `/v1/plans` can be sent as `plan`: it fills in the budget and other fields, and the job then shows whether the
    promise is kept. Money is exact: send amounts as strings, or as numbers with up to six decimals. The `Location`
    header of the response is the job's URL. With an `Idempotency-Key` the request can be sent again without
    creating a second job.
    """
    now = services.clock()
    keyed = await keyed_request(request, key, NO_JOB, now)
    async with services.database.begin() as connection:
        response = await respond_once(connection, keyed, lambda: _created(connection, body, now))
    return response_of(response)


async def _created(connection: AsyncConnection, body: JobIn, now: datetime) -> StoredResponse:
    job = await creating.create_job(
        connection,
        job_id=uuid4(),
        name=body.name,
        policy=body.policy(),
        budget=body.budget,
        answer_cost=body.answer_cost,
        lease_duration=timedelta(seconds=body.lease_seconds),
        reputation=body.reputation,
        plan=None if body.plan is None else body.plan.model_dump(mode="json", exclude_unset=True),
        now=now,
    )
    return StoredResponse(
        status=201, headers={"Location": f"/v1/jobs/{job.job_id}"}, body=job_out(job).model_dump_json()
    )


@router.get("", summary="List jobs", responses=documented(InvalidInput))
async def list_jobs(
    services: ServicesOf,
    state: Annotated[JobState | None, Query(description="Only jobs in this state")] = None,
    name: Annotated[Key | None, Query(description="Only jobs with exactly this name")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> JobsOut:
    """List jobs, the newest first, each with the same fields as `GET /v1/jobs/{job}`.

    A cursor continues the list with the filters that you send with it: send the same ones for all pages.
    """
    page = await manage_jobs.list_jobs(services.database, after=after_job(cursor), most=limit, state=state, name=name)
    following = None if page.next_after is None else cursor_of(page.next_after[0].isoformat(), page.next_after[1])
    return JobsOut(jobs=[job_out(job) for job in page.jobs], next_cursor=following)


@router.get("/{job}", summary="Get a job", responses=documented(JobUnknown, InvalidInput))
async def get_job(services: ServicesOf, job_id: JobId) -> JobOut:
    """Watch a job: what is spent and reserved, how many items are done, how complete the others are.

    `spent + reserved` never exceeds `budget`. The request takes as long for ten items as for ten million.
    """
    return job_out(await read_job(services.database, job_id))


@router.patch(
    "/{job}",
    summary="Change a job",
    responses=documented(JobUnknown, BudgetBelowCommitted, InvalidInput, body=True),
)
async def change_job(services: ServicesOf, job_id: JobId, body: JobChanges, request: Request) -> JobOut:
    """Change the name, the budget, the lease or the requirement of a job. Fields that you leave out stay unchanged.

    After a new `requirement`, every item is judged again by the answers that it has: open items that are now good
    enough are resolved, and resolved or given-up items that are no longer good enough reopen. Live assignments stay
    valid. The budget cannot be less than what is spent and reserved. Either all changes are made, or none.
    """
    async with services.job_locks.of(job_id):
        lift_time_limit(request)
        changed = await changing.change_job(services.database, job_id, _changes(body), services.clock)
    services.runner.begin(job_id)  # items that are now resolved may reveal spammers
    return job_out(changed)


@router.post("/{job}/pause", summary="Pause a job", responses=documented(JobUnknown, InvalidInput))
async def pause_job(services: ServicesOf, job_id: JobId) -> JobOut:
    """Give out no more work for now: `next` says `wait`, `job-paused`. Live assignments can still be answered."""
    async with services.job_locks.of(job_id):
        return job_out(await manage_jobs.pause_job(services.database, job_id, paused=True))


@router.post("/{job}/resume", summary="Resume a job", responses=documented(JobUnknown, InvalidInput))
async def resume_job(services: ServicesOf, job_id: JobId) -> JobOut:
    """Give out work again after a pause. Resuming a job that is not paused changes nothing."""
    async with services.job_locks.of(job_id):
        return job_out(await manage_jobs.pause_job(services.database, job_id, paused=False))


@router.delete("/{job}", status_code=204, summary="Delete a job", responses=documented(JobUnknown, InvalidInput))
async def delete_job(services: ServicesOf, job_id: JobId, request: Request) -> None:
    """Delete a job with its items, assignments and answers. It cannot be undone: export the results first."""
    async with services.import_slots.job_locks.of(job_id):
        lift_time_limit(request)
        await manage_jobs.remove_job(services.database, job_id)


def _changes(body: JobChanges) -> changing.Changes:
    """Return only the fields that were sent."""
    sent: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    if "lease_seconds" in sent:
        sent["lease_duration"] = timedelta(seconds=sent.pop("lease_seconds"))
    return cast("changing.Changes", sent)


def _worker_model_in_force(job: Job) -> WorkerModelInForce:
    stages = job.policy.worker_model.stages(job.policy.classes).names
    choice = job.stage_choice
    if choice is not None:
        return WorkerModelInForce(
            kind=stages[job.stage],
            reason=ReasonOut(**choice["reason"]),
            heldout_log_likelihood=choice["held_out"],
            heldout_answers=choice["answers"],
        )
    only = len(stages) == 1
    message = "The worker model of the job" if only else "The simplest model: no refit has compared the models yet"
    reason = ReasonOut(code="first", message=message)
    return WorkerModelInForce(kind=stages[job.stage], reason=reason, heldout_log_likelihood={}, heldout_answers=0)


def _cost_to_finish_out(job: Job) -> CostToFinishOut | None:
    cost = cost_to_finish(job)
    if cost is None:
        return None
    return CostToFinishOut(
        estimate=rounded_money(cost.estimate), low=rounded_money(cost.low), high=rounded_money(cost.high)
    )


def job_out(job: Job) -> JobOut:
    """Build the response for a job without validation: the stored job was validated before."""
    return JobOut.model_construct(
        **{name: getattr(job.policy, name) for name in JobPolicy.model_fields},
        id=str(job.job_id),
        name=job.name,
        budget=job.budget,
        answer_cost=job.answer_cost,
        expected_price=job.price,
        lease_seconds=int(job.lease_duration.total_seconds()),
        reputation=job.reputation,
        worker_model_in_force=_worker_model_in_force(job),
        next_refit_at=job.refit_at,
        created_at=job.created_at,
        state=job.state,
        state_message=state_message(job),
        cost_to_finish=_cost_to_finish_out(job),
        spent=job.spent,
        reserved=job.reserved,
        remaining=job.remaining,
        answers=job.answers,
        items=ItemCounts(open=job.open, resolved=job.resolved, given_up=job.given_up),
        completeness=job.completeness,
        warnings=[ReasonOut(**warning.as_json()) for warning in budget_warnings(job)],
        trust=trust_out(job),
        plan=job_plan_out(job),
        forecast=job_forecast_out(job),
    )
