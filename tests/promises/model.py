"""A job in memory that keeps the promises in the plainest way; what the service says is checked against it."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from functools import singledispatchmethod
from itertools import accumulate
from math import ceil
from typing import Any

import httpx

from tests.promises.calls import AddItems, Answers, Ask, Change, Pause, Register
from tests.promises.terms import FIELDS, Content, Terms, Votes

DECISION = {"open": "continue", "resolved": "stop", "given_up": "give_up"}
STATUS = {
    "assignment-unknown": 404,
    "item-unknown": 404,
    "label-unknown": 422,
    "answer-kind": 422,
    "invalid-input": 422,
    "answer-conflict": 409,
    "item-closed": 409,
    "budget-exhausted": 409,
    "lease-expired": 409,
    "assignment-ended": 409,
    "item-conflict": 409,
}


@dataclass
class ModelItem:
    key: str
    payload: Any
    cost: Decimal
    votes: Votes
    state: str = "open"
    result: Any = None  # as the service writes it


@dataclass
class ModelLease:
    number: str
    item: str
    worker: str | None
    cost: Decimal
    expires_at: datetime
    state: str = "live"


@dataclass
class ModelAnswer:
    content: Content
    told: dict[str, Any]


@dataclass
class Model:
    terms: Terms
    now: datetime
    paused: bool = False
    spent: Decimal = Decimal(0)
    items: dict[str, ModelItem] = field(default_factory=dict)
    leases: dict[str, ModelLease] = field(default_factory=dict)
    answers: dict[Any, ModelAnswer] = field(default_factory=dict)  # by (item, worker), or by an unnamed one's lease
    prices: dict[str | None, Decimal] = field(default_factory=dict)
    not_yet_returned: dict[str, Decimal] = field(default_factory=dict)  # expired, and nobody has come by since

    # --- what follows from what is known

    def cost(self, item: ModelItem, worker: str | None) -> Decimal:
        return item.cost * self.prices.get(worker, Decimal(1))

    def live(self) -> list[ModelLease]:
        return [lease for lease in self.leases.values() if lease.state == "live"]

    @property
    def reserved(self) -> Decimal:
        return sum((lease.cost for lease in self.live()), Decimal(0))

    def affords(self, cost: Decimal) -> bool:
        return self.terms.budget is None or self.spent + self.reserved + cost <= self.terms.budget

    def open_assignments(self, key: str) -> int:
        return sum(lease.item == key for lease in self.live())

    def wanted(self, item: ModelItem) -> int:
        return self.terms.wanted(item.votes) if item.state == "open" else 0

    def new_to(self, worker: str | None, key: str) -> bool:
        """Never answered, held or skipped; an unnamed worker is always new."""
        if worker is None:
            return True
        before = self.lease_of(key, worker)
        return (key, worker) not in self.answers and (before is None or before.state not in {"live", "skipped"})

    def lease_of(self, key: str, worker: str | None) -> ModelLease | None:
        found = [lease for lease in self.leases.values() if (lease.item, lease.worker) == (key, worker)]
        return found[0] if found and worker is not None else None

    def allowed(self, worker: str | None) -> list[ModelItem]:
        """What may be given to this worker, whatever it costs."""
        return [
            item
            for item in self.items.values()
            if self.open_assignments(item.key) < self.wanted(item) and self.new_to(worker, item.key)
        ]

    def affordable(self, worker: str | None) -> list[ModelItem]:
        return [item for item in self.allowed(worker) if self.affords(self.cost(item, worker))]

    # --- what happens

    def pass_time(self, now: datetime) -> None:
        self.now = now
        for lease in self.live():
            if lease.expires_at <= now:
                lease.state = "expired"
                self.not_yet_returned[lease.number] = lease.cost

    def everything_returned(self) -> None:
        """A request that changed the job has found what had expired."""
        self.not_yet_returned.clear()

    @singledispatchmethod
    def check(self, call: object, reply: httpx.Response) -> None:
        """The reply is what the promises allow; from now on it is part of what is known."""
        raise NotImplementedError(call)

    @check.register
    def _(self, call: AddItems, reply: httpx.Response) -> None:
        contents: dict[str, tuple[Any, Decimal]] = {item.key: (item.payload, item.cost) for item in self.items.values()}
        for row in call.rows:
            content = (row["payload"], Decimal(row["cost"]))
            if contents.setdefault(row["key"], content) != content:
                assert_refused(reply, "item-conflict")
                return
        fresh = [key for key in contents if key not in self.items]
        for key in fresh:
            self.items[key] = ModelItem(key, *contents[key], self.terms.no_votes)
        assert reply.status_code == 201, reply.text
        said = reply.json()
        assert said == {"added": len(fresh), "unchanged": len(call.rows) - len(fresh), "warnings": said["warnings"]}
        assert [one["code"] for one in said["warnings"]] == ["budget-too-small"] * self._buys_too_little()

    def _buys_too_little(self) -> bool:
        """Whether the budget pays for less than one answer per item, even at the cost of the cheapest."""
        cheapest = min(item.cost for item in self.items.values())
        return self.terms.budget is not None and self.terms.budget < cheapest * len(self.items)

    @check.register
    def _(self, call: Register, reply: httpx.Response) -> None:
        """A new price applies to new assignments; open assignments keep their cost."""
        assert reply.status_code == 200, reply.text
        self.prices |= {worker: Decimal(price) for worker, price in call.prices.items()}

    @check.register
    def _(self, call: Pause, reply: httpx.Response) -> None:
        assert reply.status_code == 200, reply.text
        self.paused = call.paused
        self.check_status(reply.json())

    @check.register
    def _(self, call: Ask, reply: httpx.Response) -> None:
        assert reply.status_code == 200, reply.text
        self.everything_returned()
        said = reply.json()
        if self.paused:
            over = self.items and all(item.state != "open" for item in self.items.values())
            expected = ("stop", "all-resolved") if over else ("wait", "job-paused")
            assert (said["status"], said["reason"]["code"], said["assignments"]) == (*expected, [])
            self._check_waiting(said, reply.headers)
            return
        held = {} if call.worker is None else {one.number: one for one in self.live() if one.worker == call.worker}
        first = min(len(held), call.count)
        assert len(said["assignments"]) <= call.count
        assert {one["id"] for one in said["assignments"][:first]} <= held.keys(), "what is held comes first"
        assert len({one["id"] for one in said["assignments"]}) == len(said["assignments"]) >= first
        assert len({one["item"] for one in said["assignments"]}) == len(said["assignments"]), "an item twice at once"
        for one in said["assignments"][:first]:
            assert_same_lease(one, held[one["id"]])
        for one in said["assignments"][first:]:
            self.give(one, call.worker)
        if len(said["assignments"]) < call.count:
            given = {one["item"] for one in said["assignments"]}  # nobody gets another copy of the same at once
            assert {item.key for item in self.affordable(call.worker)} <= given, "what was allowed was not given"
        assert (said["status"], said["reason"]["code"]) == self._expected_status(call.worker, said["assignments"])
        self._check_waiting(said, reply.headers)

    def give(self, one: dict[str, Any], worker: str | None) -> None:
        item = self.items[one["item"]]
        assert item.state == "open"
        assert self.open_assignments(item.key) < self.wanted(item), "a label was asked for that could not matter"
        assert self.new_to(worker, item.key), "the same item twice to a worker"
        cost = self.cost(item, worker)
        assert self.affords(cost), "over budget"
        before = self.lease_of(item.key, worker)
        if before is None:
            assert one["id"] not in self.leases
        else:
            assert one["id"] == before.number, "a lease is renewed under its own id"
        until = self.now + timedelta(seconds=self.terms.lease_seconds)
        self.leases[one["id"]] = ModelLease(one["id"], item.key, worker, cost, until)
        assert one["payload"] == item.payload
        assert_same_lease(one, self.leases[one["id"]])

    def _expected_status(self, worker: str | None, assignments: list[Any]) -> tuple[str, str]:
        still_open = [item for item in self.items.values() if item.state == "open"]
        if assignments:
            return "continue", "assigned"
        if not self.items:
            return "wait", "no-items"
        if not still_open:
            return "stop", "all-resolved"
        return self._why_no_item(worker, still_open)

    def _why_no_item(self, worker: str | None, still_open: list[ModelItem]) -> tuple[str, str]:
        money = None if self.terms.budget is None else self.terms.budget - self.spent  # if all that is out returned
        cheapest = min(self.cost(item, worker) for item in self.items.values())
        if money is not None and cheapest > money:
            return "stop", "budget-exhausted"
        unseen = [item for item in still_open if self.new_to(worker, item.key)]
        if not unseen:
            return "stop", "worker-has-seen-all"
        payable = [item for item in unseen if money is None or self.cost(item, worker) <= money]
        if not payable:
            return "stop", "budget-exhausted"
        has_room = any(self.open_assignments(item.key) < self.wanted(item) for item in payable)
        return "wait", "budget-reserved" if has_room else "all-leased"

    def _check_waiting(self, said: dict[str, Any], headers: httpx.Headers) -> None:
        """A `wait` says how long, and not longer than until the next lease expires."""
        assert (said["status"] == "wait") == (said["retry_after"] is not None) == ("Retry-After" in headers)
        if said["reason"]["code"] in {"all-leased", "budget-reserved"}:
            soonest = min(lease.expires_at for lease in self.live()) - self.now
            assert 1 <= said["retry_after"] <= max(1, ceil(soonest.total_seconds()))

    @check.register
    def _(self, call: Answers, reply: httpx.Response) -> None:
        expected = [self._answer(sent) for sent in call.sent]
        if not call.bulk and isinstance(expected[0], str):
            assert_refused(reply, expected[0])
            return
        assert reply.status_code == 200, reply.text
        self.everything_returned()
        said = reply.json()["results"] if call.bulk else [reply.json()]
        assert len(said) == len(expected)
        for one, right in zip(said, expected, strict=True):
            if isinstance(right, str):
                assert (one["accepted"], one["error"]["code"], one["error"]["status"]) == (False, right, STATUS[right])
                continue
            known = right.told.setdefault("whole", one)  # what was told first is told again, word for word
            assert one == known | {"duplicate": one["duplicate"]}
            assert {name: one.get(name) for name in right.told["expected"]} == right.told["expected"]
            right.told["expected"] = right.told["expected"] | {"duplicate": True}

    def _answer(self, sent: dict[str, Any]) -> "str | ModelAnswer":
        """The code of the refusal, or the answer as it now stands."""
        lease = self.leases.get(sent["assignment"]) if "assignment" in sent else None
        if "assignment" in sent and lease is None:
            return "assignment-unknown"
        if lease and (sent.get("item", lease.item), sent.get("worker", lease.worker)) != (lease.item, lease.worker):
            return "invalid-input"
        key, worker = (lease.item, lease.worker) if lease else (sent["item"], sent["worker"])
        if key not in self.items:
            return "item-unknown"
        if refusal := self.terms.refusal(sent):
            return refusal
        lease = lease or self.lease_of(key, worker)
        who = (key, worker) if worker is not None else lease.number
        content = self.terms.content(sent)
        if who in self.answers:
            return self.answers[who] if self.answers[who].content == content else "answer-conflict"
        refusal = self._refusal(self.items[key], worker, lease)
        return refusal or self._accept(who, self.items[key], worker, lease, content)

    def _refusal(self, item: ModelItem, worker: str | None, lease: ModelLease | None) -> str | None:
        if lease and lease.state == "live":
            return None
        if item.state != "open":
            return "item-closed"
        return None if self.affords(self.cost(item, worker)) else "budget-exhausted"

    def _accept(
        self, who: object, item: ModelItem, worker: str | None, lease: ModelLease | None, content: Content
    ) -> ModelAnswer:
        leased, late = bool(lease and lease.state == "live"), bool(lease and lease.state == "expired")
        self.spent += lease.cost if lease and leased else self.cost(item, worker)
        if lease:
            lease.state = "answered"
        item.votes = self.terms.with_vote(item.votes, content)
        if item.state == "open":
            item.state, item.result = self.terms.state(item.votes)
        expected = {"item": item.key, "worker": worker, "accepted": True, "duplicate": False, "late": late}
        expected |= {"counted": True, "verdict": DECISION[item.state]} | self._fields_of(item)
        self.answers[who] = ModelAnswer(content, {"expected": expected})
        return self.answers[who]

    def _fields_of(self, item: ModelItem) -> dict[str, Any]:
        """The fields of an item's result: one of the job's kind, and null for the others."""
        return dict.fromkeys(FIELDS) | {self.terms.field: item.result}

    @check.register
    def _(self, call: Change, reply: httpx.Response) -> None:
        lease = self.leases.get(call.assignment)
        refusal = self._change_refusal(call.verb, lease)
        if refusal or lease is None:
            assert_refused(reply, refusal)
            return
        assert reply.status_code == 200, reply.text
        self.everything_returned()
        if call.verb == "extend":
            lease.expires_at = self.now + timedelta(seconds=call.seconds or self.terms.lease_seconds)
        else:
            lease.state = {"release": "released", "skip": "skipped"}[call.verb]
        assert reply.json()["state"] == lease.state
        assert_same_lease(reply.json(), lease)

    @staticmethod
    def _change_refusal(verb: str, lease: ModelLease | None) -> str | None:
        if lease is None:
            return "assignment-unknown"
        if verb != "extend":
            return "assignment-ended" if lease.state == "answered" else None
        return {"live": None, "expired": "lease-expired"}.get(lease.state, "assignment-ended")

    # --- what can be read

    def check_status(self, said: dict[str, Any]) -> None:
        """Money to the cent; what has just expired may be still reserved until somebody comes by."""
        states = [item.state for item in self.items.values()]
        assert Decimal(said["spent"]) == self.spent
        newest_first = list(self.not_yet_returned.values())[::-1]
        assert Decimal(said["reserved"]) in set(accumulate(newest_first, initial=self.reserved))
        if self.terms.budget is None:
            assert said["remaining"] is None
        else:
            spoken_for = Decimal(said["spent"]) + Decimal(said["reserved"])
            assert Decimal(said["remaining"]) == self.terms.budget - spoken_for >= 0
        assert said["answers"] == len(self.answers)
        assert said["items"] == {state: states.count(state) for state in ("open", "resolved", "given_up")}
        assert said["state"] in self._expected_states()
        assert 0 <= said["completeness"] <= 1

    def _expected_states(self) -> set[str]:
        """One state, or two while an expired lease may not have been returned yet."""
        still_open = [item.cost for item in self.items.values() if item.state == "open"]
        if self.items and not still_open:
            return {"done"}
        if self.paused:
            return {"paused"}
        if not still_open or self.terms.budget is None or self.live():
            return {"running"}
        cheapest = min(still_open) * min([Decimal(1), *self.prices.values()])
        if cheapest <= self.terms.budget - self.spent:
            return {"running"}
        return {"running", "exhausted"} if self.not_yet_returned else {"exhausted"}

    def check_items(self, said: list[dict[str, Any]]) -> None:
        assert [one["key"] for one in said] == list(self.items)
        for one in said:
            item = self.items[one["key"]]
            assert tuple(one["votes"].values()) == self.terms.named(item.votes)
            assert one["state"] == item.state
            if item.state != "open" or self.terms.field != "value":  # an estimate is shown as soon as there is one
                assert {name: one.get(name) for name in FIELDS} == self._fields_of(item)
            assert one["verdict"] == DECISION[item.state]
            assert one["max_open_assignments"] == self.wanted(item)
            expired = sum(self.leases[number].item == item.key for number in self.not_yet_returned)
            assert 0 <= one["open_assignments"] - self.open_assignments(item.key) <= expired

    def check_assignments(self, said: list[dict[str, Any]]) -> None:
        assert {one["id"] for one in said} == self.leases.keys()
        for one in said:
            lease = self.leases[one["id"]]
            assert_same_lease(one, lease)
            assert one["state"] == lease.state or (one["state"] == "live" and one["id"] in self.not_yet_returned)

    def check_results(self, said: list[dict[str, Any]]) -> None:
        assert [(one["item"], one["state"]) for one in said] == [(i.key, i.state) for i in self.items.values()]


def assert_refused(reply: httpx.Response, code: str | None) -> None:
    assert code is not None
    assert (reply.status_code, reply.json()["code"]) == (STATUS[code], code), reply.text
    assert reply.headers["content-type"] == "application/problem+json"


def assert_same_lease(one: dict[str, Any], lease: ModelLease) -> None:
    assert (one["id"], one["item"], one["worker"]) == (lease.number, lease.item, lease.worker)
    assert Decimal(one["cost"]) == lease.cost
    assert datetime.fromisoformat(one["expires_at"]) == lease.expires_at
