"""Record answers: count the vote, pay for it, and say what becomes of the item."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain import STATE_AFTER, AssignmentState, Decision, ItemState, Reason, Verdict
from app.errors import (
    AnswerConflict,
    AssignmentUnknown,
    BudgetExhausted,
    FieldError,
    InvalidInput,
    ItemClosed,
    ItemUnknown,
    LabelUnknown,
    SufficeError,
)
from app.store.answers import Answer, answers_by_assignment, answers_by_pair, insert_answers
from app.store.assignments import Lease, leases_by_number, leases_by_pair, mark_answered
from app.store.items import Item, load_items, save_standings
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.release_expired import release_expired
from app.use_cases.standing import judge_item

_LONGEST_NUMBER = 18  # digits that fit a bigint
_DECISION_OF = {state: decision for decision, state in STATE_AFTER.items()}


@dataclass(frozen=True)
class Submission:
    """A vote as it was sent: under an assignment, or for an item by a worker."""

    label: str
    assignment: str | None = None
    item: str | None = None
    worker: str | None = None
    pointer: str = "#"


@dataclass(frozen=True)
class Recorded:
    """What a caller is told about an answer."""

    item: str
    worker: str | None
    duplicate: bool
    late: bool
    verdict: Decision
    label: str | None
    confidence: float
    reason: Reason


@dataclass
class _Ledger:
    """What one transaction has read, and what it will write back."""

    job: Job
    now: datetime
    items: dict[int, Item]
    item_ids: dict[str, int]
    leases: dict[int, Lease]
    leases_of: dict[tuple[int, str], Lease]
    answers_of: dict[tuple[int, str] | int, Answer]  # by (item, worker); by assignment where the worker is unnamed
    changed: set[int] = field(default_factory=set)  # items
    settled: set[int] = field(default_factory=set)  # assignments
    new: list[Answer] = field(default_factory=list)


@dataclass(frozen=True)
class _Vote:
    """A submission that has been understood."""

    item: Item
    worker: str | None
    lease: Lease | None
    label: int

    @property
    def who(self) -> tuple[int, str] | int:
        """What tells this vote from others: the item and its worker, or the assignment of an unnamed one."""
        if self.worker is not None:
            return self.item.item_id, self.worker
        assert self.lease is not None  # noqa: S101  an unnamed worker answers under an assignment only
        return self.lease.assignment_id

    @property
    def leased(self) -> bool:
        return self.lease is not None and self.lease.state is AssignmentState.LIVE

    @property
    def late(self) -> bool:
        return self.lease is not None and self.lease.state is AssignmentState.EXPIRED


async def record_answers(
    database: AsyncEngine, job_id: UUID, submissions: Sequence[Submission], now: datetime
) -> list[Recorded | SufficeError]:
    """Record each answer in order; one that is refused does not harm the others."""
    async with database.begin() as connection:
        job = await release_expired(connection, await lock_job(connection, job_id), now)
        ledger = await _open_ledger(connection, job, submissions, now)
        outcomes = [_try_to_record(ledger, submission) for submission in submissions]
        await _write(connection, ledger)
    return outcomes


async def _open_ledger(
    connection: AsyncConnection, job: Job, submissions: Sequence[Submission], now: datetime
) -> _Ledger:
    """Load what these submissions touch, in a fixed number of queries."""
    numbers = {number for s in submissions if (number := _number(s.assignment)) is not None}
    leases = await leases_by_number(connection, job.job_id, numbers) if numbers else []
    keys = {s.item for s in submissions if s.item is not None}
    loaded = await load_items(connection, job.job_id, keys=keys, item_ids={lease.item_id for lease in leases})
    item_ids = {row.key: row.item_id for row in loaded}
    pairs = {(item_ids[s.item], s.worker) for s in submissions if s.item in item_ids and s.worker is not None}
    pairs |= {(lease.item_id, lease.worker) for lease in leases if lease.worker is not None}
    unnamed = [lease.assignment_id for lease in leases if lease.worker is None]
    leases += await leases_by_pair(connection, job.job_id, pairs) if pairs else []
    answers = await answers_by_pair(connection, job.job_id, pairs) if pairs else []
    answers += await answers_by_assignment(connection, job.job_id, unnamed) if unnamed else []
    return _Ledger(
        job=job,
        now=now,
        items={row.item_id: row for row in loaded},
        item_ids=item_ids,
        leases={lease.assignment_id: lease for lease in leases},
        leases_of={(lease.item_id, lease.worker): lease for lease in leases if lease.worker is not None},
        answers_of={_who_gave(answer): answer for answer in answers},
    )


def _number(assignment: str | None) -> int | None:
    plausible = (
        assignment is not None
        and assignment.isascii()
        and assignment.isdecimal()
        and len(assignment) <= _LONGEST_NUMBER
    )
    return int(assignment) if assignment is not None and plausible else None


def _who_gave(answer: Answer) -> tuple[int, str] | int:
    if answer.worker is not None:
        return answer.item_id, answer.worker
    assert answer.assignment_id is not None  # noqa: S101  see _Vote.who
    return answer.assignment_id


def _try_to_record(ledger: _Ledger, submission: Submission) -> Recorded | SufficeError:
    try:
        return _record(ledger, _understand(ledger, submission))
    except SufficeError as refusal:
        return refusal


def _understand(ledger: _Ledger, submission: Submission) -> _Vote:
    item, worker, lease = _locate(ledger, submission)
    labels = ledger.job.rules.labels
    if submission.label not in labels:
        choices = ", ".join(repr(label) for label in labels[:20])
        raise LabelUnknown(
            f"{submission.label!r} is not a label of this job",
            errors=(FieldError(f"{submission.pointer}/label", f"Must be one of {choices}"),),
        )
    return _Vote(item, worker, lease, labels.index(submission.label))


def _locate(ledger: _Ledger, submission: Submission) -> tuple[Item, str | None, Lease | None]:
    if submission.assignment is not None:
        lease = ledger.leases.get(_number(submission.assignment) or 0)
        if lease is None:
            raise AssignmentUnknown(f"The job has no assignment {submission.assignment!r}")
        _refuse_other_names(submission, ledger.items[lease.item_id], lease)
        return ledger.items[lease.item_id], lease.worker, lease
    item_id = ledger.item_ids.get(submission.item or "")
    if item_id is None:
        raise ItemUnknown(f"The job has no item {submission.item!r}")
    lease = ledger.leases_of.get((item_id, submission.worker or ""))
    return ledger.items[item_id], submission.worker, lease


def _refuse_other_names(submission: Submission, item: Item, lease: Lease) -> None:
    """Item and worker may be named beside the assignment, but then they must be its own."""
    for name, said, actual in (("item", submission.item, item.key), ("worker", submission.worker, lease.worker)):
        if said is not None and said != actual:
            raise InvalidInput(
                f"Assignment {submission.assignment!r} is not of {name} {said!r}",
                errors=(FieldError(f"{submission.pointer}/{name}", f"Must be {actual!r}, or left out"),),
            )


def _record(ledger: _Ledger, vote: _Vote) -> Recorded:
    given = ledger.answers_of.get(vote.who)
    if given is not None:
        return _repeat(ledger, vote, given)
    if not vote.leased:
        _refuse_if_closed_or_too_dear(ledger.job, vote.item)
    item, verdict = _count(ledger.job, vote)
    _pay(ledger, vote, item)
    answer = _answer(ledger, vote, item, verdict)
    ledger.answers_of[vote.who] = answer
    ledger.new.append(answer)
    ledger.items[item.item_id] = item
    ledger.changed.add(item.item_id)
    return _told(ledger.job, item, answer, duplicate=False)


def _repeat(ledger: _Ledger, vote: _Vote, given: Answer) -> Recorded:
    """The same answer gets the same result; another one is refused."""
    if given.label == vote.label:
        return _told(ledger.job, vote.item, given, duplicate=True)
    labels = ledger.job.rules.labels
    who = f"Worker {vote.worker!r}" if vote.worker is not None else "This assignment"
    raise AnswerConflict(
        f"{who} has answered {vote.item.key!r} with {labels[given.label]!r} before, not {labels[vote.label]!r}"
    )


def _refuse_if_closed_or_too_dear(job: Job, item: Item) -> None:
    if item.standing.state is not ItemState.OPEN:
        raise ItemClosed(f"Item {item.key!r} is {item.standing.state}: {item.standing.reason.message}")
    if not job.affords(item.cost):
        raise BudgetExhausted(f"Item {item.key!r} costs {item.cost:f}, and {job.remaining:f} of the budget is left")


def _count(job: Job, vote: _Vote) -> tuple[Item, Verdict]:
    """Add the vote. An item that closed while this lease was out stays closed: its verdict was given."""
    before = vote.item.standing
    votes = [count + (position == vote.label) for position, count in enumerate(before.votes)]
    standing, verdict = judge_item(job.engine, votes, vote.item.cost)
    if before.state is not ItemState.OPEN:
        standing = replace(before, votes=votes)
        verdict = Verdict(_DECISION_OF[before.state], before.reason, before.label)
    in_flight = vote.item.in_flight - vote.leased
    return replace(vote.item, standing=standing, in_flight=in_flight), verdict


def _pay(ledger: _Ledger, vote: _Vote, after: Item) -> None:
    """Turn a reservation into expense, or spend at once; and keep the job's counters in step."""
    job, before = ledger.job, vote.item.standing
    cost = _cost(vote)
    ledger.job = replace(
        job,
        spent=job.spent + cost,
        reserved=job.reserved - cost if vote.leased else job.reserved,
        answers=job.answers + 1,
        resolved=job.resolved + _newly(ItemState.RESOLVED, before.state, after.standing.state),
        given_up=job.given_up + _newly(ItemState.GIVEN_UP, before.state, after.standing.state),
        progress=job.progress + after.standing.progress - before.progress,
    )
    if vote.lease is not None:
        ledger.settled.add(vote.lease.assignment_id)


