"""Answers over HTTP."""

from fastapi import APIRouter, Request, Response

from app.api.answer_schemas import AnswerIn, AnswerOut, AnswerRefused, AnswersOut, OneOrManyAnswers
from app.api.dependencies import AtDesk, JobId
from app.api.direct import DirectRoute, respond_with
from app.api.problems import documented, problem_of
from app.api.wire import ReasonOut
from app.errors import (
    AnswerConflict,
    AssignmentUnknown,
    BudgetExhausted,
    InvalidInput,
    ItemClosed,
    ItemUnknown,
    JobUnknown,
    LabelUnknown,
    SufficeError,
    WorkerBlocked,
)
from app.use_cases.answer_ledger import Submission
from app.use_cases.record_answers import Recorded

router = APIRouter(prefix="/v1/jobs/{job}/answers", tags=["work"], route_class=DirectRoute)

_REFUSALS = documented(
    JobUnknown,
    ItemUnknown,
    AssignmentUnknown,
    AnswerConflict,
    WorkerBlocked,
    ItemClosed,
    BudgetExhausted,
    InvalidInput,
    LabelUnknown,
    body=True,
)


@router.post("", summary="Send one answer, or many", response_model=AnswerOut | AnswersOut, responses=_REFUSALS)
async def post_answers(job_id: JobId, body: OneOrManyAnswers, request: Request, desk: AtDesk) -> Response:
    """Send what a worker said, under an `assignment` from `next` or for an `item` by a `worker`.

    The verdict says at once what becomes of the item. A 200 is committed. The same answer sent again gets the same
    verdict and costs nothing; another label for the same item by the same worker is refused. With `{"answers": [...]}`
    each answer gets a result or an error of its own, in order; a late answer is taken while the item is open.
    """
    if isinstance(body, AnswerIn):
        (outcome,) = await desk.answer(job_id, [_submission(body, "#")])
        if isinstance(outcome, SufficeError):
            raise outcome
        return respond_with(_told(outcome))
    submissions = [_submission(one, f"#/answers/{position}") for position, one in enumerate(body.answers)]
    outcomes = await desk.answer(job_id, submissions)
    results = [
        AnswerRefused(error=problem_of(outcome, request.state.request_id))
        if isinstance(outcome, SufficeError)
        else _told(outcome)
        for outcome in outcomes
    ]
    return respond_with(AnswersOut(results=results))


def _submission(answer: AnswerIn, pointer: str) -> Submission:
    return Submission(answer.label, answer.assignment, answer.item, answer.worker, pointer)


def _told(outcome: Recorded) -> AnswerOut:
    return AnswerOut(
        item=outcome.item,
        worker=outcome.worker,
        duplicate=outcome.duplicate,
        late=outcome.late,
        counted=outcome.counted,
        verdict=outcome.verdict.value,
        label=outcome.label,
        confidence=outcome.confidence,
        reason=ReasonOut(code=outcome.reason.code, message=outcome.reason.message),
    )
