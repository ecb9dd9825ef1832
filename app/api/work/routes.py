"""Work for workers over HTTP: ask for assignments, change them, send answers."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Body, Depends, Path, Query, Request, Response
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from app.api.history.upload import DOCUMENTED_BODIES, DOCUMENTED_RESPONSE, upload_answers
from app.api.http.common_schemas import ReasonOut, rounded_share
from app.api.http.content_type import TABLES
from app.api.http.json_body import LARGE_BYTES
from app.api.http.pagination import Cursor, Limit, after_number, cursor_of
from app.api.http.problems import current_request_id, documented, problem_of
from app.api.http.service_route import Handler, ServiceRoute
from app.api.http.services import JobId, Services, ServicesOf
from app.api.work.schemas import (
    AnswerIn,
    AnswerOut,
    AnswersOut,
    AssignmentOut,
    AssignmentRecordOut,
    AssignmentsOut,
    ExtendIn,
    NextIn,
    NextOut,
    OneOrManyAnswers,
    WhyOut,
)
from app.domain.assignment import AssignmentState, HeldAssignment
from app.domain.work import WorkRequest
from app.errors import (
    AnswerConflict,
    AnswerKindWrong,
    AssignmentEnded,
    AssignmentUnknown,
    BudgetExhausted,
    FieldError,
    InvalidInput,
    ItemClosed,
    ItemUnknown,
    JobUnknown,
    LabelUnknown,
    LeaseExpired,
    SufficeError,
    WorkerBlocked,
    shortened,
)
from app.policy.core.text import Key
from app.use_cases.work.entering import RecordedAnswer
from app.use_cases.work.held_assignments import Extend, Return, read_assignments
from app.use_cases.work.ledger import SubmittedAnswer, number_in

router = APIRouter(prefix="/v1/jobs/{job}", tags=["work"], route_class=ServiceRoute)

_JSON: Final = "application/json"
_RETRY_AFTER = {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 1}}}
_CHANGE_REFUSALS = (JobUnknown, AssignmentUnknown, LeaseExpired, AssignmentEnded, InvalidInput)
_ANSWER_REFUSALS = (
    JobUnknown,
    ItemUnknown,
    AssignmentUnknown,
    AnswerConflict,
    WorkerBlocked,
    ItemClosed,
    BudgetExhausted,
    InvalidInput,
    AnswerKindWrong,
    LabelUnknown,
)


_HotEndpoint = Callable[[Services, UUID, Any], Awaitable[Response]]
_Upload = Callable[[Services, UUID, Request], Awaitable[Response]]


def _json_response(model: BaseModel, headers: dict[str, str] | None = None) -> Response:
    """Serialize a model without validation; FastAPI would validate it again."""
    return Response(model.model_dump_json(exclude_unset=True), headers=headers, media_type=_JSON)


def _hot_route(body: Any, upload: _Upload | None = None) -> type[ServiceRoute]:  # noqa: ANN401  a model, or a union
    """Create a fast path for the two busiest endpoints: a valid request skips FastAPI's dependency solver.

    Solving dependencies and validating the response costs more time than everything else in `next` and `answers`.
    The endpoint must have exactly the parameters (services, job_id, body), with a body of this type. The endpoint's
    signature still documents the operation. If a request is not valid JSON of this type, FastAPI handles it as usual
    and creates the error messages. `upload` takes what is sent as a table.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(body)

    class HotRoute(ServiceRoute):
        def get_route_handler(self) -> Handler:
            usual = super().get_route_handler()
            endpoint: _HotEndpoint = self.endpoint

            async def handle(request: Request) -> Response:
                media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                has_query = bool(request.scope["query_string"])
                if upload is not None and media in TABLES and not has_query and (job_id := _job_id(request)):
                    return await upload(request.app.state.services, job_id, request)
                if has_query or media != _JSON:
                    return await usual(request)
                sent = await request.body()
                if len(sent) > LARGE_BYTES:
                    return await usual(request)
                try:
                    job_id, valid = UUID(request.path_params["job"]), adapter.validate_json(sent)
                except (ValidationError, ValueError):
                    return await usual(request)
                return await endpoint(request.app.state.services, job_id, valid)

            return handle

    return HotRoute


def _job_id(request: Request) -> UUID | None:
    try:
        return UUID(request.path_params["job"])
    except ValueError:
        return None


