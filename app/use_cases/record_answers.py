"""Record answers: count the votes, pay for them, and say what becomes of the items."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import DECISION_OF, Decision, ItemState, Reason, Verdict
from app.errors import AnswerConflict, BudgetExhausted, ItemClosed, SufficeError, WorkerBlocked
from app.policy.belief import State
from app.store.answers import Answer
from app.store.items import Item, Standing
from app.store.jobs import Job
from app.store.workers import STRANGER
from app.use_cases.answer_ledger import Ledger, Submission, open_ledger, write_back
from app.use_cases.gold import as_if_new, checks_the_item, demoted, is_promoted, refutes_the_item, takes_answers
from app.use_cases.shut_out import block_guessers
from app.use_cases.standing import Known, facts_of, judged, state_of
from app.use_cases.votes import Vote, understand

_FEW = 128  # answers that are recorded on the event loop, where no skills are learned: a millisecond or two


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


Outcome = Recorded | SufficeError


async def record_answers(
    connection: AsyncConnection, job: Job, sent: Sequence[Sequence[Submission]], now: datetime
) -> tuple[Job, list[list[Outcome]]]:
    """Record the answers of each sender in their order; one that is refused does not harm the others."""
    ledger = await open_ledger(connection, job, [submission for one in sent for submission in one], now)
    order = _spread_out(ledger, sent)
    submissions = [submission for sender in order for submission in sent[sender]]
    if len(submissions) <= _FEW and not ledger.newcomer.size:
        outcomes = iter(_record_all(ledger, submissions))
    else:
        outcomes = iter(await asyncio.to_thread(_record_all, ledger, submissions))
    scores = await write_back(connection, ledger)
    balanced = await block_guessers(connection, ledger.balanced(), scores, now)
    told = {sender: [next(outcomes) for _ in sent[sender]] for sender in order}
    return balanced, [told[sender] for sender in range(len(sent))]


def _spread_out(ledger: Ledger, sent: Sequence[Sequence[Submission]]) -> list[int]:
    """The senders in an order in which answers on one item do not follow each other.

    All of them wait at the same moment, so that any order is fair, and answers on different items are counted together.
    """
    seen: Counter[int | None] = Counter()
    rounds = []
    for submissions in sent:
        item_id = ledger.item_of(submissions[0]) if len(submissions) == 1 else None
        rounds.append(seen[item_id])
        seen[item_id] += 1
    return sorted(range(len(sent)), key=rounds.__getitem__)


def _record_all(ledger: Ledger, submissions: Sequence[Submission]) -> list[Outcome]:
    """One by one as far as money goes; the arithmetic for many at once, as long as they do not touch each other."""
    outcomes: dict[int, Outcome] = {}
    run = _Run(ledger)
    for position, submission in enumerate(submissions):
        try:
            vote = understand(ledger, submission)
            if run.touches(vote):
                outcomes |= run.settle()
                run, vote = _Run(ledger), replace(vote, item=ledger.items[vote.item.item_id])
            given = ledger.answers.get(vote.who)
            if given is not None:
                outcomes[position] = _repeat(ledger.job, vote, given)
                continue
            _refuse_if_blocked(ledger, vote)
            _pay(ledger, vote)
            run.add(position, vote)
        except SufficeError as refusal:
            outcomes[position] = refusal
    outcomes |= run.settle()
    return [outcomes[position] for position in range(len(submissions))]


def _repeat(job: Job, vote: Vote, given: Answer) -> Recorded:
    """The same answer gets the same result; another one is refused."""
    if given.label == vote.label:
        return _told(job, vote.item, given, duplicate=True)
    labels = job.rules.labels
    who = f"Worker {vote.worker!r}" if vote.worker is not None else "This assignment"
    raise AnswerConflict(
        f"{who} has answered {vote.item.key!r} with {labels[given.label]!r} before, not {labels[vote.label]!r}"
    )


def _refuse_if_blocked(ledger: Ledger, vote: Vote) -> None:
    block = ledger.workers.get(vote.worker or "", STRANGER).block
    if block is not None:
        raise WorkerBlocked(f"Worker {vote.worker!r} is blocked: {block['reason']['message']}")


def _pay(ledger: Ledger, vote: Vote) -> None:
    """Turn a reservation into expense, or spend at once where the item is open and the budget covers it."""
    cost = vote.cost
    if vote.leased:
        ledger.reserved -= cost
    else:
        _refuse_if_closed_or_too_dear(ledger, vote)
    ledger.spent += cost
    ledger.given += 1
    if vote.lease is not None:
        ledger.settled.add(vote.lease.assignment_id)


def _refuse_if_closed_or_too_dear(ledger: Ledger, vote: Vote) -> None:
    item, cost = vote.item, vote.cost
    if item.standing.state is not ItemState.OPEN and not takes_answers(vote):
        raise ItemClosed(f"Item {item.key!r} is {item.standing.state}: {item.standing.reason.message}")
    left = ledger.remaining
    if left is not None and cost > left:
        raise BudgetExhausted(f"Item {item.key!r} costs {cost:f}, and {left:f} of the budget is left")


@dataclass
class _Run:
    """Votes that are paid for and do not touch each other, so that they can be learned from together."""

    ledger: Ledger
    votes: dict[int, Vote] = field(default_factory=dict)  # by the position among the submissions
    items: set[int] = field(default_factory=set)
    scored: set[str | None] = field(default_factory=set)
    width: int | None = None  # of the evidence

    def touches(self, vote: Vote) -> bool:
        """It is about the same item, or by a worker whom the end of an item of this run would teach us about.

        Or of another width: a model may keep so much per answer, and only rows of one length make an array.
        """
        width = len(vote.item.standing.evidence)
        return vote.item.item_id in self.items or vote.worker in self.scored or self.width not in {None, width}

    def add(self, position: int, vote: Vote) -> None:
        self.votes[position] = vote
        self.items.add(vote.item.item_id)
        self.width = len(vote.item.standing.evidence)
        if self.ledger.job.engine.model.scores_finished_items:
            voters = {answer.worker for answer in self.ledger.votes_on(vote.item.item_id)}
            self.scored |= (voters | {vote.worker}) - {None}

    def settle(self) -> dict[int, Outcome]:
        """Learn from the votes, and tell what each has led to."""
        if not self.votes:
            return {}
        engine, votes = self.ledger.job.engine, list(self.votes.values())
        items = [replace(vote.item, in_flight=vote.item.in_flight - vote.leased) for vote in votes]
        verdicts = judged(engine, _learn(self.ledger, votes), [Known.of(item) for item in items])
        first = self.ledger.given - len(votes) + 1
        told: dict[int, Outcome] = {}
        for number, (position, vote) in enumerate(self.votes.items()):
            standing, verdict = verdicts[number]
            item = replace(items[number], standing=standing)
            item, verdict, confidence = _led_to(self.ledger, vote, item, verdict)
            answer = _answer(self.ledger, vote, item, first + number, verdict, confidence)
            _enter(self.ledger, vote, item, answer)
            told[position] = _told(self.ledger.job, item, answer, duplicate=False)
        return told


def _learn(ledger: Ledger, votes: Sequence[Vote]) -> State:
    """The items' state after these votes, and what the ledger knows of their workers; one worker's votes in turn."""
    engine = ledger.job.engine
    pieces = []
    for some in _without_repeated_workers(votes) if ledger.newcomer.size else [votes]:
        facts = facts_of(engine, [Known.of(vote.item) for vote in some])
        skills = np.array([ledger.skill_of(vote.worker) for vote in some])
        labels = np.array([vote.label for vote in some])
        state, learned = engine.learn(state_of([vote.item.standing for vote in some]), facts, skills, labels)
        for vote, skill in zip(some, learned, strict=True):
            if not checks_the_item(ledger, vote):
                ledger.learn_skill(vote.worker, skill)
        pieces.append(state)
    return State(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("votes", "evidence")))


def _without_repeated_workers(votes: Sequence[Vote]) -> list[list[Vote]]:
    """Cut where a worker comes again."""
    pieces: list[list[Vote]] = [[]]
    workers: set[str | None] = set()
    for vote in votes:
        if vote.worker in workers:
            pieces.append([])
            workers.clear()
        pieces[-1].append(vote)
        workers |= {vote.worker} - {None}
    return pieces


def _led_to(ledger: Ledger, vote: Vote, item: Item, verdict: Verdict) -> tuple[Item, Verdict, float]:
    """The item after the vote, and what is told of it: verdict and confidence."""
    if vote.item.gold is None:
        item, verdict = _kept_closed(item, vote.item.standing, verdict)
        return item, verdict, item.standing.confidence
    if refutes_the_item(ledger, vote):
        return demoted(ledger, item), *as_if_new(ledger, vote)
    return _kept_closed(item, vote.item.standing, verdict)[0], *as_if_new(ledger, vote)


def _kept_closed(item: Item, before: Standing, verdict: Verdict) -> tuple[Item, Verdict]:
    """An item that closed while this lease was out stays closed: its verdict was given."""
    if before.state is ItemState.OPEN:
        return item, verdict
    standing = replace(before, votes=item.standing.votes, evidence=item.standing.evidence)
    return replace(item, standing=standing), Verdict(DECISION_OF[before.state], before.reason, before.label)


def _enter(ledger: Ledger, vote: Vote, item: Item, answer: Answer) -> None:
    """Into the ledger, with the job's counters in step."""
    before, after = vote.item.standing, item.standing
    ledger.progress += after.progress - before.progress
    ledger.add(answer)
    _tally(ledger, vote, item)
    ledger.items[item.item_id] = item
    ledger.changed_items.add(item.item_id)
    ledger.resolved += (after.state is ItemState.RESOLVED) - (before.state is ItemState.RESOLVED)
    ledger.given_up += (after.state is ItemState.GIVEN_UP) - (before.state is ItemState.GIVEN_UP)
    if before.state is ItemState.OPEN and after.label is not None:
        _score_workers(ledger, item.item_id, after.label)
    if is_promoted(ledger, before, item):
        ledger.promoted.add(item.item_id)
    if vote.item.promoted and not item.promoted:
        ledger.demoted.add(item.item_id)


