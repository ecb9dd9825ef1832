"""Work for workers over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Response

from app.api.dependencies import AtDesk, JobId
from app.api.direct import DirectRoute, respond_with
from app.api.problems import documented
from app.api.wire import ReasonOut
from app.api.work_schemas import AssignmentOut, NextIn, NextOut, Why
from app.errors import InvalidInput, JobUnknown
from app.store.assignments import HeldLease
from app.use_cases.assign_next import Ask

router = APIRouter(prefix="/v1/jobs/{job}/next", tags=["work"], route_class=DirectRoute)

_RETRY_AFTER = {"Retry-After": {"description": "Seconds, with `wait`", "schema": {"type": "integer", "minimum": 1}}}


@router.post(
    "",
    summary="Get the next items for a worker",
    response_model=NextOut,
    responses={200: {"headers": _RETRY_AFTER}, **documented(JobUnknown, InvalidInput, body=True)},
)
async def post_next(job_id: JobId, desk: AtDesk, body: Annotated[NextIn | None, Body()] = None) -> Response:
    """Call it when a worker is ready. Each assignment is a lease with its money reserved until `expires_at`.

    A worker never gets an item twice. Asking again returns what the worker holds, so a lost answer does no harm.
    With `workers` you say who is there, and the job's `worker_choice` picks whom to ask; `count` is then how many
    assignments they should hold together. With neither, a job that chooses (`ucb`, `pair`) picks among all registered
    workers who hold fewer than `leases_per_worker`; one that does not (`pull`) gives items to whoever comes.
    Without assignments, `status` tells what to do: `wait` for `retry_after` seconds, or `stop`, and `reason` says why.
    """
    ask = body or NextIn()
    found = await desk.ask(
        job_id, Ask(ask.worker, ask.count, None if ask.workers is None else tuple(dict.fromkeys(ask.workers)))
    )
    told = NextOut(
        status=found.status,
        reason=ReasonOut(code=found.reason.code, message=found.reason.message),
        retry_after=found.retry_after,
        assignments=[_shown(held) for held in found.held],
    )
    return respond_with(told, None if found.retry_after is None else {"Retry-After": str(found.retry_after)})


def _shown(held: HeldLease) -> AssignmentOut:
    return AssignmentOut(**seen(held))


def seen(held: HeldLease) -> dict[str, Any]:
    """An assignment's fields on the wire."""
    return {
        "id": str(held.lease.assignment_id),
        "item": held.key,
        "payload": held.payload,
        "worker": held.lease.worker,
        "cost": held.lease.cost,
        "expires_at": held.lease.expires_at,
        "why": Why(**held.lease.why),
    }
