"""Record answers: count the vote, pay for it, and say what becomes of the item."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import DECISION_OF, AssignmentState, Decision, ItemState, Reason, Verdict
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
from app.store.answers import Answer
from app.store.assignments import Lease
from app.store.items import Item
from app.store.jobs import Job, lock_job
from app.use_cases.answer_ledger import Ledger, Submission, Who, open_ledger, write_back
from app.use_cases.clock import Clock
from app.use_cases.release_expired import release_expired
from app.use_cases.standing import Known, facts_of, judge_one, state_of


@dataclass(frozen=True)
class Recorded:
    """What a caller is told about an answer."""

    item: str
    worker: str | None
    duplicate: bool
    late: bool
    counted: bool
    verdict: Decision
    label: str | None
    confidence: float
    reason: Reason


@dataclass(frozen=True)
class _Vote:
    """A submission that has been understood."""

    item: Item
    worker: str | None
    lease: Lease | None
    label: int

    @property
    def who(self) -> Who:
        """What tells this vote from others."""
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

    @property
    def cost(self) -> Decimal:
        return self.lease.cost if self.lease is not None and self.leased else self.item.cost


async def record_answers(
    database: AsyncEngine, job_id: UUID, submissions: Sequence[Submission], clock: Clock
) -> list[Recorded | SufficeError]:
    """Record each answer in order; one that is refused does not harm the others."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()  # after the lock: a lease should not have been running while its worker waited
        job = await release_expired(connection, job, now)
        ledger = await open_ledger(connection, job, submissions, now)
        outcomes = [_try_to_record(ledger, submission) for submission in submissions]
        await write_back(connection, ledger)
    return outcomes


def _try_to_record(ledger: Ledger, submission: Submission) -> Recorded | SufficeError:
    try:
        return _record(ledger, _understand(ledger, submission))
    except SufficeError as refusal:
        return refusal


def _understand(ledger: Ledger, submission: Submission) -> _Vote:
    item, worker, lease = _locate(ledger, submission)
    labels = ledger.job.rules.labels
    if submission.label not in labels:
        choices = ", ".join(repr(label) for label in labels[:20])
        raise LabelUnknown(
            f"{submission.label!r} is not a label of this job",
            errors=(FieldError(f"{submission.pointer}/label", f"Must be one of {choices}"),),
        )
    return _Vote(item, worker, lease, labels.index(submission.label))


def _locate(ledger: Ledger, submission: Submission) -> tuple[Item, str | None, Lease | None]:
    if submission.assignment is not None:
        lease = ledger.leases.get(submission.number or 0)
        if lease is None:
            raise AssignmentUnknown(
                f"The job has no assignment {submission.assignment!r}",
                errors=(FieldError(f"{submission.pointer}/assignment", "Must be the id of an assignment of this job"),),
            )
        _refuse_other_names(submission, ledger.items[lease.item_id], lease)
        return ledger.items[lease.item_id], lease.worker, lease
    item_id = ledger.item_ids.get(submission.item or "")
    if item_id is None:
        raise ItemUnknown(
            f"The job has no item {submission.item!r}",
            errors=(FieldError(f"{submission.pointer}/item", "Must be the key of an item of this job"),),
        )
    return ledger.items[item_id], submission.worker, ledger.leases_of.get((item_id, submission.worker))


def _refuse_other_names(submission: Submission, item: Item, lease: Lease) -> None:
    """Item and worker may be named beside the assignment, but then they must be its own."""
    for name, said, actual in (("item", submission.item, item.key), ("worker", submission.worker, lease.worker)):
        if said is not None and said != actual:
            raise InvalidInput(
                f"Assignment {submission.assignment!r} is not of {name} {said!r}",
                errors=(FieldError(f"{submission.pointer}/{name}", f"Must be {actual!r}, or left out"),),
            )


def _record(ledger: Ledger, vote: _Vote) -> Recorded:
    given = ledger.answers.get(vote.who)
    if given is not None:
        return _repeat(ledger.job, vote, given)
    if not vote.leased:
        _refuse_if_closed_or_too_dear(ledger.job, vote.item)
    item, verdict = _count(ledger, vote)
    _pay(ledger, vote, item)
    answer = _answer(ledger, vote, item, verdict)
    ledger.answers[vote.who] = answer
    ledger.new.append(answer)
    ledger.items[item.item_id] = item
    ledger.changed_items.add(item.item_id)
    if vote.item.standing.state is ItemState.OPEN and verdict.label is not None:
        _score_workers(ledger, item.item_id, verdict.label)
    return _told(ledger.job, item, answer, duplicate=False)


