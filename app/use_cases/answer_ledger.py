"""What a transaction that records answers has read, and what it will write back."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState
from app.policy.belief import Array
from app.store.answers import Answer, answers_by_assignment, answers_by_pair, answers_on_items, insert_answers
from app.store.assignments import Lease, leases_by_number, leases_by_pair, mark_answered
from app.store.items import Item, demote_items, load_items, promote_items, save_standings
from app.store.jobs import Job
from app.store.worker_counts import Score, Tally, hold_votes_to_labels, save_tallies
from app.store.workers import STRANGER, Worker, load_workers
from app.use_cases.skills import accuracies

_LONGEST_NUMBER = 18  # digits that fit a bigint

Who = tuple[int, str] | int  # item and worker; the assignment where the worker is unnamed


@dataclass(frozen=True)
class Submission:
    """A vote as it was sent: under an assignment, or for an item by a worker."""

    label: str
    assignment: str | None = None
    item: str | None = None
    worker: str | None = None
    pointer: str = "#"

    @property
    def number(self) -> int | None:
        return number_in(self.assignment or "")


def number_in(name: str) -> int | None:
    """The number that an assignment's id stands for; None where it can be nobody's."""
    return int(name) if name.isascii() and name.isdecimal() and len(name) <= _LONGEST_NUMBER else None


@dataclass
class Ledger:
    job: Job
    now: datetime
    items: dict[int, Item]
    leases: dict[int, Lease]
    answers: dict[Who, Answer]
    workers: Mapping[str, Worker]
    skills: dict[str, Array] = field(default_factory=dict)  # as the answers of this transaction have changed them
    tallies: dict[str, Tally] = field(default_factory=dict)
    changed_items: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)  # assignments
    new: list[Answer] = field(default_factory=list)
    promoted: set[int] = field(default_factory=set)  # items that the crowd has made gold ...
    demoted: set[int] = field(default_factory=set)  # ... and those that it was wrong about

    def __post_init__(self) -> None:
        job = self.job
        # Plain numbers while votes are counted: a job is too large to be copied for each of them.
        self.spent, self.reserved, self.given = job.spent, job.reserved, job.answers
        self.resolved, self.given_up, self.progress = job.resolved, job.given_up, job.progress
        self.item_ids = {row.key: row.item_id for row in self.items.values()}
        self.answers_on: dict[int, list[Answer]] = {}
        for answer in self.answers.values():
            self.answers_on.setdefault(answer.item_id, []).append(answer)
        self.newcomer = self.job.engine.newcomer()
        self.leases_of = {(lease.item_id, lease.worker): lease for lease in self.leases.values()}

    @property
    def remaining(self) -> Decimal | None:
        """What may still be spent; None is unlimited."""
        return None if self.job.budget is None else self.job.budget - self.spent - self.reserved

    def balanced(self) -> Job:
        """The job with its money and counters as they are now."""
        return replace(
            self.job,
            spent=self.spent,
            reserved=self.reserved,
            answers=self.given,
            resolved=self.resolved,
            given_up=self.given_up,
            progress=self.progress,
            gold_items=self.job.gold_items + len(self.promoted) - len(self.demoted),
        )

    def item_of(self, submission: Submission) -> int | None:
        """The item that a submission is about, if there is one."""
        if submission.assignment is None:
            return self.item_ids.get(submission.item or "")
        lease = self.leases.get(submission.number or 0)
        return None if lease is None else lease.item_id

    def skill_of(self, worker: str | None) -> Array:
        """What is known of a worker, shape (parameters,)."""
        if worker in self.skills:
            return self.skills[worker]
        known = self.workers.get(worker or "", STRANGER).skill
        return self.newcomer if known is None else np.array(known)

    def price_of(self, worker: str | None) -> Decimal:
        return self.workers.get(worker or "", STRANGER).price

    def learn_skill(self, worker: str | None, skill: Array) -> None:
        if worker is not None and skill.size:
            self.skills[worker] = skill

    def tally_of(self, worker: str) -> Tally:
        return self.tallies.setdefault(worker, Tally(worker))

    def votes_on(self, item_id: int) -> Sequence[Answer]:
        return self.answers_on.get(item_id, ())

    def add(self, answer: Answer) -> None:
        self.answers[who_gave(answer)] = answer
        self.answers_on.setdefault(answer.item_id, []).append(answer)
        self.new.append(answer)


async def open_ledger(
    connection: AsyncConnection, job: Job, submissions: Sequence[Submission], now: datetime
) -> Ledger:
    """Load what these submissions touch, in a fixed number of queries."""
    numbers = {number for submission in submissions if (number := submission.number) is not None}
    leases = await leases_by_number(connection, job.job_id, numbers) if numbers else []
    keys = {submission.item for submission in submissions if submission.item is not None}
    items = await load_items(connection, job.job_id, keys=keys, item_ids={lease.item_id for lease in leases})
    ids = {row.key: row.item_id for row in items}
    pairs = {(ids[sent.item], sent.worker) for sent in submissions if sent.item in ids and sent.worker is not None}
    pairs |= {(lease.item_id, lease.worker) for lease in leases if lease.worker is not None}
    leases += await leases_by_pair(connection, job.job_id, pairs) if pairs else []
    answers = await _answers(connection, job, list(ids.values()), pairs, leases)
    workers = {worker for _, worker in pairs} | {answer.worker for answer in answers if answer.worker is not None}
    return Ledger(
        job=job,
        now=now,
        items={row.item_id: row for row in items},
        leases={lease.assignment_id: lease for lease in leases},
        answers={who_gave(answer): answer for answer in answers},
        workers=await load_workers(connection, job.job_id, workers),
    )


async def _answers(
    connection: AsyncConnection,
    job: Job,
    item_ids: Sequence[int],
    pairs: Collection[tuple[int, str]],
    leases: Sequence[Lease],
) -> list[Answer]:
    """The answers that these could repeat; all of their items where a finished item tells about its workers."""
    if job.engine.model.scores_finished_items:
        return await answers_on_items(connection, job.job_id, item_ids)
    unnamed = [lease.assignment_id for lease in leases if lease.worker is None]
    named = await answers_by_pair(connection, job.job_id, pairs) if pairs else []
    return named + (await answers_by_assignment(connection, job.job_id, unnamed) if unnamed else [])


def who_gave(answer: Answer) -> Who:
    if answer.worker is not None:
        return answer.item_id, answer.worker
    assert answer.assignment_id is not None  # noqa: S101  an unnamed worker answers under an assignment only
    return answer.assignment_id


async def write_back(connection: AsyncConnection, ledger: Ledger) -> list[Score]:
    """Write what has changed; gives the workers whose votes were held to a label."""
    if not ledger.new:
        return []
    job_id = ledger.job.job_id
    changed = [ledger.items[item_id] for item_id in ledger.changed_items]
    await insert_answers(connection, job_id, ledger.new)
    await mark_answered(connection, job_id, ledger.settled)
    await save_standings(connection, job_id, changed)
    by_gold = await save_tallies(connection, job_id, _tallies(ledger))
    resolved = [item.item_id for item in changed if item.standing.state is ItemState.RESOLVED and item.gold is None]
    await demote_items(connection, job_id, ledger.demoted, newest=ledger.given)
    scores = await hold_votes_to_labels(connection, job_id, resolved, newest=ledger.given)
    await promote_items(connection, job_id, ledger.promoted)
    return list({score.worker: score for score in (*by_gold, *scores)}.values())  # the later ones know more


def _tallies(ledger: Ledger) -> list[Tally]:
    """What the answers have added, and taught, about each worker."""
    known = accuracies(ledger.job, list(ledger.skills.values()))
    for (worker, skill), accuracy in zip(ledger.skills.items(), known, strict=True):
        tally = ledger.tally_of(worker)
        tally.skill, tally.accuracy = skill.tolist(), accuracy
    return list(ledger.tallies.values())