async def next_assignments(
    services: ServicesOf, job_id: JobId, body: Annotated[NextIn | None, Body()] = None
) -> Response:
    """Call this when a worker is ready. Each assignment reserves its money and lasts until `expires_at`.

    A worker never gets an item twice. If you ask again, you get the assignments that the worker already holds, so a
    lost response does no harm. With `workers` you list who is available, and the job's `worker_choice` picks whom to
    ask; `count` is then the number of assignments for all of them together. With neither `worker` nor `workers`, a job
    that chooses (`ucb`, `pair`) picks among all registered workers who hold fewer than `max_assignments_per_worker`;
    other jobs (`pull`) give items to an unnamed worker. If there are no assignments, `status` says what to do: `wait`
    for `retry_after` seconds, or `stop`; `reason` says why.

    With `tier`, in a job with the worker model `tiers`, you say what is known of a worker who may have no name. The
    assignment keeps it, and its answer is weighed by it.
    """
    asked = body or NextIn()
    if asked.worker is not None and asked.workers is not None:
        wrong = FieldError("#/workers", "Must not be there beside `worker`")
        raise InvalidInput("The request names one worker and several. Send `worker` or `workers`.", errors=(wrong,))
    if asked.tier is not None and asked.workers is not None:
        wrong = FieldError("#/tier", "Must not be there beside `workers`")
        raise InvalidInput("A tier is that of one worker. Send `worker`, or no name.", errors=(wrong,))
    workers = None if asked.workers is None else tuple(dict.fromkeys(asked.workers))
    found = await services.batcher.ask(job_id, WorkRequest(asked.worker, asked.count, workers, tier=asked.tier))
    response = NextOut(
        status=found.status,
        reason=ReasonOut(code=found.reason.code, message=found.reason.message),
        retry_after=found.retry_after,
        assignments=[AssignmentOut(**_assignment_fields(held)) for held in found.held],
    )
    return _json_response(response, None if found.retry_after is None else {"Retry-After": str(found.retry_after)})


router.add_api_route(
    "/next",
    next_assignments,
    methods=["POST"],
    summary="Get the next items for a worker",
    response_model=NextOut,
    responses={200: {"headers": _RETRY_AFTER}, **documented(JobUnknown, InvalidInput, body=True)},
    route_class_override=_hot_route(NextIn),
)


async def send_answers(services: ServicesOf, job_id: JobId, body: OneOrManyAnswers) -> Response:
    """Send a worker's answer, for an `assignment` from `next`, or for an `item` and a `worker`.

    The response has the verdict about the item. A response with status 200 is committed. If you send the same answer
    again, you get the same verdict and it costs nothing; another label for the same item by the same worker is refused.
    So is another `tier`. Without a name an answer needs its assignment, which tells it from the answers of others.
    With `{"answers": [...]}` each answer gets its own result or error, in order. A late answer is accepted while the
    item is open and the budget covers it.

    As NDJSON or CSV you import answers that were recorded elsewhere, any number of them, all or none: `item`, `worker`,
    `label` (or `labels`, `value`), and perhaps `tier` and `answered_at`. They cost nothing. The response is 201 with
    `added`, `unchanged` and an `operation`; when that is done, all of them are recorded, fitted and judged.
    """
    if isinstance(body, AnswerIn):
        (outcome,) = await services.batcher.answer(job_id, [_submitted(body, "#")])
        if isinstance(outcome, SufficeError):
            raise outcome
        return Response(to_json(_answer_fields(outcome)), media_type=_JSON)
    submitted = [_submitted(one, f"#/answers/{position}") for position, one in enumerate(body.answers)]
    outcomes = await services.batcher.answer(job_id, submitted)
    results = [
        _refused_fields(outcome) if isinstance(outcome, SufficeError) else _answer_fields(outcome)
        for outcome in outcomes
    ]
    return Response(to_json({"results": results}), media_type=_JSON)


router.add_api_route(
    "/answers",
    send_answers,
    methods=["POST"],
    summary="Send one answer, or many",
    response_model=AnswerOut | AnswersOut,
    responses={
        HTTPStatus.CREATED.value: DOCUMENTED_RESPONSE,
        **documented(*_ANSWER_REFUSALS, body=True),
    },
    openapi_extra={"requestBody": {"content": DOCUMENTED_BODIES}},
    route_class_override=_hot_route(OneOrManyAnswers, upload_answers),
)


