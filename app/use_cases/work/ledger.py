"""The rows that a transaction reads to record answers, and the changes that it will write."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.answer import Answer
from app.domain.assignment import Assignment, AssignmentState
from app.domain.item import Item, ItemState, LabelCounts
from app.domain.job import Job
from app.domain.worker import UNKNOWN_WORKER, OfTier, Voter, Worker
from app.errors import AssignmentUnknown, FieldError, InvalidInput, ItemUnknown
from app.policy.answers import Said
from app.policy.core.belief import Array
from app.store.answers import answers_by_assignment, answers_by_pair, answers_on_items, insert_answers
from app.store.assignments import assignments_by_number, assignments_by_pair, mark_answered
from app.store.items import demote_items, drop_opinions, load_items, promote_items, save_decisions
from app.store.workers import Score, Tally, save_tallies, score_votes
from app.use_cases.audits.audit_ledger import AuditLedger, open_audits
from app.use_cases.work.answer_content import said_in
from app.use_cases.work.named_workers import load_named_workers
from app.use_cases.workers.skills import wrong_tier

_MOST_DIGITS = 18  # that fit into a bigint

VoteKey = tuple[int, str] | int  # item and worker; the assignment where the worker is unnamed


@dataclass(frozen=True)
class SubmittedAnswer:
    """An answer as it was sent: for an assignment, or for an item and a worker."""

    label: str | None = None  # of these three the one that the job takes
    labels: Sequence[str] | None = None
    value: float | None = None
    assignment: str | None = None
    item: str | None = None
    worker: str | None = None
    tier: str | None = None
    pointer: str = "#"

    @property
    def number(self) -> int | None:
        return number_in(self.assignment or "")


def number_in(name: str) -> int | None:
    """Parse the number of an assignment from its id; None if it is not a valid id."""
    return int(name) if name.isascii() and name.isdecimal() and len(name) <= _MOST_DIGITS else None


@dataclass(frozen=True)
class Vote:
    """A submitted answer with its item, its worker and its assignment."""

    item: Item
    worker: str | None
    assignment: Assignment | None
    said: Said
    price: Decimal
    tier: str | None = None  # with which the answer came, or was asked for

    @property
    def voter(self) -> Voter:
        return self.worker if self.tier is None else OfTier(self.tier)

    @property
    def key(self) -> VoteKey:
        """Return the unique key of this vote in its job."""
        if self.worker is not None:
            return self.item.item_id, self.worker
        assert self.assignment is not None  # noqa: S101  an unnamed worker answers under an assignment only
        return self.assignment.assignment_id

    @property
    def under_live_assignment(self) -> bool:
        return self.assignment is not None and self.assignment.state is AssignmentState.LIVE

    @property
    def late(self) -> bool:
        return self.assignment is not None and self.assignment.state is AssignmentState.EXPIRED

    @property
    def cost(self) -> Decimal:
        if self.assignment is not None and self.under_live_assignment:
            return self.assignment.cost
        return self.item.cost * self.price


@dataclass
class Ledger:
    """The rows that the submitted answers touch, and everything that recording them has changed so far."""

    job: Job
    now: datetime
    items: dict[int, Item]
    assignments: dict[int, Assignment]
    answers: dict[VoteKey, Answer]
    workers: Mapping[str, Worker]
    skills: dict[str, Array] = field(default_factory=dict)  # including the changes of this transaction
    tallies: dict[str, Tally] = field(default_factory=dict)
    changed_items: set[int] = field(default_factory=set)
    answered_assignments: set[int] = field(default_factory=set)
    new: list[Answer] = field(default_factory=list)
    promoted: set[int] = field(default_factory=set)  # items that became gold by the crowd's answers ...
    demoted: set[int] = field(default_factory=set)  # ... and those that are no longer gold
    # Items about which the opinion of a source no longer counts, by the place of the source among the job's.
    replaced_opinions: defaultdict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    audits: AuditLedger = field(default_factory=AuditLedger)

    def __post_init__(self) -> None:
        job = self.job
        # Plain numbers while votes are counted, because copying the job for each vote is too slow.
        self.spent, self.reserved, self.given = job.spent, job.reserved, job.answers
        self.resolved, self.given_up, self.progress = job.resolved, job.given_up, job.progress
        self.truths = 0  # answers of trusted workers that are no votes, so that no fit would learn from them
        self.labels = LabelCounts(job.labeled, job.label_changes, job.confidence_sum, job.dissent_sum)
        self.item_ids = {row.key: row.item_id for row in self.items.values()}
        self.answers_on: dict[int, list[Answer]] = {}
        for answer in self.answers.values():  # each once, also where it was loaded twice
            self.answers_on.setdefault(answer.item_id, []).append(answer)
        self.newcomer = job.engine.newcomer()
        self.assignments_of = {
            (assignment.item_id, assignment.worker): assignment for assignment in self.assignments.values()
        }

    @property
    def remaining(self) -> Decimal | None:
        """Return the money that can still be spent; None means unlimited."""
        return None if self.job.budget is None else self.job.budget - self.spent - self.reserved

    def balanced(self) -> Job:
        """Return the job with its present money and counters."""
        return replace(
            self.job,
            spent=self.spent,
            reserved=self.reserved,
            answers=self.given,
            refit_at=None if self.job.refit_at is None else self.job.refit_at + self.truths,
            resolved=self.resolved,
            given_up=self.given_up,
            progress=self.progress,
            labeled=self.labels.labeled,
            label_changes=self.labels.label_changes,
            confidence_sum=self.labels.confidence_sum,
            dissent_sum=self.labels.dissent_sum,
            gold_items=self.job.gold_items + len(self.promoted) - len(self.demoted),
        )

    def find_vote(self, submission: SubmittedAnswer) -> Vote:
        """Find the item, worker and assignment of a submission; raises the error for its sender."""
        item, worker, assignment = self._find_rows(submission)
        sent = {name: getattr(submission, name) for name in ("label", "labels", "value")}
        said = said_in(self.job, sent, submission.pointer)
        if submission.tier is not None and (wrong := wrong_tier(self.job, submission.tier, submission.pointer)):
            raise InvalidInput.of([wrong])
        tier = submission.tier or (assignment.tier if assignment is not None else None)
        return Vote(item, worker, assignment, said, self.known(worker).price, tier)

    def _find_rows(self, submission: SubmittedAnswer) -> tuple[Item, str | None, Assignment | None]:
        if submission.assignment is not None:
            assignment = self.assignments.get(submission.number or 0)
            if assignment is None:
                pointer = f"{submission.pointer}/assignment"
                raise AssignmentUnknown(
                    f"The job has no assignment {submission.assignment!r}. Use an id from `next`.",
                    errors=(FieldError(pointer, "Must be the id of an assignment of this job"),),
                )
            item = self.items[assignment.item_id]
            _refuse_other_names(submission, item, assignment)
            return item, assignment.worker, assignment
        item_id = self.item_ids.get(submission.item or "")
        if item_id is None:
            raise ItemUnknown(
                f"The job has no item {submission.item!r}.",
                errors=(FieldError(f"{submission.pointer}/item", "Must be the key of an item of this job"),),
            )
        return self.items[item_id], submission.worker, self.assignments_of.get((item_id, submission.worker))

    def may_be_truth(self, vote: Vote) -> bool:
        """Whether the answer may be the truth about its item, by who gives it and for which assignment."""
        audited = vote.assignment is not None and vote.assignment.audit_id is not None
        return audited or self.known(vote.worker).trusted

    def known(self, worker: str | None) -> Worker:
        return self.workers.get(worker or "", UNKNOWN_WORKER)

    def skill_of(self, voter: Voter) -> Array:
        """Return the skill of a worker, or of an answer with a tier, shape (parameters,)."""
        if isinstance(voter, OfTier):
            return self.job.policy.worker_model.skill_of(voter.tier)
        if voter in self.skills:
            return self.skills[voter]
        skill = self.known(voter).skill
        return self.newcomer if skill is None else np.array(skill)

    def learn_skill(self, voter: Voter, skill: Array) -> None:
        if isinstance(voter, str) and skill.size:
            self.skills[voter] = skill

    def tally_of(self, worker: str) -> Tally:
        return self.tallies.setdefault(worker, Tally(worker))

    def votes_on(self, item_id: int) -> Sequence[Answer]:
        return self.answers_on.get(item_id, ())

    def add(self, answer: Answer) -> None:
        self.answers[_key_of(answer)] = answer
        self.answers_on.setdefault(answer.item_id, []).append(answer)
        self.new.append(answer)


def _refuse_other_names(submission: SubmittedAnswer, item: Item, assignment: Assignment) -> None:
    """Refuse an item or a worker that does not belong to the submitted assignment."""
    names = [("item", submission.item, item.key), ("worker", submission.worker, assignment.worker)]
    if assignment.tier is not None:
        names.append(("tier", submission.tier, assignment.tier))
    for name, sent, actual in names:
        if sent is not None and sent != actual:
            raise InvalidInput(
                f"Assignment {submission.assignment!r} does not belong to {name} {sent!r}.",
                errors=(FieldError(f"{submission.pointer}/{name}", f"Must be {actual!r}, or left out"),),
            )


def _key_of(answer: Answer) -> VoteKey:
    if answer.worker is not None:
        return answer.item_id, answer.worker
    assert answer.assignment_id is not None  # noqa: S101  an unnamed worker answers under an assignment only
    return answer.assignment_id


async def open_ledger(
    connection: AsyncConnection, job: Job, submissions: Sequence[SubmittedAnswer], now: datetime
) -> Ledger:
    """Load the rows of these submissions, in a fixed number of queries."""
    numbers = {number for submission in submissions if (number := submission.number) is not None}
    assignments = await assignments_by_number(connection, job.job_id, numbers) if numbers else []
    keys = {submission.item for submission in submissions if submission.item is not None}
    items = await load_items(
        connection, job.job_id, keys=keys, item_ids={assignment.item_id for assignment in assignments}
    )
    ids = {row.key: row.item_id for row in items}
    pairs = {(ids[sent.item], sent.worker) for sent in submissions if sent.item in ids and sent.worker is not None}
    pairs |= {(assignment.item_id, assignment.worker) for assignment in assignments if assignment.worker is not None}
    assignments += await assignments_by_pair(connection, job.job_id, pairs) if pairs else []
    spoken_of = {row.item_id: row for row in items if row.opinions}  # most jobs have no opinions
    replaced = {
        item_id
        for item_id, worker in (pairs if spoken_of else ())
        if item_id in spoken_of and replaced_opinions(job, spoken_of[item_id], worker)
    }
    answers = await _answers(connection, job, list(ids.values()), pairs, assignments, replaced)
    workers = {worker for _, worker in pairs} | {answer.worker for answer in answers if answer.worker is not None}
    audited = [assignment for assignment in assignments if assignment.audit_id is not None]
    return Ledger(
        job=job,
        now=now,
        items={row.item_id: row for row in items},
        assignments={assignment.assignment_id: assignment for assignment in assignments},
        answers={_key_of(answer): answer for answer in answers},
        workers=await load_named_workers(connection, job, workers),
        audits=await open_audits(connection, job, audited) if audited else AuditLedger(),
    )


def replaced_opinions(job: Job, item: Item, worker: str | None) -> list[int]:
    """Return the places of the sources whose opinion about the item an answer of this worker replaces."""
    said = item.opinions
    return [place for place in job.replaced_by(worker) if place < len(said) and said[place] is not None]


async def _answers(
    connection: AsyncConnection,
    job: Job,
    item_ids: Sequence[int],
    pairs: Collection[tuple[int, str]],
    assignments: Sequence[Assignment],
    replaced: Collection[int],
) -> list[Answer]:
    """Load answers that may be repeated, or all answers on the items if the worker model scores workers by them.

    Also all answers on the items where an opinion will be `replaced` by an answer of its source.
    """
    if job.engine.scores_finished_items:
        return await answers_on_items(connection, job.job_id, item_ids)
    unnamed = [assignment.assignment_id for assignment in assignments if assignment.worker is None]
    named = await answers_by_pair(connection, job.job_id, pairs) if pairs else []
    if replaced:
        named += await answers_on_items(connection, job.job_id, list(replaced))
    return named + (await answers_by_assignment(connection, job.job_id, unnamed) if unnamed else [])


async def write_back(connection: AsyncConnection, ledger: Ledger) -> list[Score]:
    """Write all changes; returns the scores of workers whose votes were compared with a label."""
    if not ledger.new:
        return []
    job_id = ledger.job.job_id
    changed = [ledger.items[item_id] for item_id in ledger.changed_items]
    await insert_answers(connection, job_id, ledger.new)
    await mark_answered(connection, job_id, ledger.answered_assignments)
    await save_decisions(connection, job_id, changed)
    for place, item_ids in ledger.replaced_opinions.items():
        await drop_opinions(connection, job_id, place, item_ids)
    by_gold = await save_tallies(connection, job_id, _tallies(ledger))
    resolved = [item.item_id for item in changed if _is_resolved_by_votes(item)]
    await demote_items(connection, job_id, ledger.demoted, newest=ledger.given)
    compared = resolved if ledger.job.policy.answer.is_one_label else []
    scores = []
    if compared:
        own_votes = ledger.job.policy.worker_choice.scores_own_votes
        scores = await score_votes(connection, job_id, compared, newest=ledger.given, own_votes=own_votes)
    await promote_items(connection, job_id, ledger.promoted)
    return list({score.worker: score for score in (*by_gold, *scores)}.values())  # the later score is complete


def _is_resolved_by_votes(item: Item) -> bool:
    """Whether votes on the item may be compared with its label.

    Not where a trusted worker settled it: on items that divide the crowd, honest workers would look like guessers.
    """
    decision = item.decision
    return decision.state is ItemState.RESOLVED and item.gold is None and not decision.is_settled


def _tallies(ledger: Ledger) -> list[Tally]:
    """Return what the answers add to each worker's row, including the new skill."""
    accuracies = ledger.job.engine.accuracies(list(ledger.skills.values()))
    for (worker, skill), accuracy in zip(ledger.skills.items(), accuracies, strict=True):
        tally = ledger.tally_of(worker)
        tally.skill, tally.accuracy = skill.tolist(), accuracy
    return list(ledger.tallies.values())
