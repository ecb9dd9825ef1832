"""Items: what is labeled, and what has been decided about it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from math import log1p
from typing import Any, Protocol

from app.policy.answers import AnswerKind
from app.policy.core.decision import Decision, Reason

CROWD_CANNOT_REACH = "crowd-cannot-reach"  # the reason code of an item that is given up, and of who is asked instead
SETTLED = "settled-by-trusted"  # the reason code of an item whose label a trusted worker gave instead of the crowd


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
    gold_value: float | None = None  # where answers are numbers; `gold` is 0 then
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

    @property
    def is_unsettled(self) -> bool:
        """Whether the crowd has given the item up, so that a trusted worker may settle it."""
        return self.state is ItemState.GIVEN_UP and self.reason.code == CROWD_CANNOT_REACH

    @property
    def is_settled(self) -> bool:
        """Whether a trusted worker gave the label, which then stays whatever else is learned."""
        return self.reason.code == SETTLED

    def settled(self, label: int) -> "ItemDecision":
        """Return the decision after a trusted worker has given the label."""
        return replace(
            self,
            state=ItemState.RESOLVED,
            max_open_assignments=0,
            label=label,
            confidence=1.0,
            progress=1.0,
            reason=Reason(
                SETTLED, "A trusted worker gave this label, because the crowd could not make it sure enough."
            ),
        )


@dataclass(frozen=True, slots=True)
class LabelCounts:
    """What changes of decisions add to a job's counters of its labels.

    A label that a trusted worker gave is not counted. These counters are about the crowd's labels, and settled items
    are a selection of the hardest: they would bias what the job claims and what its audits measure.
    """

    labeled: int = 0
    label_changes: int = 0
    confidence_sum: float = 0.0
    dissent_sum: float = 0.0

    def after(self, before: ItemDecision | None, now: ItemDecision, answer: AnswerKind) -> "LabelCounts":
        """Add the change of one item in a job with answers of this kind; it is new if there is nothing before it."""
        old, new = _label_of_crowd(before), _label_of_crowd(now)
        added, removed = _confidence_and_dissent(now, answer), _confidence_and_dissent(before, answer)
        return LabelCounts(
            self.labeled + (new is not None) - (old is not None),
            self.label_changes + (new != old),
            self.confidence_sum + added[0] - removed[0],
            self.dissent_sum + added[1] - removed[1],
        )


def _confidence_and_dissent(decision: ItemDecision | None, answer: AnswerKind) -> tuple[float, float]:
    """The confidence of the crowd's label, and log(1 + answers against it); zeros where there is none."""
    label = _label_of_crowd(decision)
    if decision is None or label is None:
        return 0.0, 0.0
    return decision.confidence, log1p(answer.dissent(decision.votes, label))


def _label_of_crowd(decision: ItemDecision | None) -> int | None:
    return None if decision is None or decision.is_settled else decision.label


ItemOpinions = tuple[Sequence[float] | None, ...]  # of each of the job's sources, in their order; empty: of none
NO_OPINIONS: ItemOpinions = ()


class HasOpinions(Protocol):
    """What sources said about an item."""

    @property
    def prior(self) -> Sequence[float] | None: ...

    @property
    def prior_answered(self) -> bool: ...

    @property
    def feature_opinion(self) -> Sequence[float] | None: ...


def counted_opinions(item: HasOpinions) -> ItemOpinions:
    """The opinions about an item that count: its prior, unless its source has answered, and that of its features."""
    prior = None if item.prior_answered else item.prior
    if item.feature_opinion is not None:
        return prior, item.feature_opinion
    return NO_OPINIONS if prior is None else (prior,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """An item with its payload and its decision."""

    item_id: int
    key: str
    tie_break: int
    payload: Any
    cost: Decimal
    gold: int | None
    gold_value: float | None = None  # where answers are numbers; `gold` is 0 then
    promoted: bool
    prior: Sequence[float] | None
    prior_answered: bool = False  # by its source, so that it no longer counts
    feature_opinion: Sequence[float] | None = None
    open_assignments: int
    scored: int = 0  # the last answer that was compared with a label
    joined: float = 0.0  # when the item joined the job, by the clock of `random`
    decision: ItemDecision

    @property
    def opinions(self) -> ItemOpinions:
        return counted_opinions(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemRow:
    """The fields of an item that judging needs. Key and payload are left out because they may be large."""

    item_id: int
    cost: Decimal
    gold: int | None
    gold_value: float | None
    promoted: bool
    prior: Sequence[float] | None
    prior_answered: bool
    feature_opinion: Sequence[float] | None
    open_assignments: int
    joined: float
    decision: ItemDecision

    @property
    def opinions(self) -> ItemOpinions:
        return counted_opinions(self)


class HasState(Protocol):
    """What is kept of an item's answers."""

    @property
    def votes(self) -> Sequence[int]: ...

    @property
    def model_state(self) -> Sequence[float] | None: ...


class HasDecision(Protocol):
    """An item, or the part of it that judging needs."""

    @property
    def item_id(self) -> int: ...

    @property
    def open_assignments(self) -> int: ...

    @property
    def decision(self) -> ItemDecision: ...
