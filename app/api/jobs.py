"""Jobs over HTTP."""

from datetime import datetime, timedelta
from typing import Any, cast
from uuid import uuid4

from fastapi import APIRouter, Request, Response
from sqlalchemy.ext.asyncio import AsyncConnection

from app.api.cursors import Cursor, Limit, after_job, cursor_of
from app.api.dependencies import Database, InTurn, JobId, Time
from app.api.idempotency import REPLAYED, IdempotencyKey, keyed_request, response_of
from app.api.item_files import Imports
from app.api.job_schemas import ItemCounts, JobChanges, JobIn, JobOut, JobsOut, ModelInForce
from app.api.outlooks import forecast_of, plan_of
from app.api.problems import documented
from app.api.time_limit import take_your_time
from app.api.wire import ReasonOut
from app.errors import BudgetBelowCommitted, IdempotencyConflict, InvalidInput, JobUnknown
from app.policy.rules import Rules
from app.store.jobs import Job
from app.store.responses import NO_JOB, Reply
from app.use_cases.change_job import Changes, change_job
from app.use_cases.chores import Chores
from app.use_cases.create_job import create_job
from app.use_cases.manage_jobs import list_jobs, pause_job, remove_job
from app.use_cases.once import once
from app.use_cases.read_job import read_job

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

_LOCATION = {"Location": {"description": "The job's address", "schema": {"type": "string"}, "required": True}}


@router.post(
    "",
    status_code=201,
    summary="Create a job",
    response_model=JobOut,
    responses={201: {"headers": _LOCATION | REPLAYED}, **documented(IdempotencyConflict, InvalidInput, body=True)},
)
async def post_job(
    body: JobIn, request: Request, database: Database, clock: Time, key: IdempotencyKey = None
) -> Response:
    """Start here: say which labels there are, what all answers may cost and when an answer is good enough.

    Only `labels` and `budget` are required. A `plan`, as one under `/v1/plans` offers it, may say the budget and more,
    and the job's status then tells whether it is kept. Money is exact: give amounts as strings, or as numbers with up
    to six decimals. The answer's `Location` header is the job's address. With an `Idempotency-Key` the request can be
    sent again without creating a second job.
    """
    keyed = await keyed_request(request, key, NO_JOB, clock())
    async with database.begin() as connection:
        reply = await once(connection, keyed, lambda: _create(connection, body, clock()))
    return response_of(reply)


async def _create(connection: AsyncConnection, body: JobIn, now: datetime) -> Reply:
    job = await create_job(
        connection,
        job_id=uuid4(),
        name=body.name,
        rules=body.rules(),
        budget=body.budget,
        lease_duration=timedelta(seconds=body.lease_seconds),
        reputation=body.reputation,
        plan=None if body.plan is None else body.plan.model_dump(mode="json", exclude_unset=True),
        now=now,
    )
    return Reply(status=201, headers={"Location": f"/v1/jobs/{job.job_id}"}, body=_shown(job).model_dump_json())


@router.get("", summary="List jobs", responses=documented(InvalidInput))
async def get_jobs(database: Database, cursor: Cursor = None, limit: Limit = 100) -> JobsOut:
    """Find a job again, newest first; each with the same status that its own address gives."""
    page = await list_jobs(database, after=after_job(cursor), most=limit)
    following = None if page.next_after is None else cursor_of(page.next_after[0].isoformat(), page.next_after[1])
    return JobsOut(jobs=[_shown(job) for job in page.jobs], next_cursor=following)


@router.get("/{job}", summary="See how a job stands", responses=documented(JobUnknown, InvalidInput))
async def get_job(job_id: JobId, database: Database) -> JobOut:
    """Use it to watch a job: what was spent and reserved, how many items are done, how complete the rest is.

    `spent + reserved` never passes `budget`. Reading it costs the same for ten items and for ten million.
    """
    return _shown(await read_job(database, job_id))


@router.patch(
    "/{job}",
    summary="Change a job",
    responses=documented(JobUnknown, BudgetBelowCommitted, InvalidInput, body=True),
)
async def patch_job(
    job_id: JobId, body: JobChanges, request: Request, database: Database, turns: InTurn, clock: Time
) -> JobOut:
    """Rename a job, give it more money or less, let leases last longer, or move the bar. What you leave out stays.

    A new `requirement` judges every item again by the answers that it has: open items that now are good enough are
    resolved, and resolved or given-up ones that are not any more reopen. Leases that are out are honoured. The budget
    cannot fall below what is spent and reserved. All of it happens, or nothing.
    """
    async with turns.of(job_id):
        take_your_time(request)
        changed = await change_job(database, job_id, _changes(body), clock)
    chores: Chores = request.app.state.chores
    chores.begin(job_id)  # items that became resolved may have shown who guesses
    return _shown(changed)


@router.post("/{job}/pause", summary="Pause a job", responses=documented(JobUnknown, InvalidInput))
async def post_pause(job_id: JobId, database: Database, turns: InTurn) -> JobOut:
    """Hand out nothing more for now: `next` says `stop`, `job-paused`. What is out may still be answered."""
    async with turns.of(job_id):
        return _shown(await pause_job(database, job_id, paused=True))


@router.post("/{job}/resume", summary="Resume a job", responses=documented(JobUnknown, InvalidInput))
async def post_resume(job_id: JobId, database: Database, turns: InTurn) -> JobOut:
    """Go on with a paused job. Resuming one that runs changes nothing."""
    async with turns.of(job_id):
        return _shown(await pause_job(database, job_id, paused=False))


@router.delete("/{job}", status_code=204, summary="Delete a job", responses=documented(JobUnknown, InvalidInput))
async def delete_job(job_id: JobId, request: Request, database: Database) -> None:
    """Remove a job for good, with its items, assignments and answers. There is no way back: export results first."""
    imports: Imports = request.app.state.imports
    async with imports.turns.of(job_id):
        take_your_time(request)
        await remove_job(database, job_id)


def _changes(body: JobChanges) -> Changes:
    """What was sent, and nothing that was not."""
    sent: dict[str, Any] = {name: getattr(body, name) for name in body.model_fields_set}
    if "lease_seconds" in sent:
        sent["lease_duration"] = timedelta(seconds=sent.pop("lease_seconds"))
    return cast("Changes", sent)


def _in_force(job: Job) -> ModelInForce:
    stages = job.rules.worker_model.stages(len(job.rules.labels))
    choice = job.stage_choice
    if choice is None:
        first = (
            "the model that the job was given"
            if len(stages) == 1
            else "the simplest: no answers have been compared yet"
        )
        return ModelInForce(
            kind=stages[job.stage], reason=ReasonOut(code="first", message=first), held_out={}, answers=0
        )
    return ModelInForce(
        kind=stages[job.stage],
        reason=ReasonOut(**choice["reason"]),
        held_out=choice["held_out"],
        answers=choice["answers"],
    )


def _shown(job: Job) -> JobOut:
    return JobOut(
        **{name: getattr(job.rules, name) for name in Rules.model_fields},
        id=str(job.job_id),
        name=job.name,
        budget=job.budget,
        lease_seconds=int(job.lease_duration.total_seconds()),
        reputation=job.reputation,
        worker_model_in_force=_in_force(job),
        next_refit_at=job.refit_at,
        created_at=job.created_at,
        state=job.state,
        spent=job.spent,
        reserved=job.reserved,
        remaining=job.remaining,
        answers=job.answers,
        items=ItemCounts(open=job.open, resolved=job.resolved, given_up=job.given_up),
        completeness=job.completeness,
        plan=plan_of(job),
        forecast=forecast_of(job),
    )
