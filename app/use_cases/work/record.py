"""Record answers: check them, pay for them, count the votes, and decide about the items."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.answer import Answer
from app.domain.item import CROWD_CANNOT_REACH, DECISION_OF, Item, ItemDecision, ItemState
from app.domain.job import Job
from app.domain.money import amount_text
from app.errors import AnswerConflict, BudgetExhausted, ItemClosed, SufficeError, WorkerBlocked
from app.policy.core.belief import State
from app.policy.core.decision import Decision, Reason, Verdict
from app.use_cases.audits.audit_ledger import write_checks
from app.use_cases.work.answer_content import estimate_of, result_of
from app.use_cases.work.judging import ItemFacts, judge, judge_as_first_vote, keep_closed, learn, without_opinions
from app.use_cases.work.ledger import Ledger, SubmittedAnswer, Vote, open_ledger, replaced_opinions, write_back
from app.use_cases.workers.blocking import block_guessers

# Answers times labels that are recorded on the event loop if no skills are learned: a few milliseconds. More labels
# take more time per answer: 100 answers with as many labels took 0.6 s of it.
_MOST_ON_LOOP = 256


@dataclass(frozen=True)
class RecordedAnswer:
    """The result that the sender of an answer gets."""

    item: str
    worker: str | None
    duplicate: bool
    late: bool
    counted: bool
    verdict: Decision
    result: Mapping[str, Any]  # the fields of the item's result, null unless it has one
    confidence: float
    reason: Reason


Outcome = RecordedAnswer | SufficeError


async def record_answers(
    connection: AsyncConnection, job: Job, sent: Sequence[Sequence[SubmittedAnswer]], now: datetime
) -> tuple[Job, list[list[Outcome]]]:
    """Record the answers of each request in their order; a refused answer does not affect the others."""
    ledger = await open_ledger(connection, job, [submission for one in sent for submission in one], now)
    order = _interleaved(ledger, sent)
    submissions = [submission for request in order for submission in sent[request]]
    if len(submissions) * len(job.policy.labels) <= _MOST_ON_LOOP and not ledger.newcomer.size:
        outcomes = iter(_record_all(ledger, submissions))
    else:
        outcomes = iter(await asyncio.to_thread(_record_all, ledger, submissions))
    scores = await write_back(connection, ledger)
    job = ledger.balanced()
    if ledger.audits.new:
        job = await write_checks(connection, job, ledger.audits, now)
    if scores and job.policy.spammers is not None:
        job = await block_guessers(connection, job, scores, now)
    by_request = {request: [next(outcomes) for _ in sent[request]] for request in order}
    return job, [by_request[request] for request in range(len(sent))]


def _interleaved(ledger: Ledger, sent: Sequence[Sequence[SubmittedAnswer]]) -> list[int]:
    """Order the requests so that answers on one item do not follow each other.

    All requests wait at the same moment, so any order is fair, and answers on different items can be judged together.
    """
    seen: Counter[int | None] = Counter()
    rounds = []
    for submissions in sent:
        item_id = ledger.item_of(submissions[0]) if len(submissions) == 1 else None
        rounds.append(seen[item_id])
        seen[item_id] += 1
    return sorted(range(len(sent)), key=rounds.__getitem__)


def _record_all(ledger: Ledger, submissions: Sequence[SubmittedAnswer]) -> list[Outcome]:
    """Check and pay answers one by one; learn from many votes at once while they do not affect each other."""
    outcomes: dict[int, Outcome] = {}
    run = _Run(ledger)
    for position, submission in enumerate(submissions):
        try:
            vote = ledger.find_vote(submission)
            if run.conflicts_with(vote):
                outcomes |= run.settle()
                run, vote = _Run(ledger), replace(vote, item=ledger.items[vote.item.item_id])
            given = ledger.answers.get(vote.key)
            if given is not None:
                outcomes[position] = _repeat(ledger.job, vote, given)
                continue
            if (record_truth := _recorder_of_truth(ledger, vote)) is not None:
                outcomes |= run.settle()  # answers are numbered in their order
                run = _Run(ledger)
                outcomes[position] = record_truth(ledger, vote)
                continue
            _check(ledger, vote)
            _pay(ledger, vote)
            run.add(position, _instead_of_opinions(ledger, vote))
        except SufficeError as refusal:
            outcomes[position] = refusal
    outcomes |= run.settle()
    return [outcomes[position] for position in range(len(submissions))]


def _recorder_of_truth(ledger: Ledger, vote: Vote) -> Callable[[Ledger, Vote], RecordedAnswer] | None:
    """Return how an answer is recorded that is the truth about its item; None: it is a vote.

    A trusted worker settles an item that the crowd has given up. An item that was assigned for that may be open again
    or resolved meanwhile; the truth was asked for and settles it all the same.
    """
    assignment, before = vote.assignment, vote.item.decision
    if assignment is not None and assignment.audit_id is not None:
        return _check_audit_item
    if not ledger.known(vote.worker).trusted or vote.item.gold is not None or before.is_settled:
        return None
    is_asked = assignment is not None and vote.under_live_assignment and assignment.why["code"] == CROWD_CANNOT_REACH
    return _settle_item if before.is_unsettled or is_asked else None


def _settle_item(ledger: Ledger, vote: Vote) -> RecordedAnswer:
    """Take the label of a trusted worker: it is paid like a vote and resolves the item, and it teaches nothing.

    It does not count as a vote, no worker is scored by it, and calibration and audits leave the item out. Items get
    here because the crowd fails on them, so what they show does not hold for the others.
    """
    _refuse_blocked(ledger, vote)
    if not vote.under_live_assignment:
        _refuse_unpaid(ledger, vote)
    _pay(ledger, vote)
    ledger.truths += 1
    settled = vote.item.decision.settled(int(vote.said))
    open_assignments = vote.item.open_assignments - vote.under_live_assignment
    item = replace(vote.item, decision=settled, open_assignments=open_assignments)
    verdict = Verdict(Decision.STOP, settled.reason, settled.label)
    answer = _answer(ledger, vote, item, ledger.given, verdict, settled)
    _enter(ledger, vote, item, answer)
    return _recorded(ledger.job, item, answer, duplicate=False)


def _check_audit_item(ledger: Ledger, vote: Vote) -> RecordedAnswer:
    """Take the truth about an item of an audit: it is paid like a vote, and it does not count as one.

    The answer of a worker who is not trusted any more is paid, and says nothing.
    """
    assert vote.assignment is not None  # noqa: S101
    _refuse_blocked(ledger, vote)
    if not vote.under_live_assignment:
        ledger.audits.refuse_if_checked(vote.assignment, vote.item.key)
        _refuse_unpaid(ledger, vote)
    if not ledger.known(vote.worker).trusted:
        message = "This worker is no longer trusted. The answer is paid, and the audit does not use it."
    elif ledger.audits.check(vote.assignment, int(vote.said), vote.worker):
        message = "The answer is the truth about this item in an audit. It does not count as a vote."
    else:
        message = "The answer is paid, but the audit no longer needs it. It does not count as a vote."
    _pay(ledger, vote)
    ledger.truths += 1
    reason = Reason("audit", message)
    shown = replace(vote.item.decision, label=int(vote.said), confidence=1.0)
    answer = _answer(ledger, vote, vote.item, ledger.given, Verdict(Decision.STOP, reason, shown.label), shown)
    item = replace(vote.item, open_assignments=vote.item.open_assignments - vote.under_live_assignment)
    ledger.add(answer)
    ledger.items[item.item_id] = item
    ledger.changed_items.add(item.item_id)
    if vote.worker is not None:
        ledger.tally_of(vote.worker).answers += 1
    return _recorded(ledger.job, item, answer, duplicate=False)


def _repeat(job: Job, vote: Vote, given: Answer) -> RecordedAnswer:
    """Return the same result for the same answer; refuse a different one."""
    if vote.tier not in (None, given.tier):
        came = "without a tier" if given.tier is None else f"with the tier {given.tier!r}"
        raise AnswerConflict(f"The answer on {vote.item.key!r} came {came}, not {vote.tier!r}. The first answer stays.")
    if given.said == vote.said:
        return _recorded(job, vote.item, given, duplicate=True)
    before, now = (job.policy.answer.content(said, job.policy.labels) for said in (given.said, vote.said))
    who = f"Worker {vote.worker!r}" if vote.worker is not None else "This assignment"
    raise AnswerConflict(
        f"{who} has already answered {vote.item.key!r} with {before!r}, not {now!r}. The first answer stays."
    )


def _check(ledger: Ledger, vote: Vote) -> None:
    """Refuse blocked workers; without a live assignment, also refuse closed items and items that cost too much."""
    _refuse_blocked(ledger, vote)
    if vote.under_live_assignment:
        return
    item = vote.item
    # Gold is closed but still takes answers; gold that the crowd made takes them only for an assignment.
    takes_answers = item.gold is not None and (not item.promoted or vote.assignment is not None)
    if item.decision.state is not ItemState.OPEN and not takes_answers:
        state = str(item.decision.state).replace("_", " ")
        raise ItemClosed(f"Item {item.key!r} is {state} and takes no more answers. {item.decision.reason.message}")
    _refuse_unpaid(ledger, vote)


def _refuse_blocked(ledger: Ledger, vote: Vote) -> None:
    block = ledger.known(vote.worker).block
    if block is not None:
        why = block["reason"]["message"].rstrip(".")
        raise WorkerBlocked(f"Worker {vote.worker!r} is blocked: {why}. Ask other workers.")


def _refuse_unpaid(ledger: Ledger, vote: Vote) -> None:
    item, left = vote.item, ledger.remaining
    if left is not None and vote.cost > left:
        raise BudgetExhausted(
            f"An answer on {item.key!r} costs {amount_text(vote.cost)}, but only {amount_text(left)} of the budget is "
            "left. Raise `budget`."
        )


def _pay(ledger: Ledger, vote: Vote) -> None:
    """Spend the reservation of a live assignment, or money from the rest of the budget."""
    if vote.under_live_assignment:
        ledger.reserved -= vote.cost
    ledger.spent += vote.cost
    ledger.given += 1
    if vote.assignment is not None:
        ledger.answered_assignments.add(vote.assignment.assignment_id)


def _instead_of_opinions(ledger: Ledger, vote: Vote) -> Vote:
    """Return the vote with the opinions about its item taken back whose source answers: nothing counts twice."""
    item = vote.item
    places = replaced_opinions(ledger.job, item, vote.worker) if item.opinions else ()
    if not places:
        return vote
    given = [answer for answer in ledger.votes_on(item.item_id) if answer.counted and not answer.withheld]
    given.sort(key=lambda answer: answer.answer_id)
    skills = [ledger.skill_of(answer.voter) for answer in given]
    for place in places:
        ledger.replaced_opinions[place].add(item.item_id)
    said = [answer.said for answer in given]
    return replace(vote, item=without_opinions(ledger.job.engine, item, places, said, skills))


@dataclass
class _Run:
    """Paid votes that do not affect each other, so that they can be learned together."""

    ledger: Ledger
    votes: dict[int, Vote] = field(default_factory=dict)  # by the position among the submissions
    items: set[int] = field(default_factory=set)
    scored: set[str | None] = field(default_factory=set)
    state_length: int | None = None  # of the model states

    def conflicts_with(self, vote: Vote) -> bool:
        """Whether the vote is on the same item, or by a worker whose skill changes when an item of this run ends.

        Or its item has a model state of another length: an array needs rows of equal length.
        """
        length = len(vote.item.decision.model_state)
        return vote.item.item_id in self.items or vote.worker in self.scored or self.state_length not in {None, length}

    def add(self, position: int, vote: Vote) -> None:
        self.votes[position] = vote
        self.items.add(vote.item.item_id)
        self.state_length = len(vote.item.decision.model_state)
        if self.ledger.job.engine.scores_finished_items:
            voters = {answer.worker for answer in self.ledger.votes_on(vote.item.item_id)}
            self.scored |= (voters | {vote.worker}) - {None}

    def settle(self) -> dict[int, Outcome]:
        """Learn from the votes, judge their items, and put both into the ledger."""
        if not self.votes:
            return {}
        ledger, votes = self.ledger, list(self.votes.values())
        items = [
            replace(vote.item, open_assignments=vote.item.open_assignments - vote.under_live_assignment)
            for vote in votes
        ]
        judged = judge(ledger.job.engine, _learn(ledger, votes), [ItemFacts.of(item) for item in items])
        first = ledger.given - len(votes) + 1
        outcomes: dict[int, Outcome] = {}
        for number, (position, vote) in enumerate(self.votes.items()):
            decision, verdict = judged[number]
            item, verdict, shown = _decided(ledger, vote, items[number], decision, verdict)
            answer = _answer(ledger, vote, item, first + number, verdict, shown)
            _enter(ledger, vote, item, answer)
            outcomes[position] = _recorded(ledger.job, item, answer, duplicate=False)
        return outcomes


def _learn(ledger: Ledger, votes: Sequence[Vote]) -> State:
    """Return the items' state after these votes, a worker's votes one by one; learned skills go into the ledger."""
    states = []
    for some in _without_repeated_workers(votes) if ledger.newcomer.size else [votes]:
        skills = np.array([ledger.skill_of(vote.voter) for vote in some])
        state, learned = learn(ledger.job.engine, [vote.item for vote in some], skills, [vote.said for vote in some])
        for vote, skill in zip(some, learned, strict=True):
            if not _checks_gold(ledger, vote):
                ledger.learn_skill(vote.voter, skill)
        states.append(state)
    if len(states) == 1:
        return states[0]
    return State(*(np.concatenate([getattr(state, name) for state in states]) for name in ("votes", "model_state")))


def _without_repeated_workers(votes: Sequence[Vote]) -> list[list[Vote]]:
    """Split the votes so that no worker occurs twice in a part."""
    pieces: list[list[Vote]] = [[]]
    workers: set[str | None] = set()
    for vote in votes:
        if vote.worker in workers:
            pieces.append([])
            workers.clear()
        pieces[-1].append(vote)
        workers |= {vote.worker} - {None}
    return pieces


def _checks_gold(ledger: Ledger, vote: Vote) -> bool:
    """Whether the answer checks an item that the crowd made gold, instead of testing the worker."""
    policy, assignment = ledger.job.policy, vote.assignment
    if not vote.item.promoted or assignment is None or policy.auto_gold is None:
        return False
    return policy.auto_gold.checks(policy.seed, assignment.assignment_id)


def _decided(
    ledger: Ledger, vote: Vote, item: Item, judged: ItemDecision, verdict: Verdict
) -> tuple[Item, Verdict, ItemDecision]:
    """Return the item after the vote, and the verdict and the decision for the sender.

    An item that closed while the worker held it stays closed. The response to an answer on gold looks like the response
    to the first answer on any other item. If a check refutes gold that the crowd made, the item is no longer gold and
    may be open again; answers that were scored by it are not scored again.
    """
    before = vote.item.decision
    with_votes = replace(before, votes=judged.votes, model_state=judged.model_state)
    kept = keep_closed(with_votes, judged, corrects=False)
    if item.gold is None:
        if kept is with_votes:
            verdict = Verdict(DECISION_OF[before.state], before.reason, before.label)
        return replace(item, decision=kept), verdict, kept
    seen, verdict = judge_as_first_vote(ledger.job.engine, vote.item, ledger.skill_of(vote.voter), vote.said)
    if _checks_gold(ledger, vote) and vote.said != item.gold:
        return replace(item, decision=judged, gold=None, promoted=False, scored=ledger.given), verdict, seen
    return replace(item, decision=kept), verdict, seen


def _enter(ledger: Ledger, vote: Vote, item: Item, answer: Answer) -> None:
    """Put the answer into the ledger, with the counters of job and worker."""
    before, after = vote.item.decision, item.decision
    ledger.progress += after.progress - before.progress
    if before.label is not None or after.label is not None:
        ledger.labels = ledger.labels.after(before, after, ledger.job.policy.answer)
    ledger.add(answer)
    _tally(ledger, vote, item)
    ledger.items[item.item_id] = item
    ledger.changed_items.add(item.item_id)
    ledger.resolved += (after.state is ItemState.RESOLVED) - (before.state is ItemState.RESOLVED)
    ledger.given_up += (after.state is ItemState.GIVEN_UP) - (before.state is ItemState.GIVEN_UP)
    if before.state is ItemState.OPEN and after.label is not None and not after.is_settled:
        _score_workers(ledger, item.item_id, after.label)
        auto_gold = ledger.job.policy.auto_gold
        if auto_gold is not None and auto_gold.promotes(np.array([after.confidence]))[0]:
            ledger.promoted.add(item.item_id)
    if vote.item.promoted and not item.promoted:
        ledger.demoted.add(item.item_id)


def _tally(ledger: Ledger, vote: Vote, item: Item) -> None:
    """Count the answer for its worker: how long it took and, on gold, whether it was right."""
    if vote.worker is None:
        return
    tally = ledger.tally_of(vote.worker)
    tally.answers += 1
    if vote.assignment is not None and vote.under_live_assignment:
        # Not negative, even if the clocks of two replicas differ.
        tally.seconds.append(max((ledger.now - vote.assignment.leased_at).total_seconds(), 0.0))
    if item.gold is not None and not _checks_gold(ledger, vote):
        agrees = ledger.job.policy.agrees(vote.said, item.gold if item.gold_value is None else item.gold_value)
        tally.gold_asked += 1
        tally.gold_right += agrees
        if ledger.job.engine.scores_finished_items:
            _score(ledger, vote.worker, agrees=agrees)


def _score_workers(ledger: Ledger, item_id: int, label: int) -> None:
    """Update the skills of workers by whether they agreed with a finished item, for worker models that use this."""
    if not ledger.job.engine.scores_finished_items:
        return
    for answer in ledger.votes_on(item_id):
        if not answer.withheld and answer.answer_id > ledger.items[item_id].scored:
            _score(ledger, answer.worker, agrees=answer.said == label)


def _score(ledger: Ledger, worker: str | None, *, agrees: bool) -> None:
    scored = ledger.job.engine.model.score(ledger.skill_of(worker)[None, :], np.array([agrees]))
    ledger.learn_skill(worker, scored[0])


def _answer(ledger: Ledger, vote: Vote, after: Item, number: int, verdict: Verdict, shown: ItemDecision) -> Answer:
    return Answer(
        answer_id=number,
        item_id=after.item_id,
        worker=vote.worker,
        assignment_id=vote.assignment.assignment_id if vote.assignment else None,
        tier=vote.tier,
        said=vote.said,
        cost=vote.cost,
        late=vote.late,
        counted=sum(after.decision.votes) > sum(vote.item.decision.votes),
        verdict={
            "decision": verdict.decision,
            "reason": {"code": verdict.reason.code, "message": verdict.reason.message},
            "label": verdict.label,
            "confidence": shown.confidence,
            **estimate_of(ledger.job, verdict.label, shown),
        },
        answered_at=ledger.now,
    )


def _recorded(job: Job, item: Item, answer: Answer, *, duplicate: bool) -> RecordedAnswer:
    verdict = answer.verdict
    return RecordedAnswer(
        item=item.key,
        worker=answer.worker,
        duplicate=duplicate,
        late=answer.late,
        counted=answer.counted,
        verdict=Decision(verdict["decision"]),
        result=result_of(job, verdict["label"], verdict),
        confidence=verdict["confidence"],
        reason=Reason(**verdict["reason"]),
    )
