"""The requests that the rule machine makes, as values: so that a model can be asked what should come of them."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Ask:
    worker: str | None
    count: int

    path = "/next"

    @property
    def body(self) -> dict[str, Any]:
        return {"count": self.count} | ({} if self.worker is None else {"worker": self.worker})


@dataclass(frozen=True)
class Answers:
    sent: list[dict[str, Any]]
    bulk: bool

    path = "/answers"

    @property
    def body(self) -> dict[str, Any]:
        return {"answers": self.sent} if self.bulk else self.sent[0]


@dataclass(frozen=True)
class Change:
    verb: str  # extend, release or skip
    assignment: str
    seconds: int | None = None

    @property
    def path(self) -> str:
        return f"/assignments/{self.assignment}/{self.verb}"

    @property
    def body(self) -> dict[str, Any] | None:
        return None if self.seconds is None else {"seconds": self.seconds}


@dataclass(frozen=True)
class AddItems:
    rows: list[dict[str, Any]]

    path = "/items"

    @property
    def body(self) -> list[dict[str, Any]]:
        return self.rows


@dataclass(frozen=True)
class Pause:
    paused: bool

    body = None

    @property
    def path(self) -> str:
        return "/pause" if self.paused else "/resume"


@dataclass(frozen=True)
class Register:
    prices: dict[str, str]

    path = "/workers"

    @property
    def body(self) -> list[dict[str, str]]:
        return [{"worker": worker, "price": price} for worker, price in self.prices.items()]


Call = Ask | Answers | Change | AddItems | Pause | Register