def _repeat(job: Job, vote: _Vote, given: Answer) -> Recorded:
    """The same answer gets the same result; another one is refused."""
    if given.label == vote.label:
        return _told(job, vote.item, given, duplicate=True)
    labels = job.rules.labels
    who = f"Worker {vote.worker!r}" if vote.worker is not None else "This assignment"
    raise AnswerConflict(
        f"{who} has answered {vote.item.key!r} with {labels[given.label]!r} before, not {labels[vote.label]!r}"
    )


def _refuse_if_closed_or_too_dear(job: Job, item: Item) -> None:
    if item.standing.state is not ItemState.OPEN:
        raise ItemClosed(f"Item {item.key!r} is {item.standing.state}: {item.standing.reason.message}")
    if not job.affords(item.cost):
        raise BudgetExhausted(f"Item {item.key!r} costs {item.cost:f}, and {job.remaining:f} of the budget is left")


def _count(ledger: Ledger, vote: _Vote) -> tuple[Item, Verdict]:
    """Learn from the vote. An item that closed while this lease was out stays closed: its verdict was given."""
    engine, before = ledger.job.engine, vote.item.standing
    after = replace(vote.item, in_flight=vote.item.in_flight - vote.leased)
    known = Known.of(after)
    skill = ledger.skill_of(vote.worker)[None, :]
    state, learned = engine.learn(state_of(before), facts_of(engine, [known]), skill, np.array([vote.label]))
    ledger.learn_skill(vote.worker, learned[0])
    standing, verdict = judge_one(engine, state, known)
    if before.state is not ItemState.OPEN:
        standing = replace(before, votes=standing.votes, evidence=standing.evidence)
        verdict = Verdict(DECISION_OF[before.state], before.reason, before.label)
    return replace(after, standing=standing), verdict


def _score_workers(ledger: Ledger, item_id: int, label: int) -> None:
    """A finished item tells who agreed with its label, for the models that judge workers by that."""
    model = ledger.job.rules.worker_model
    if not model.scores_finished_items:
        return
    for answer in ledger.votes_on(item_id):
        skill = ledger.skill_of(answer.worker)[None, :]
        ledger.learn_skill(answer.worker, model.score(skill, np.array([answer.label == label]))[0])


def _pay(ledger: Ledger, vote: _Vote, after: Item) -> None:
    """Turn a reservation into expense, or spend at once; and keep the job's counters in step."""
    job, before = ledger.job, vote.item.standing
    ledger.job = replace(
        job,
        spent=job.spent + vote.cost,
        reserved=job.reserved - vote.cost if vote.leased else job.reserved,
        answers=job.answers + 1,
        resolved=job.resolved + _newly(ItemState.RESOLVED, before.state, after.standing.state),
        given_up=job.given_up + _newly(ItemState.GIVEN_UP, before.state, after.standing.state),
        progress=job.progress + after.standing.progress - before.progress,
    )
    if vote.lease is not None:
        ledger.settled.add(vote.lease.assignment_id)


def _newly(state: ItemState, before: ItemState, after: ItemState) -> int:
    return int(before is not state and after is state)


def _answer(ledger: Ledger, vote: _Vote, after: Item, verdict: Verdict) -> Answer:
    return Answer(
        answer_id=ledger.job.answers,
        item_id=after.item_id,
        worker=vote.worker,
        assignment_id=vote.lease.assignment_id if vote.lease else None,
        label=vote.label,
        cost=vote.cost,
        late=vote.late,
        counted=sum(after.standing.votes) > sum(vote.item.standing.votes),
        verdict=asdict(verdict) | {"confidence": after.standing.confidence},
        answered_at=ledger.now,
    )


def _told(job: Job, item: Item, answer: Answer, *, duplicate: bool) -> Recorded:
    verdict = answer.verdict
    label = verdict["label"]
    return Recorded(
        item=item.key,
        worker=answer.worker,
        duplicate=duplicate,
        late=answer.late,
        counted=answer.counted,
        verdict=Decision(verdict["decision"]),
        label=None if label is None else job.rules.labels[label],
        confidence=verdict["confidence"],
        reason=Reason(**verdict["reason"]),
    )