@router.get("/assignments", summary="List assignments", responses=documented(JobUnknown, InvalidInput))
async def list_assignments(
    services: ServicesOf,
    job_id: JobId,
    state: Annotated[AssignmentState | None, Query(description="Only assignments in this state")] = None,
    worker: Annotated[Key | None, Query(description="Only assignments of this worker")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> AssignmentsOut:
    """See who holds which item, and how earlier assignments ended: answered, expired, released or skipped."""
    page = await read_assignments(
        services.database, job_id, state=state, worker=worker, after=after_number(cursor), most=limit
    )
    following = None if page.next_after is None else cursor_of(page.next_after)
    return AssignmentsOut(assignments=[_record_out(held) for held in page.held], next_cursor=following)


async def _assignment_number(
    assignment: Annotated[
        str, Path(description="The assignment's id, from `next`", json_schema_extra={"example": "1"})
    ],
) -> int:
    number = number_in(assignment)
    if number is None:
        raise AssignmentUnknown(f"The job has no assignment {shortened(assignment)}. Use an id from `next`.")
    return number


AssignmentNumber = Annotated[int, Depends(_assignment_number)]


@router.post(
    "/assignments/{assignment}/extend",
    summary="Hold an assignment longer",
    responses=documented(*_CHANGE_REFUSALS, body=True),
)
async def extend_assignment(
    services: ServicesOf,
    job_id: JobId,
    number: AssignmentNumber,
    body: Annotated[ExtendIn | None, Body()] = None,
) -> AssignmentRecordOut:
    """Call this while the worker is still busy with the item, so that the assignment does not expire."""
    duration = timedelta(seconds=body.seconds) if body and body.seconds else None
    return _record_out(await services.batcher.change(job_id, Extend(number, duration)))


@router.post(
    "/assignments/{assignment}/release",
    summary="Give an assignment back",
    responses=documented(*_CHANGE_REFUSALS),
)
async def release_assignment(services: ServicesOf, job_id: JobId, number: AssignmentNumber) -> AssignmentRecordOut:
    """Call this when the worker leaves: the money is free at once, and anyone may get the item, this worker too."""
    return _record_out(await services.batcher.change(job_id, Return(number, AssignmentState.RELEASED)))


@router.post("/assignments/{assignment}/skip", summary="Skip an assignment", responses=documented(*_CHANGE_REFUSALS))
async def skip_assignment(services: ServicesOf, job_id: JobId, number: AssignmentNumber) -> AssignmentRecordOut:
    """Call this when the worker cannot answer: the money is free, and the worker does not get the item again."""
    return _record_out(await services.batcher.change(job_id, Return(number, AssignmentState.SKIPPED)))


def _assignment_fields(held: HeldAssignment) -> dict[str, Any]:
    return {
        "id": str(held.assignment.assignment_id),
        "item": held.key,
        "payload": held.payload,
        "worker": held.assignment.worker,
        "cost": held.assignment.cost,
        "expires_at": held.assignment.expires_at,
        "why": WhyOut(**held.assignment.why),
    }


def _record_out(held: HeldAssignment) -> AssignmentRecordOut:
    return AssignmentRecordOut(**_assignment_fields(held), state=held.assignment.state)


def _submitted(answer: AnswerIn, pointer: str) -> SubmittedAnswer:
    said = answer.label, answer.labels, answer.value
    return SubmittedAnswer(*said, answer.assignment, answer.item, answer.worker, answer.tier, pointer)


def _answer_fields(outcome: RecordedAnswer) -> dict[str, Any]:
    """The fields of `AnswerOut`, in its order: to build a thousand models takes longer than to learn the answers."""
    return {
        "item": outcome.item,
        "worker": outcome.worker,
        "accepted": True,
        "duplicate": outcome.duplicate,
        "late": outcome.late,
        "counted": outcome.counted,
        "verdict": outcome.verdict.value,
        "label": None,
        **outcome.result,
        "confidence": rounded_share(outcome.confidence),
        "reason": {"code": outcome.reason.code, "message": outcome.reason.message},
    }


def _refused_fields(refusal: SufficeError) -> dict[str, Any]:
    """The fields of `AnswerRefused`."""
    return {"accepted": False, "error": problem_of(refusal, current_request_id()).model_dump(exclude_unset=True)}
