"""What is done about each answer alone: check it, pay it, enter it into the ledger, and tell its sender the result."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from app.domain.answer import Answer
from app.domain.item import Item, ItemDecision, ItemState
from app.domain.job import Job
from app.domain.money import amount_text
from app.errors import AnswerConflict, BudgetExhausted, ItemClosed, SufficeError, WorkerBlocked
from app.policy.core.decision import Decision, Reason, Verdict
from app.use_cases.work.answer_content import estimate_of, result_of
from app.use_cases.work.ledger import Ledger, Vote


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


def repeated(job: Job, vote: Vote, given: Answer) -> RecordedAnswer:
    """Return the same result for the same answer; refuse a different one."""
    if vote.tier not in (None, given.tier):
        came = "without a tier" if given.tier is None else f"with the tier {given.tier!r}"
        raise AnswerConflict(f"The answer on {vote.item.key!r} came {came}, not {vote.tier!r}. The first answer stays.")
    if given.said == vote.said:
        return recorded(job, vote.item, given, duplicate=True)
    before, now = (job.policy.answer.content(said, job.policy.labels) for said in (given.said, vote.said))
    who = f"Worker {vote.worker!r}" if vote.worker is not None else "This assignment"
    raise AnswerConflict(
        f"{who} has already answered {vote.item.key!r} with {before!r}, not {now!r}. The first answer stays."
    )


def checks_gold(ledger: Ledger, vote: Vote) -> bool:
    """Whether the answer checks an item that the crowd made gold, instead of testing the worker."""
    policy, assignment = ledger.job.policy, vote.assignment
    if not vote.item.promoted or assignment is None or policy.auto_gold is None:
        return False
    return policy.auto_gold.checks(policy.seed, assignment.assignment_id)


def check_vote(ledger: Ledger, vote: Vote) -> None:
    """Refuse blocked workers; without a live assignment, also refuse closed items and items that cost too much."""
    refuse_blocked(ledger, vote)
    if vote.under_live_assignment:
        return
    item = vote.item
    # Gold is closed but still takes answers; gold that the crowd made takes them only for an assignment.
    takes_answers = item.gold is not None and (not item.promoted or vote.assignment is not None)
    if item.decision.state is not ItemState.OPEN and not takes_answers:
        state = str(item.decision.state).replace("_", " ")
        raise ItemClosed(f"Item {item.key!r} is {state} and takes no more answers. {item.decision.reason.message}")
    refuse_unpaid(ledger, vote)


def refuse_blocked(ledger: Ledger, vote: Vote) -> None:
    block = ledger.known(vote.worker).block
    if block is not None:
        why = block["reason"]["message"].rstrip(".")
        raise WorkerBlocked(f"Worker {vote.worker!r} is blocked: {why}. Ask other workers.")


def refuse_unpaid(ledger: Ledger, vote: Vote) -> None:
    item, left = vote.item, ledger.remaining
    if left is not None and vote.cost > left:
        raise BudgetExhausted(
            f"An answer on {item.key!r} costs {amount_text(vote.cost)}, but only {amount_text(left)} of the budget is "
            "left. Raise `budget`."
        )


def pay(ledger: Ledger, vote: Vote) -> None:
    """Spend the reservation of a live assignment, or money from the rest of the budget."""
    if vote.under_live_assignment:
        ledger.reserved -= vote.cost
    ledger.spent += vote.cost
    ledger.given += 1
    if vote.assignment is not None:
        ledger.answered_assignments.add(vote.assignment.assignment_id)


def enter(ledger: Ledger, vote: Vote, item: Item, answer: Answer) -> None:
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
    if item.gold is not None and not checks_gold(ledger, vote):
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


def answer_to(ledger: Ledger, vote: Vote, after: Item, number: int, verdict: Verdict, shown: ItemDecision) -> Answer:
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


def recorded(job: Job, item: Item, answer: Answer, *, duplicate: bool) -> RecordedAnswer:
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
