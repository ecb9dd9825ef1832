"""A crowd that makes random mistakes, and the responses that it got, to compare with the database."""

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from tests.promises.invariants import broken_invariants
from tests.promises.replay import History, history_of, over_asked, replayed, said_in
from tests.promises.wire import Reply, Wire
from tests.waiting import eventually

Content = str | frozenset[str] | float  # what an answer says, in whatever order its labels were sent
Who = tuple[str, str, str]  # job, item and worker; or job, assignment and nothing, where the worker has no name


@dataclass
class Record:
    """What the service has acknowledged and refused."""

    left: int = 0  # requests to make
    statuses: Counter[int] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    accepted: dict[Who, Content] = field(default_factory=dict)
    first_time: Counter[str] = field(default_factory=Counter)  # per job, answers that were no repetition
    contradicted: list[tuple[Who, Content]] = field(default_factory=list)
    refused: set[Who] = field(default_factory=set)
    given_back: dict[str, set[int]] = field(default_factory=dict)

    def seen(self, reply: Reply) -> Reply:
        self.left -= 1
        self.statuses[reply.status] += 1
        if reply.status != 200:
            self.codes[reply.body["code"]] += 1
        return reply

    def note(self, job: str, sent: dict[str, Any], one: dict[str, Any]) -> None:
        """Keep the result of one answer, alone or from a list."""
        who = who_of(job, sent)
        if not one.get("accepted"):
            code = one.get("error", one)["code"]
            self.codes[f"answer: {code}"] += 1
            if code == "answer-conflict":
                self.contradicted.append((who, content_of(sent)))
            self.refused.add(who)
            return
        content = content_of(sent)
        assert self.accepted.setdefault(who, content) == content, "two different answers were accepted"
        self.first_time[job] += not one["duplicate"]
        self.codes["late"] += one["late"] and not one["duplicate"]


def who_of(job: str, sent: dict[str, Any]) -> Who:
    return (job, sent["item"], sent["worker"]) if sent.get("worker") else (job, sent["assignment"], "")


def content_of(sent: dict[str, Any]) -> Content:
    return frozenset(sent["labels"]) if "labels" in sent else sent["value"] if "value" in sent else sent["label"]


