"""The words that every layer shares: states, decisions and the reasons that go with them."""

import decimal
from dataclasses import dataclass
from enum import StrEnum

# Money is exact: a cost times a price may have 36 digits, and sums have more.
decimal.DefaultContext.prec = 100
decimal.setcontext(decimal.Context(prec=100))


class ItemState(StrEnum):
    OPEN = "open"
    RESOLVED = "resolved"
    GIVEN_UP = "given_up"


class JobState(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"


class AssignmentState(StrEnum):
    LIVE = "live"
    ANSWERED = "answered"
    EXPIRED = "expired"
    RELEASED = "released"
    SKIPPED = "skipped"


class Decision(StrEnum):
    CONTINUE = "continue"
    STOP = "stop"
    GIVE_UP = "give_up"


STATE_AFTER = {
    Decision.CONTINUE: ItemState.OPEN,
    Decision.STOP: ItemState.RESOLVED,
    Decision.GIVE_UP: ItemState.GIVEN_UP,
}
DECISION_OF = {state: decision for decision, state in STATE_AFTER.items()}


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was decided: a code for machines, a sentence for people."""

    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of an item: ask on, stop with a label, or give up. Labels are positions in the job's list."""

    decision: Decision
    reason: Reason
    label: int | None = None

    @classmethod
    def go_on(cls, reason: Reason) -> "Verdict":
        return cls(Decision.CONTINUE, reason)

    @classmethod
    def stop(cls, label: int, reason: Reason) -> "Verdict":
        return cls(Decision.STOP, reason, label)

    @classmethod
    def give_up(cls, reason: Reason) -> "Verdict":
        return cls(Decision.GIVE_UP, reason)
