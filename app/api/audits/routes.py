"""Audits and certificates over HTTP."""

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Body, Path, Query, Request, Response
from pydantic import Field
from sqlalchemy.ext.asyncio import AsyncConnection

from app.api.audits.schemas import (
    MOST_AUDIT_ANSWERS,
    AccuracyOut,
    AuditAnswerIn,
    AuditIn,
    AuditItemFilter,
    AuditItemOut,
    AuditItemsOut,
    AuditOut,
    AuditsOut,
    CertificateOut,
)
from app.api.http.common_schemas import FirstErrorOnly
from app.api.http.idempotency import REPLAYED, IdempotencyKey, keyed_request, response_of
from app.api.http.middleware import lift_time_limit
from app.api.http.pagination import Cursor, Limit, after_number, before_number, cursor_of
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import JobId, Services, ServicesOf
from app.domain.audit_sample import Audit, AuditItem
from app.domain.job import Job
from app.domain.stored_response import StoredResponse
from app.errors import (
    AnswerConflict,
    AnswerKindWrong,
    AuditFinished,
    AuditRunning,
    AuditUnknown,
    CertificateMissing,
    IdempotencyConflict,
    InvalidInput,
    ItemUnknown,
    JobUnknown,
    LabelUnknown,
    NothingToAudit,
)
from app.policy.quality.audit import METHOD, MeasuredAccuracy
from app.use_cases.audits import manage_audits
from app.use_cases.audits.manage_audits import Truth
from app.use_cases.respond_once import respond_once
from app.use_cases.work.batching import refit_is_due

router = APIRouter(prefix="/v1/jobs/{job}", tags=["audits"], route_class=ServiceRoute)

_LOCATION = {"Location": {"description": "The audit's URL", "schema": {"type": "string"}, "required": True}}
AuditName = Annotated[str, Path(description="The audit's id", json_schema_extra={"example": "1"})]


@router.post(
    "/audits",
    status_code=201,
    summary="Begin an audit",
    response_model=AuditOut,
    responses={
        201: {"headers": _LOCATION | REPLAYED},
        **documented(
            *(JobUnknown, AuditRunning, NothingToAudit, AnswerKindWrong, IdempotencyConflict, InvalidInput), body=True
        ),
    },
)
async def begin_audit(
    services: ServicesOf, job_id: JobId, body: AuditIn, request: Request, key: IdempotencyKey = None
) -> Response:
    """Prove that at least `min_accuracy` of the labels are right, by checking as few of them as possible.

    A random sample is drawn without replacement from the items that are resolved now. Check its items by hand, or
    register trusted workers, who get them from `next`. After each answer the service decides whether the claim is
    proven, refuted or still open, and stops as soon as it is decided. You may look as often as you like: at most
    1 - confidence of all audits are wrong. The audit is about the labels as they are now. One audit runs at a time.
    """
    keyed = await keyed_request(request, key, job_id, services.clock())
    async with services.job_locks.of(job_id):
        lift_time_limit(request)
        async with services.database.begin() as connection:
            response = await respond_once(connection, keyed, lambda: _begun(connection, services, job_id, body))
    return response_of(response)


async def _begun(connection: AsyncConnection, services: Services, job_id: JobId, body: AuditIn) -> StoredResponse:
    job, audit = await manage_audits.begin_audit(
        connection,
        job_id,
        min_accuracy=body.min_accuracy,
        confidence=body.confidence,
        max_items=body.max_items,
        clock=services.clock,
    )
    location = f"/v1/jobs/{job_id}/audits/{audit.audit_id}"
    return StoredResponse(status=201, headers={"Location": location}, body=_audit_out(job, audit).model_dump_json())


@router.get("/audits", summary="List audits", responses=documented(JobUnknown, InvalidInput))
async def list_audits(services: ServicesOf, job_id: JobId, cursor: Cursor = None, limit: Limit = 100) -> AuditsOut:
    """See which claims were tested and how each audit ended, the newest first."""
    job, page = await manage_audits.list_audits(services.database, job_id, before=before_number(cursor), most=limit)
    following = None if page.next_before is None else cursor_of(page.next_before)
    return AuditsOut(audits=[_audit_out(job, one) for one in page.audits], next_cursor=following)


@router.get("/audits/{audit}", summary="Get an audit", responses=documented(JobUnknown, AuditUnknown, InvalidInput))
async def get_audit(services: ServicesOf, job_id: JobId, audit: AuditName) -> AuditOut:
    """See what the checked items show so far. The interval of `accuracy` holds whenever you look."""
    return _audit_out(*await manage_audits.read_audit(services.database, job_id, audit))


