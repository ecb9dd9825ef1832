"""Say in a job's response how far its labels can be trusted."""

from app.api.audits.schemas import AccuracyOut, TrustOut
from app.domain.job import Job
from app.policy.quality.audit import AuditState


def trust_out(job: Job) -> TrustOut:
    """Build `trust` from the job row alone: its latest audit, or nothing."""
    audit = job.audit
    if audit is None or not audit["checked"]:
        message = "No label was compared with the truth. Begin an audit to measure how often labels are right."
        return TrustOut(state="unverified", claimed=job.claimed, accuracy=None, by=None, checked=0, message=message)
    changed = job.label_changes - audit["label_changes"]
    proven = audit["state"] == AuditState.PROVEN
    return TrustOut(
        state="certified" if proven and not changed else "measured",
        claimed=job.claimed,
        accuracy=AccuracyOut(**audit["accuracy"]),
        by="audit",
        checked=audit["checked"],
        message=f"Audit {audit['id']} {_FOUND[audit['state']].format(**audit)}{_since(changed)}",
    )


_FOUND = {
    AuditState.RUNNING: "is running: {checked:,} items are checked.",
    AuditState.PROVEN: "proved that at least {min_accuracy:.4g} of {population:,} labels are right.",
    AuditState.REFUTED: "showed that less than {min_accuracy:.4g} of {population:,} labels are right.",
    AuditState.EXHAUSTED: "checked {checked:,} items, which do not decide whether {min_accuracy:.4g} are right.",
}


def _since(changed: int) -> str:
    return f" Since it began, labels came, changed or went {changed:,} times. Audit the new labels." if changed else ""
