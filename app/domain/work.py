"""Requests for work, and what the service answers to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.domain.assignment import HeldAssignment
from app.policy.core.decision import Reason


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """A request for `count` assignments, by one worker, who may be unnamed, or by several workers together."""

    worker: str | None
    count: int
    workers: tuple[str, ...] | None = None  # one of them is chosen for each assignment
    ignore_held: bool = False  # assignments that these workers hold do not count towards `count`
    tier: str | None = None  # of the worker who asks; None: the registered one


@dataclass(frozen=True, slots=True)
class NextWork:
    """What a worker should do: these assignments, or wait, or stop."""

    status: Literal["continue", "wait", "stop"]
    reason: Reason
    held: Sequence[HeldAssignment] = ()
    retry_after: int | None = None  # seconds
