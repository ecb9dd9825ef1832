"""Assignments: who holds which item, until when, and why."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any


class AssignmentState(StrEnum):
    """Whether an assignment is live, or how it ended."""

    LIVE = "live"
    ANSWERED = "answered"
    EXPIRED = "expired"
    RELEASED = "released"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """An item that a worker holds until its lease expires, and the money that is reserved for it."""

    assignment_id: int
    item_id: int
    worker: str | None
    state: AssignmentState
    cost: Decimal
    leased_at: datetime
    expires_at: datetime
    why: dict[str, Any]
    tier: str | None = None  # that the request for work came with
    audit_id: int | None = None  # the audit that the answer belongs to; None: it is a vote


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldAssignment:
    """An assignment with the key and the payload of its item, for the worker."""

    assignment: Assignment
    key: str
    payload: Any