def _tally(ledger: Ledger, vote: Vote, item: Item) -> None:
    """One answer more of this worker, how long it took, and whether it was right where that is known."""
    if vote.worker is None:
        return
    tally = ledger.tally_of(vote.worker)
    tally.answers += 1
    if vote.lease is not None and vote.leased:
        # Never less than nothing, whatever the clocks of two replicas say.
        tally.seconds.append(max((ledger.now - vote.lease.leased_at).total_seconds(), 0.0))
    if item.gold is not None and not checks_the_item(ledger, vote):
        tally.gold_asked += 1
        tally.gold_right += vote.label == item.gold
        model = ledger.job.engine.model
        if model.scores_finished_items:
            agreed = np.array([vote.label == item.gold])
            ledger.learn_skill(vote.worker, model.score(ledger.skill_of(vote.worker)[None, :], agreed)[0])


def _score_workers(ledger: Ledger, item_id: int, label: int) -> None:
    """A finished item tells who agreed with its label, for the models that judge workers by that."""
    model = ledger.job.engine.model
    if not model.scores_finished_items:
        return
    for answer in ledger.votes_on(item_id):
        if answer.withheld or answer.answer_id <= ledger.items[item_id].scored:
            continue
        skill = ledger.skill_of(answer.worker)[None, :]
        ledger.learn_skill(answer.worker, model.score(skill, np.array([answer.label == label]))[0])


def _answer(ledger: Ledger, vote: Vote, after: Item, number: int, verdict: Verdict, confidence: float) -> Answer:
    return Answer(
        answer_id=number,
        item_id=after.item_id,
        worker=vote.worker,
        assignment_id=vote.lease.assignment_id if vote.lease else None,
        label=vote.label,
        cost=vote.cost,
        late=vote.late,
        counted=sum(after.standing.votes) > sum(vote.item.standing.votes),
        verdict={
            "decision": verdict.decision,
            "reason": verdict.reason.as_json(),
            "label": verdict.label,
            "confidence": confidence,
        },
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
