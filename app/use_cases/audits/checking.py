"""Store the truth about audited items, and decide what it shows."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from itertools import dropwhile

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.audit_sample import Audit
from app.domain.job import Job
from app.policy.quality.audit import AuditState
from app.store.audits import checks_of, save_audit, save_audit_answers

AuditAnswer = tuple[int, int, str | None]  # item, label, and the worker who said it; None if it was sent by hand


async def record_checks(
    connection: AsyncConnection, job: Job, audit: Audit, answers: Sequence[AuditAnswer], now: datetime
) -> tuple[Job, Audit]:
    """Store answers of a running audit of a locked job, and end the audit if they decide it.

    Audited items teach how often labels are right. If the claim is refuted, a refit is due, because the job still has
    to reach what it asks for; otherwise the labels stay as they are until a refit is due for other reasons. The caller
    saves the job.
    """
    await save_audit_answers(connection, job.job_id, audit.audit_id, answers, now)
    checked = judged(audit, await checks_of(connection, job.job_id, audit.audit_id), now)
    summary = checked.summary(job.audit)
    await save_audit(connection, job.job_id, checked, summary)
    refit_at = job.refit_at
    if checked.state is AuditState.REFUTED and refit_at is not None:
        refit_at = min(refit_at, job.answers)
    return replace(job, audit=summary, refit_at=refit_at), checked


def judged(audit: Audit, checks: Sequence[bool | None], now: datetime) -> Audit:
    """Return the audit with what these checks of its sample show."""
    seen = [*dropwhile(lambda one: one is None, reversed(checks))][::-1]  # up to the last item that is checked
    found = audit.claim.state(seen)
    if found is AuditState.RUNNING and None not in checks:
        found = AuditState.EXHAUSTED
    return replace(
        audit,
        state=found,
        checked=sum(one is not None for one in checks),
        correct=sum(one is True for one in checks),
        accuracy=audit.claim.accuracy(seen),
        finished_at=None if found is AuditState.RUNNING else now,
    )