def _newly(state: ItemState, before: ItemState, after: ItemState) -> int:
    return int(before is not state and after is state)


def _cost(vote: _Vote) -> Decimal:
    return vote.lease.cost if vote.lease is not None and vote.leased else vote.item.cost


def _answer(ledger: _Ledger, vote: _Vote, after: Item, verdict: Verdict) -> Answer:
    return Answer(
        answer_id=ledger.job.answers,
        item_id=after.item_id,
        worker=vote.worker,
        assignment_id=vote.lease.assignment_id if vote.lease else None,
        label=vote.label,
        cost=_cost(vote),
        late=vote.late,
        verdict=asdict(verdict) | {"confidence": after.standing.confidence},
        answered_at=ledger.now,
    )


def _told(job: Job, item: Item, answer: Answer, *, duplicate: bool) -> Recorded:
    verdict: dict[str, Any] = answer.verdict
    label = verdict["label"]
    return Recorded(
        item=item.key,
        worker=answer.worker,
        duplicate=duplicate,
        late=answer.late,
        verdict=Decision(verdict["decision"]),
        label=None if label is None else job.rules.labels[label],
        confidence=verdict["confidence"],
        reason=Reason(**verdict["reason"]),
    )


async def _write(connection: AsyncConnection, ledger: _Ledger) -> None:
    if not ledger.new:
        return
    job_id = ledger.job.job_id
    await insert_answers(connection, job_id, ledger.new)
    await mark_answered(connection, job_id, ledger.settled)
    await save_standings(connection, job_id, [ledger.items[item_id] for item_id in ledger.changed])
    await save_ledger(connection, ledger.job)
