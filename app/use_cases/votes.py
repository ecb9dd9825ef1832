"""Understand what was sent: whose vote it is, on which item, under which lease."""

from dataclasses import dataclass
from decimal import Decimal

from app.domain import AssignmentState
from app.errors import AssignmentUnknown, FieldError, InvalidInput, ItemUnknown, LabelUnknown
from app.store.assignments import Lease
from app.store.items import Item
from app.use_cases.answer_ledger import Ledger, Submission, Who


@dataclass(frozen=True)
class Vote:
    """A submission that has been understood."""

    item: Item
    worker: str | None
    lease: Lease | None
    label: int
    price: Decimal

    @property
    def who(self) -> Who:
        """What tells this vote from others."""
        if self.worker is not None:
            return self.item.item_id, self.worker
        assert self.lease is not None  # noqa: S101  an unnamed worker answers under an assignment only
        return self.lease.assignment_id

    @property
    def leased(self) -> bool:
        return self.lease is not None and self.lease.state is AssignmentState.LIVE

    @property
    def late(self) -> bool:
        return self.lease is not None and self.lease.state is AssignmentState.EXPIRED

    @property
    def cost(self) -> Decimal:
        return self.lease.cost if self.lease is not None and self.leased else self.item.cost * self.price


def understand(ledger: Ledger, submission: Submission) -> Vote:
    item, worker, lease = _locate(ledger, submission)
    labels = ledger.job.rules.labels
    if submission.label not in labels:
        choices = ", ".join(repr(label) for label in labels[:20])
        raise LabelUnknown(
            f"{submission.label!r} is not a label of this job",
            errors=(FieldError(f"{submission.pointer}/label", f"Must be one of {choices}"),),
        )
    return Vote(item, worker, lease, labels.index(submission.label), ledger.price_of(worker))


def _locate(ledger: Ledger, submission: Submission) -> tuple[Item, str | None, Lease | None]:
    if submission.assignment is not None:
        lease = ledger.leases.get(submission.number or 0)
        if lease is None:
            raise AssignmentUnknown(
                f"The job has no assignment {submission.assignment!r}",
                errors=(FieldError(f"{submission.pointer}/assignment", "Must be the id of an assignment of this job"),),
            )
        _refuse_other_names(submission, ledger.items[lease.item_id], lease)
        return ledger.items[lease.item_id], lease.worker, lease
    item_id = ledger.item_ids.get(submission.item or "")
    if item_id is None:
        raise ItemUnknown(
            f"The job has no item {submission.item!r}",
            errors=(FieldError(f"{submission.pointer}/item", "Must be the key of an item of this job"),),
        )
    return ledger.items[item_id], submission.worker, ledger.leases_of.get((item_id, submission.worker))


def _refuse_other_names(submission: Submission, item: Item, lease: Lease) -> None:
    """Item and worker may be named beside the assignment, but then they must be its own."""
    for name, said, actual in (("item", submission.item, item.key), ("worker", submission.worker, lease.worker)):
        if said is not None and said != actual:
            raise InvalidInput(
                f"Assignment {submission.assignment!r} is not of {name} {said!r}",
                errors=(FieldError(f"{submission.pointer}/{name}", f"Must be {actual!r}, or left out"),),
            )
