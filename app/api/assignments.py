"""Assignments over HTTP."""

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import AtDesk, Database, JobId
from app.api.next import seen
from app.api.problems import documented
from app.api.work_schemas import AssignmentSeen, AssignmentsOut, ExtendIn
from app.domain import AssignmentState
from app.errors import AssignmentEnded, AssignmentUnknown, InvalidInput, JobUnknown, LeaseExpired
from app.policy.text import Key
from app.store.assignments import HeldLease
from app.use_cases.answer_ledger import number_in
from app.use_cases.change_assignment import Extend, Return
from app.use_cases.read_assignments import read_assignments

router = APIRouter(prefix="/v1/jobs/{job}/assignments", tags=["work"])

_REFUSALS = (JobUnknown, AssignmentUnknown, LeaseExpired, AssignmentEnded, InvalidInput)


async def _number(
    assignment: Annotated[
        str, Path(description="The assignment's id, from `next`", json_schema_extra={"example": "1"})
    ],
) -> int:
    number = number_in(assignment)
    if number is None:
        raise AssignmentUnknown(f"The job has no assignment {assignment!r}")
    return number


Number = Annotated[int, Depends(_number)]


@router.get("", summary="List assignments", responses=documented(JobUnknown, InvalidInput))
async def get_assignments(
    job_id: JobId,
    database: Database,
    state: Annotated[AssignmentState | None, Query(description="Only those in this state")] = None,
    worker: Annotated[Key | None, Query(description="Only those of this worker")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> AssignmentsOut:
    """See who holds what, and what became of earlier leases: live, answered, expired, released or skipped."""
    page = await read_assignments(database, job_id, state=state, worker=worker, after=after_number(cursor), most=limit)
    following = None if page.next_after is None else cursor_of(page.next_after)
    return AssignmentsOut(assignments=[_shown(held) for held in page.held], next_cursor=following)


@router.post("/{assignment}/extend", summary="Hold an assignment longer", responses=documented(*_REFUSALS, body=True))
async def post_extend(
    job_id: JobId, number: Number, desk: AtDesk, body: Annotated[ExtendIn | None, Body()] = None
) -> AssignmentSeen:
    """A heartbeat: call it while the worker is still at it, and the lease does not expire."""
    duration = timedelta(seconds=body.seconds) if body and body.seconds else None
    return _shown(await desk.change(job_id, Extend(number, duration)))


@router.post("/{assignment}/release", summary="Give an assignment back", responses=documented(*_REFUSALS))
async def post_release(job_id: JobId, number: Number, desk: AtDesk) -> AssignmentSeen:
    """Use it when the worker leaves: the money returns at once, and the item is free for anybody, this worker too."""
    return _shown(await desk.change(job_id, Return(number, AssignmentState.RELEASED)))


@router.post("/{assignment}/skip", summary="Skip an assignment", responses=documented(*_REFUSALS))
async def post_skip(job_id: JobId, number: Number, desk: AtDesk) -> AssignmentSeen:
    """Use it when the worker cannot answer this item: the money returns, and the item is not offered to them again."""
    return _shown(await desk.change(job_id, Return(number, AssignmentState.SKIPPED)))


def _shown(held: HeldLease) -> AssignmentSeen:
    return AssignmentSeen(**seen(held), state=held.lease.state)
