"""The decision about an item, its label, and the reason for it."""

from dataclasses import dataclass
from enum import StrEnum


class Decision(StrEnum):
    CONTINUE = "continue"
    STOP = "stop"
    GIVE_UP = "give_up"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something was decided: a code for machines, a sentence for people."""

    code: str
    message: str

    def as_json(self) -> dict[str, str]:
        return {"code": self.code, "message": self.message}


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about an item: ask on, stop with a label, or give up. Labels are positions in the job's list."""

    decision: Decision
    reason: Reason
    label: int | None = None
