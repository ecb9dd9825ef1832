"""Workers: what they charge, what their answers have shown, and whether they get work."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from typing import Any


class WorkerStatus(StrEnum):
    """Whether a worker gets work."""

    ACTIVE = "active"
    LOW_INFORMATION = "low-information"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of a job. The price of an unregistered worker is 1: an answer costs what the item costs."""

    skill: Sequence[float] | None = None
    price: Decimal = Decimal(1)
    block: Mapping[str, Any] | None = None  # reason, evidence and time; None if not blocked
    scored_answers: int = 0
    agreed_answers: int = 0
    gold_asked: int = 0
    carried: Sequence[float] | None = None  # the skill that was copied from another job
    low_information: Mapping[str, Any] | None = None  # why the last refit gives the worker no new work, and since when
    trusted: bool = False  # answers in audits are truth
    stated_accuracy: float | None = None  # as a requester knows it beforehand ...
    stated_weight: float | None = None  # ... and how many checked answers that is worth

    @property
    def gets_work(self) -> bool:
        """Whether this worker can get new work."""
        return self.block is None and self.low_information is None


UNKNOWN_WORKER = Worker()


@dataclass(frozen=True, slots=True)
class OfTier:
    """Who gave an answer that came with a tier: all that counts about that worker, named or not."""

    tier: str


Voter = str | OfTier | None  # by whom an answer is learned; None: an unnamed worker, who is taken for a new one


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a requester states about a worker; a field that is None stays unchanged."""

    worker: str
    price: Decimal | None = None
    tier: str | None = None
    skill: Sequence[float] | None = None  # the skill of the tier, or after a statement about the accuracy
    accuracy: float | None = None  # by that skill
    stated_accuracy: float | None = None
    stated_weight: float | None = None
    trusted: bool | None = None


class WorkerSortKey(StrEnum):
    NAME = "name"
    SKILL = "skill"
    ANSWERS = "answers"
    AGREEMENT = "agreement"
    SECONDS = "seconds"
    PRICE = "price"
    COPYING_PROBABILITY = "copying_probability"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRecord:
    """Everything that is known about a worker."""

    worker: str
    skill: Sequence[float] | None
    price: Decimal
    registered: bool
    tier: str | None
    answers: int
    scored_answers: int
    agreed_answers: int
    gold_asked: int
    gold_right: int
    median_seconds: float | None
    status: WorkerStatus
    block: Mapping[str, Any] | None
    low_information: Mapping[str, Any] | None
    recount: bool
    copying_probability: float | None
    trusted: bool
    stated_accuracy: float | None
    stated_weight: float | None


@dataclass(frozen=True, slots=True)
class WorkerOrder:
    """How workers are sorted. Equal values are sorted by name; missing values come last in both directions."""

    key: WorkerSortKey = WorkerSortKey.NAME
    descending: bool = False


SortValue = float | int | Decimal
WorkerPosition = tuple[SortValue | None, str]  # where a worker is in a sorted list: the value sorted by, and the name