class Client:
    """One of many: asks, answers, dawdles, repeats and contradicts itself, as different workers and on several jobs."""

    def __init__(self, number: int, url: str, jobs: list[dict[str, Any]], record: Record) -> None:
        self.rng = random.Random(number)  # noqa: S311  which request comes next is no secret
        self.wire = Wire(url)
        self.jobs, self.record = jobs, record
        self.held: list[tuple[dict[str, Any], dict[str, Any]]] = []  # job and assignment
        self.answered: list[tuple[dict[str, Any], dict[str, Any]]] = []  # job and what was sent

    async def work(self) -> None:
        moves = [self.ask, self.answer, self.answer_many, self.give_back, self.extend, self.repeat, self.butt_in]
        while self.record.left > 0:
            weights = [30, 40, 4, 6, 3, 6, 5] if self.held else [30, 0, 0, 0, 0, 3, 3]
            [move] = self.rng.choices(moves, weights)
            await move()
        self.wire.hang_up()

    async def post(self, job: dict[str, Any], path: str, body: object = None) -> Reply:
        return self.record.seen(await self.wire.post(f"/v1/jobs/{job['id']}{path}", body))

    async def ask(self) -> None:
        job = self.rng.choice(self.jobs)
        worker = {} if self.rng.random() < 0.1 else {"worker": self.some_worker()}
        reply = await self.post(job, "/next", {"count": self.rng.randint(1, 3)} | worker)
        self.record.codes[reply.body["reason"]["code"]] += 1
        self.held += [(job, one) for one in reply.body["assignments"]]

    async def answer(self) -> None:
        job, one = self.take()
        await self.send(job, self.submission(job, one))

    async def answer_many(self) -> None:
        taken = [self.take() for _ in range(min(len(self.held), 4))]
        job = taken[0][0]
        sent = [self.submission(job, one) for its, one in taken if its is job]
        reply = await self.post(job, "/answers", {"answers": sent})
        for one, result in zip(sent, reply.body["results"], strict=True):
            self.record.note(job["id"], one, result)

    async def give_back(self) -> None:
        job, one = self.take()
        self.record.given_back.setdefault(job["id"], set()).add(int(one["id"]))
        await self.post(job, f"/assignments/{one['id']}/{self.rng.choice(['release', 'skip'])}")

    async def extend(self) -> None:
        job, one = self.rng.choice(self.held)
        await self.post(job, f"/assignments/{one['id']}/extend")

    async def repeat(self) -> None:
        """The same again, or something else under the same name."""
        if self.answered:
            job, sent = self.rng.choice(self.answered)
            await self.send(job, sent | self.rng.choice([{}, self.some_answer(job)]))

    async def butt_in(self) -> None:
        """Answer without having asked."""
        job = self.rng.choice(self.jobs)
        item, worker = f"i{self.rng.randint(1, job['size'])}", self.some_worker()
        await self.send(job, {"item": item, "worker": worker} | self.some_answer(job))

    async def send(self, job: dict[str, Any], sent: dict[str, Any]) -> None:
        reply = await self.post(job, "/answers", sent)
        self.record.note(job["id"], sent, reply.body)
        self.answered.append((job, sent))

    def take(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Mostly what was given last; what lies longest may have expired."""
        return self.held.pop(-1 if self.rng.random() < 0.8 else 0)

    def submission(self, job: dict[str, Any], one: dict[str, Any]) -> dict[str, Any]:
        names = {} if one["worker"] is None else {"item": one["item"], "worker": one["worker"]}
        by_name = names and self.rng.random() < 0.5
        return names | ({} if by_name else {"assignment": one["id"]}) | self.some_answer(job)

    def some_worker(self) -> str:
        return f"w{self.rng.randint(1, 40)}"  # fewer than clients: one worker's requests race with each other

    def some_answer(self, job: dict[str, Any]) -> dict[str, Any]:
        kind, labels = job["answer"]["kind"], job["labels"]
        if kind == "number":
            return {"value": round(self.rng.gauss(50, 5), 3)}
        if kind == "choices":
            return {"labels": self.rng.choice([labels[1:]] * 4 + [[], labels[::-1], labels[:1]])}
        return {"label": self.rng.choice([labels[1]] * 4 + labels)}


async def wait_for_rest(url: str, job: dict[str, Any]) -> None:
    """Wait until every lease is over. No client asks, so it is the service's own sweep that takes them back."""
    wire = Wire(url)

    async def at_rest() -> bool:  # not by the reserved money: assignments of workers whose price is 0 reserve none
        return not (await wire.get(f"/v1/jobs/{job['id']}/assignments?state=live&limit=1")).body["assignments"]

    await eventually(at_rest)
    wire.hang_up()


async def assert_kept(database: AsyncEngine, job: dict[str, Any], record: Record) -> History:
    """At rest, by SQL and by replay: what was acknowledged is there, once, as it was sent, and every sum is right.

    A job that is refitted in the background is not replayed: when a fit took effect, in the midst of a crowd, is luck.
    """
    assert await broken_invariants(database, job["id"], at_rest=True) == {}
    history = await history_of(database, job["id"])
    keys, policy = {item.item_id: item.key for item in history.items}, history.policy
    kept = {}
    for row in history.answers:
        named = (job["id"], keys[row.item_id], row.worker)
        content = content_of({policy.answer.field: policy.answer.content(said_in(row), policy.labels)})
        kept[named if row.worker else (job["id"], str(row.assignment_id), "")] = content
    assert len(kept) == len(history.answers)
    assert {who: content for who, content in record.accepted.items() if who[0] == job["id"]} == kept
    for who, content in record.contradicted:
        assert who[0] != job["id"] or kept[who] != content, "refused for what was there before, which was the same"
    if job["refit"] is None:
        replay = replayed(history)
        assert over_asked(history, replay.wanted, record.given_back.get(job["id"], set())) == []
    return history
