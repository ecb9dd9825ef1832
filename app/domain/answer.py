"""Answers: what a worker said about an item, what it cost, and whether it counts."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple

from app.domain.worker import OfTier, Voter
from app.policy.answers import Said


class AnswerRecord(NamedTuple):
    """The columns of `page_of_answers`. The driver's records are read by position, which is faster for millions."""

    answer_id: int
    item: str
    worker: str | None
    said: Said
    counts: bool
    answered_at: datetime
    tier: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFilter:
    """Which answers of a job a list has; None: whichever."""

    worker: str | None = None
    item_id: int | None = None
    since: datetime | None = None  # recorded at this time or later
    until: datetime | None = None  # recorded before this time


ALL_ANSWERS = AnswerFilter()


class CountedVote(NamedTuple):
    """The fields of a counted answer that a worker model learns from."""

    item_id: int
    voter: Voter
    said: Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer as it is stored, with the verdict that its sender got."""

    answer_id: int
    item_id: int
    worker: str | None
    assignment_id: int | None
    said: Said
    cost: Decimal
    late: bool
    counted: bool
    verdict: dict[str, Any]
    answered_at: datetime
    tier: str | None = None  # with which the answer came; None: that of its worker
    withheld: bool = False  # the worker is blocked and the vote no longer counts

    @property
    def voter(self) -> Voter:
        return voter_of(self.worker, self.tier)


def voter_of(worker: str | None, tier: str | None) -> Voter:
    """Return by whom an answer of this worker, which came with this tier, is learned."""
    return worker if tier is None else OfTier(tier)