@router.get(
    "/audits/{audit}/items",
    summary="List the items of an audit",
    responses=documented(JobUnknown, AuditUnknown, InvalidInput),
)
async def list_audit_items(
    services: ServicesOf,
    job_id: JobId,
    audit: AuditName,
    state: Annotated[
        AuditItemFilter, Query(description="`pending`: the next items to check; `checked`: those with the right label")
    ] = "pending",
    cursor: Cursor = None,
    limit: Limit = 20,
) -> AuditItemsOut:
    """Get the next items to check, in the random order, with their payload and without our label.

    With `state=checked` you get the items that are checked, with both labels: enough to compute the result again.
    """
    page = await manage_audits.list_audit_items(
        services.database, job_id, audit, checked=state == "checked", after=after_number(cursor), most=limit
    )
    following = None if page.next_after is None else cursor_of(page.next_after)
    return AuditItemsOut(items=[_item_out(one, page.labels) for one in page.items], next_cursor=following)


@router.post(
    "/audits/{audit}/answers",
    summary="Send right labels",
    responses=documented(
        JobUnknown, AuditUnknown, ItemUnknown, AnswerConflict, AuditFinished, LabelUnknown, InvalidInput, body=True
    ),
)
async def answer_audit(
    services: ServicesOf,
    job_id: JobId,
    audit: AuditName,
    body: Annotated[
        list[AuditAnswerIn],
        FirstErrorOnly(),
        Field(min_length=1, max_length=MOST_AUDIT_ANSWERS),
        Body(title="AuditAnswers"),
    ],
) -> AuditOut:
    """Send the right labels of items of the sample; returns the audit, up to date.

    All answers are taken, or none. The same answer again changes nothing; another label for an item that is checked is
    refused. Answers that are sent by hand cost nothing.
    """
    answers = [Truth(one.item, one.label) for one in body]
    async with services.job_locks.of(job_id):
        job, found = await manage_audits.check_by_hand(services.database, job_id, audit, answers, services.clock)
    if refit_is_due(job):
        services.runner.begin(job_id)
    return _audit_out(job, found)


@router.get(
    "/certificate",
    summary="Get the certificate",
    responses=documented(JobUnknown, CertificateMissing, InvalidInput),
)
async def get_certificate(services: ServicesOf, job_id: JobId) -> CertificateOut:
    """Get the latest claim that an audit of this job has proved, and the digest of the labels that it is about.

    `current` says whether the job still has these labels. Anyone can compute the digest and the decision again from the
    exported results and the audit's items.
    """
    job, audit = await manage_audits.read_certificate(services.database, job_id)
    assert audit.accuracy is not None  # noqa: S101  a claim is proven by checks
    assert audit.finished_at is not None  # noqa: S101
    return CertificateOut(
        audit=str(audit.audit_id),
        claim=f"At least {audit.min_accuracy:.4g} of {audit.population:,} labels are right",
        min_accuracy=audit.min_accuracy,
        confidence=audit.confidence,
        checked=audit.checked,
        right=audit.correct,
        population=audit.population,
        accuracy=_accuracy_out(audit.accuracy),
        digest=audit.digest,
        current=job.label_changes == audit.label_changes,
        method=METHOD,
        time=audit.finished_at,
    )


def _audit_out(job: Job, audit: Audit) -> AuditOut:
    return AuditOut(
        id=str(audit.audit_id),
        state=audit.state,
        min_accuracy=audit.min_accuracy,
        confidence=audit.confidence,
        max_items=audit.max_items,
        population=audit.population,
        checked=audit.checked,
        right=audit.correct,
        accuracy=None if audit.accuracy is None else _accuracy_out(audit.accuracy),
        label_changes=job.label_changes - audit.label_changes,
        digest=audit.digest,
        created_at=audit.created_at,
        finished_at=audit.finished_at,
    )


def _accuracy_out(found: MeasuredAccuracy) -> AccuracyOut:
    return AccuracyOut(estimate=found.estimate, low=found.low, high=found.high, confidence=found.confidence)


def _item_out(item: AuditItem, labels: Sequence[str]) -> AuditItemOut:
    checked = item.answer is not None
    return AuditItemOut(
        position=item.position,
        item=item.key,
        payload=item.payload,
        label=labels[item.label] if checked else None,
        answer=None if item.answer is None else labels[item.answer],
        right=item.answer == item.label if checked else None,
        worker=item.worker,
        answered_at=item.answered_at,
    )
