"""Answers: what a worker said about an item, and what it was worth."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple


class AnswerRecord(NamedTuple):
    """The columns of `page_of_answers`; a record of the driver is read by position, for a million are."""

    answer_id: int
    item: str
    worker: str | None
    label: int
    counts: bool
    answered_at: datetime


class CountedVote(NamedTuple):
    """An answer that counts, as far as arithmetic goes."""

    item_id: int
    worker: str | None
    label: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it is stored, with the verdict that its sender got."""

    answer_id: int
    item_id: int
    worker: str | None
    assignment_id: int | None
    label: int
    cost: Decimal
    late: bool
    counted: bool
    verdict: dict[str, Any]
    answered_at: datetime
    withheld: bool = False  # its worker is blocked, and the vote removed
