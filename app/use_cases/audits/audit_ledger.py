"""Answers of trusted workers that a transaction adds to audits, beside the votes that it records."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.assignment import Assignment
from app.domain.audit_sample import Audit
from app.domain.job import Job
from app.errors import ItemClosed, LeaseExpired
from app.policy.quality.audit import AuditState
from app.store.audits import audit_items_by_number, find_audit
from app.use_cases.audits.checking import record_checks

AuditedItem = tuple[int, int]  # audit and item


@dataclass
class AuditLedger:
    """The audits that assignments of this transaction belong to, which items are checked, and the new answers."""

    audits: dict[int, Audit] = field(default_factory=dict)
    checked: set[AuditedItem] = field(default_factory=set)
    new: dict[AuditedItem, tuple[int, str | None]] = field(default_factory=dict)

    def refuse_if_checked(self, assignment: Assignment, key: str) -> None:
        """Refuse a late answer that the audit can no longer use, so that nobody pays for it."""
        assert assignment.audit_id is not None  # noqa: S101
        if self.audits[assignment.audit_id].state is not AuditState.RUNNING:
            raise LeaseExpired(f"The assignment of {key!r} has ended, and so has its audit. Ask `next` for other work.")
        if (assignment.audit_id, assignment.item_id) in self.checked:
            raise ItemClosed(f"Item {key!r} was checked by someone else after its lease ended.")

    def check(self, assignment: Assignment, label: int, worker: str | None) -> bool:
        """Add the truth about an item; False if its audit is decided or the item was checked by hand meanwhile."""
        assert assignment.audit_id is not None  # noqa: S101
        place = (assignment.audit_id, assignment.item_id)
        if self.audits[assignment.audit_id].state is not AuditState.RUNNING or place in self.checked:
            return False
        self.checked.add(place)
        self.new[place] = (label, worker)
        return True


async def open_audits(connection: AsyncConnection, job: Job, assignments: Sequence[Assignment]) -> AuditLedger:
    """Load the audits of these assignments; most transactions have none."""
    ledger = AuditLedger()
    for number in {one.audit_id for one in assignments if one.audit_id is not None}:
        audit = await find_audit(connection, job.job_id, number)
        assert audit is not None  # noqa: S101  audits are deleted with their job only
        ids = [one.item_id for one in assignments if one.audit_id == number]
        found = await audit_items_by_number(connection, job.job_id, number, ids)
        ledger.audits[number] = audit
        ledger.checked |= {(number, item_id) for item_id, item in found.items() if item.answer is not None}
    return ledger


async def write_checks(connection: AsyncConnection, job: Job, ledger: AuditLedger, now: datetime) -> Job:
    """Write the new answers of audits, and decide what they show."""
    for number in {number for number, _ in ledger.new}:
        answers = [(item, *said) for (audit, item), said in ledger.new.items() if audit == number]
        job, _ = await record_checks(connection, job, ledger.audits[number], answers, now)
    return job
