"""Begin audits, take answers that are sent by hand, and read audits, their items and certificates."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.audit_sample import Audit, AuditItem
from app.domain.job import Job
from app.errors import (
    AnswerConflict,
    AnswerKindWrong,
    AuditFinished,
    AuditRunning,
    AuditUnknown,
    CertificateMissing,
    FieldError,
    ItemUnknown,
    LabelUnknown,
    NothingToAudit,
    shortened,
)
from app.policy.quality.audit import AuditState
from app.store.audits import (
    audit_items_by_key,
    find_audit,
    insert_audit,
    latest_proven,
    page_of_audit_items,
    page_of_audits,
    population_of,
    running_audit,
)
from app.store.jobs import load_job, lock_job, save_ledger
from app.use_cases.audits.checking import record_checks
from app.use_cases.clock import Clock

_LABELS_SHOWN = 20  # in an error


@dataclass(frozen=True)
class Truth:
    """The right label of an item, as it was sent."""

    item: str
    label: str


@dataclass(frozen=True)
class AuditPage:
    audits: Sequence[Audit]
    next_before: int | None  # None on the last page


@dataclass(frozen=True)
class AuditItemPage:
    items: Sequence[AuditItem]
    labels: Sequence[str]
    next_after: int | None  # None on the last page


async def begin_audit(
    connection: AsyncConnection, job_id: UUID, *, min_accuracy: float, confidence: float, max_items: int, clock: Clock
) -> tuple[Job, Audit]:
    """Draw a sample from the labels that the job has now; they are frozen for this audit."""
    job = await lock_job(connection, job_id)
    kind = job.policy.answer
    if not kind.is_one_label:
        raise AnswerKindWrong(
            f"There are no audits of this job: an answer is {kind.takes_words}. Audits take one label."
        )
    running = await running_audit(connection, job_id)
    if running is not None:
        raise AuditRunning(
            f"Audit {running.audit_id} of this job is running: {running.checked:,} of {running.sample:,} items are "
            "checked. Finish it first."
        )
    population, digest = await population_of(connection, job_id, job.policy.labels)
    if not population:
        raise NothingToAudit("The job has no items that the crowd resolved. Begin an audit when there are some.")
    new = Audit(
        audit_id=job.audits + 1,
        min_accuracy=min_accuracy,
        confidence=confidence,
        max_items=max_items,
        population=population,
        digest=digest,
        label_changes=job.label_changes,
        created_at=clock(),
    )
    await insert_audit(connection, job_id, new, seed=job.policy.seed, summary=new.summary(job.audit))
    return job, new


async def check_by_hand(
    database: AsyncEngine, job_id: UUID, audit: str, answers: Sequence[Truth], clock: Clock
) -> tuple[Job, Audit]:
    """Take the truth about items of the sample, all or none; it costs nothing."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        found = await _find(connection, job_id, audit)
        known = await audit_items_by_key(connection, job_id, found.audit_id, {one.item for one in answers})
        fresh: dict[int, int] = {}
        for place, one in enumerate(answers):
            item, label = _checked(job, found, known, one, f"#/{place}")
            before = fresh.get(item.item_id, item.answer)
            if before is not None and before != label:
                labels = job.policy.labels
                raise AnswerConflict(
                    f"Item {one.item!r} was already checked: it is {labels[before]!r}, not {labels[label]!r}. "
                    "The first answer stays.",
                    errors=(FieldError(f"#/{place}/label", f"Must be {labels[before]!r}, or left out"),),
                )
            if before is None:
                fresh[item.item_id] = label
        if fresh and found.state is not AuditState.RUNNING:
            raise AuditFinished(f"Audit {found.audit_id} is {found.state}. It takes no more answers. Begin a new one.")
        if not fresh:
            return job, found
        job, found = await record_checks(connection, job, found, [(*one, None) for one in fresh.items()], clock())
        await save_ledger(connection, job)
        return job, found


async def read_audit(database: AsyncEngine, job_id: UUID, audit: str) -> tuple[Job, Audit]:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        return job, await _find(connection, job_id, audit)


async def list_audits(database: AsyncEngine, job_id: UUID, *, before: int, most: int) -> tuple[Job, AuditPage]:
    """Load a page of audits, newest first."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_audits(connection, job_id, before=before, most=most + 1)
    page, more = found[:most], found[most:]
    return job, AuditPage(page, page[-1].audit_id if more else None)


async def list_audit_items(
    database: AsyncEngine, job_id: UUID, audit: str, *, checked: bool, after: int, most: int
) -> AuditItemPage:
    """Load a page of the sample in its random order: items to check, or items that are checked."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        number = (await _find(connection, job_id, audit)).audit_id
        found = await page_of_audit_items(connection, job_id, number, checked=checked, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return AuditItemPage(page, job.policy.labels, page[-1].position if more else None)


async def read_certificate(database: AsyncEngine, job_id: UUID) -> tuple[Job, Audit]:
    """Load the latest audit that proved its claim."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        proven = await latest_proven(connection, job_id)
    if proven is None:
        raise CertificateMissing(
            f"No audit of this job has proved its claim. POST /v1/jobs/{job_id}/audits begins one."
        )
    return job, proven


async def _find(connection: AsyncConnection, job_id: UUID, audit: str) -> Audit:
    number = int(audit) if audit.isascii() and audit.isdecimal() and len(audit) <= 18 else 0  # noqa: PLR2004  a bigint
    found = await find_audit(connection, job_id, number)
    if found is None:
        raise AuditUnknown(f"The job has no audit {shortened(audit)}. GET /v1/jobs/{job_id}/audits lists its audits.")
    return found


def _checked(job: Job, audit: Audit, known: dict[str, AuditItem], sent: Truth, pointer: str) -> tuple[AuditItem, int]:
    if sent.item not in known:
        raise ItemUnknown(
            f"Item {sent.item!r} is not in the sample of audit {audit.audit_id}.",
            errors=(FieldError(f"{pointer}/item", "Must be the key of an item that this audit lists"),),
        )
    labels = job.policy.labels
    if sent.label not in labels:
        choices = ", ".join(repr(label) for label in labels[:_LABELS_SHOWN])
        raise LabelUnknown(
            f"{sent.label!r} is not a label of this job.",
            errors=(FieldError(f"{pointer}/label", f"Must be one of {choices}"),),
        )
    return known[sent.item], labels.index(sent.label)
