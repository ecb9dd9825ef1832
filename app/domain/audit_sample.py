"""Audits: truth about a random sample of a job's labels, and what it shows."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.policy.quality.audit import AuditState, Claim, MeasuredAccuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """A claim about the labels that a job had at one moment, and what the checked ones among them show."""

    audit_id: int
    state: AuditState = AuditState.RUNNING
    min_accuracy: float
    confidence: float
    max_items: int
    population: int
    digest: str  # of the population's items and labels when the audit began
    label_changes: int  # of the job, when the audit began
    checked: int = 0
    correct: int = 0
    accuracy: MeasuredAccuracy | None = None
    created_at: datetime
    finished_at: datetime | None = None

    @property
    def claim(self) -> Claim:
        return Claim(self.min_accuracy, self.confidence, self.population)

    @property
    def sample(self) -> int:
        """The largest number of items that this audit checks."""
        return min(self.max_items, self.population)

    def summary(self, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """What the job row keeps of its latest audit, so that reading a job needs no other row.

        `before` is what the row kept until now: a proven claim of an earlier audit stays in force while this one runs.
        """
        earlier = None if before is None else before if before["state"] == AuditState.PROVEN else before.get("proven")
        proven = {name: value for name, value in (earlier or {}).items() if name != "proven"}
        return {
            "id": self.audit_id,
            "state": self.state,
            "min_accuracy": self.min_accuracy,
            "confidence": self.confidence,
            "population": self.population,
            "label_changes": self.label_changes,
            "checked": self.checked,
            "accuracy": None if self.accuracy is None else asdict(self.accuracy),
            "proven": proven or None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditItem:
    """One item of an audit's sample, with its label when the audit began and the truth, if it is known."""

    position: int
    item_id: int
    key: str
    payload: Any
    label: int
    answer: int | None
    worker: str | None
    answered_at: datetime | None


def measured(stored: Mapping[str, float] | None) -> MeasuredAccuracy | None:
    return None if stored is None else MeasuredAccuracy(**stored)
