"""Items: what is labeled, and what has been decided about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from math import log1p
from typing import Any, Protocol

from app.policy.core.decision import Decision, Reason


class ItemState(StrEnum):
    """Whether an item takes more answers."""

    OPEN = "open"
    RESOLVED = "resolved"
    GIVEN_UP = "given_up"


STATE_AFTER = {
    Decision.CONTINUE: ItemState.OPEN,
    Decision.STOP: ItemState.RESOLVED,
    Decision.GIVE_UP: ItemState.GIVEN_UP,
}
DECISION_OF = {state: decision for decision, state in STATE_AFTER.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemContent:
    """What the requester said about an item; classes are positions in the job's labels."""

    payload: Any
    cost: Decimal
    gold: int | None
    prior: Sequence[float] | None
    features: Sequence[float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemDecision:
    """The votes of an item so far, and the decision that follows from them.

    The engine's `Verdict` is the part that a response shows in words: decision, label and reason.
    """

    state: ItemState
    votes: Sequence[int]
    model_state: Sequence[float]
    tier: int  # items of a lower tier are asked first ...
    priority: float  # ... and within a tier those of higher priority
    max_open_assignments: int
    label: int | None
    confidence: float
    progress: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What changes of decisions add to a job's counters of its labels."""

    labeled: int = 0
    label_changes: int = 0
    confidence_sum: float = 0.0
    dissent_sum: float = 0.0

    def after(self, before: ItemDecision | None, now: ItemDecision) -> "LabelCounts":
        """Add the change of one item, which is new if there is nothing before it."""
        old = None if before is None else before.label
        added, removed = _confidence_and_dissent(now), _confidence_and_dissent(before)
        return LabelCounts(
            self.labeled + (now.label is not None) - (old is not None),
            self.label_changes + (now.label != old),
            self.confidence_sum + added[0] - removed[0],
            self.dissent_sum + added[1] - removed[1],
        )


def _confidence_and_dissent(decision: ItemDecision | None) -> tuple[float, float]:
    """The confidence of an item's label, and log(1 + answers against it); zeros where it has none."""
    if decision is None or decision.label is None:
        return 0.0, 0.0
    return decision.confidence, log1p(sum(decision.votes) - decision.votes[decision.label])


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item with its payload and its decision."""

    item_id: int
    key: str
    tie_break: int
    payload: Any
    cost: Decimal
    gold: int | None
    promoted: bool
    prior: Sequence[float] | None
    prior_answered: bool = False  # by its source, so that it no longer counts
    open_assignments: int
    scored: int = 0  # the last answer that was compared with a label
    decision: ItemDecision

    @property
    def opinion(self) -> Sequence[float] | None:
        """The prior, if it counts."""
        return None if self.prior_answered else self.prior


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """The fields of an item that judging needs. Key and payload are left out because they may be large."""

    item_id: int
    cost: Decimal
    gold: int | None
    promoted: bool
    prior: Sequence[float] | None
    prior_answered: bool
    open_assignments: int
    decision: ItemDecision

    @property
    def opinion(self) -> Sequence[float] | None:
        """The prior, if it counts."""
        return None if self.prior_answered else self.prior


class HasDecision(Protocol):
    """An item, or the part of it that judging needs."""

    @property
    def item_id(self) -> int: ...

    @property
    def open_assignments(self) -> int: ...

    @property
    def decision(self) -> ItemDecision: ...
