"""Say in a job's response how far its labels can be trusted."""

from typing import Any

from app.api.audits.schemas import AccuracyOut, TrustOut
from app.domain.job import Job
from app.policy.quality.audit import AuditState

_GOLD_CONFIDENCE = 0.95  # of the interval that gold gives
_UNVERIFIED = (
    "No label was compared with the truth. On 14 public sets, jobs that asked for 0.95 were right with 0.76 to 0.98. "
    "Add 50 gold items, or begin an audit, to measure how often the labels of this crowd are right."
)
_AS_EARLIER = (
    "No label of this job was compared with the truth. If its crowd is like that of job {job}, about {claimed:.2f} of "
    "the labels are right. Add gold items, or begin an audit, to measure it."
)


def trust_out(job: Job) -> TrustOut:
    """Build `trust` from the job row alone: its latest audit, its gold, or what is expected of an unknown crowd."""
    audit, running = job.audit, ""
    if audit is not None and audit["state"] == AuditState.RUNNING and _is_current(job, audit.get("proven")):
        running = f" Audit {audit['id']} {_FOUND[AuditState.RUNNING].format(**audit)}"
        audit = audit["proven"]
    if audit is None or not audit["checked"]:
        return _by_gold(job) or TrustOut(
            state="unverified", claimed=job.claimed, accuracy=None, by=None, checked=0, message=_UNVERIFIED
        )
    changed = job.label_changes - audit["label_changes"]
    proven = audit["state"] == AuditState.PROVEN
    return TrustOut(
        state="certified" if proven and not changed else "measured",
        claimed=job.claimed,
        accuracy=AccuracyOut(**audit["accuracy"]),
        by="audit",
        checked=audit["checked"],
        message=f"Audit {audit['id']} {_FOUND[audit['state']].format(**audit)}{_since(changed)}{running}",
    )


def _is_current(job: Job, proven: dict[str, Any] | None) -> bool:
    return proven is not None and proven["label_changes"] == job.label_changes


def _by_gold(job: Job) -> TrustOut | None:
    """The accuracy that items of known truth predict for labels of the present confidence; None without both."""
    calibration, claimed = job.calibration, job.claimed
    if calibration is None:
        return None
    found = f"The crowd's label is right on {calibration.right:,} of {calibration.checked:,} items of known truth. "
    if claimed is None:
        if not calibration.checked:
            return None
        message = f"{found}No other item has a label that is sure enough yet."
        return TrustOut(
            state="unverified", claimed=None, accuracy=None, by=None, checked=calibration.checked, message=message
        )
    if not calibration.checked:
        message = _AS_EARLIER.format(job=job.reputation, claimed=claimed)
        return TrustOut(state="unverified", claimed=claimed, accuracy=None, by=None, checked=0, message=message)
    low, high = calibration.interval(claimed)
    return TrustOut(
        state="measured",
        claimed=claimed,
        accuracy=AccuracyOut(estimate=claimed, low=low, high=high, confidence=_GOLD_CONFIDENCE),
        by="gold",
        checked=calibration.checked,
        message=f"{found}By these, about {claimed:.2f} of the labels are right. An audit can prove it.",
    )


_FOUND = {
    AuditState.RUNNING: "is running; items checked so far: {checked:,}.",
    AuditState.PROVEN: "proved that at least {min_accuracy:.4g} of {population:,} labels are right.",
    AuditState.REFUTED: "showed that less than {min_accuracy:.4g} of {population:,} labels are right.",
    AuditState.EXHAUSTED: "checked {checked:,} items, which do not decide whether {min_accuracy:.4g} are right.",
}


def _since(changed: int) -> str:
    return f" Since it began, labels came, changed or went {changed:,} times. Audit the new labels." if changed else ""
