"""Answers that are the truth about an item: those of trusted workers about what the crowd cannot decide, and audits."""

from collections.abc import Callable
from dataclasses import replace

from app.domain.item import CROWD_CANNOT_REACH
from app.policy.core.decision import Decision, Reason, Verdict
from app.use_cases.work.entering import RecordedAnswer, answer_to, enter, pay, recorded, refuse_blocked, refuse_unpaid
from app.use_cases.work.ledger import Ledger, Vote


def recorder_of_truth(ledger: Ledger, vote: Vote) -> Callable[[Ledger, Vote], RecordedAnswer] | None:
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
    refuse_blocked(ledger, vote)
    if not vote.under_live_assignment:
        refuse_unpaid(ledger, vote)
    pay(ledger, vote)
    ledger.truths += 1
    settled = vote.item.decision.settled(int(vote.said))
    open_assignments = vote.item.open_assignments - vote.under_live_assignment
    item = replace(vote.item, decision=settled, open_assignments=open_assignments)
    verdict = Verdict(Decision.STOP, settled.reason, settled.label)
    answer = answer_to(ledger, vote, item, ledger.given, verdict, settled)
    enter(ledger, vote, item, answer)
    return recorded(ledger.job, item, answer, duplicate=False)


def _check_audit_item(ledger: Ledger, vote: Vote) -> RecordedAnswer:
    """Take the truth about an item of an audit: it is paid like a vote, and it does not count as one.

    The answer of a worker who is not trusted any more is paid, and says nothing.
    """
    assert vote.assignment is not None  # noqa: S101
    refuse_blocked(ledger, vote)
    if not vote.under_live_assignment:
        ledger.audits.refuse_if_checked(vote.assignment, vote.item.key)
        refuse_unpaid(ledger, vote)
    if not ledger.known(vote.worker).trusted:
        message = "This worker is no longer trusted. The answer is paid, and the audit does not use it."
    elif ledger.audits.check(vote.assignment, int(vote.said), vote.worker):
        message = "The answer is the truth about this item in an audit. It does not count as a vote."
    else:
        message = "The answer is paid, but the audit no longer needs it. It does not count as a vote."
    pay(ledger, vote)
    ledger.truths += 1
    reason = Reason("audit", message)
    shown = replace(vote.item.decision, label=int(vote.said), confidence=1.0)
    answer = answer_to(ledger, vote, vote.item, ledger.given, Verdict(Decision.STOP, reason, shown.label), shown)
    item = replace(vote.item, open_assignments=vote.item.open_assignments - vote.under_live_assignment)
    ledger.add(answer)
    ledger.items[item.item_id] = item
    ledger.changed_items.add(item.item_id)
    if vote.worker is not None:
        ledger.tally_of(vote.worker).answers += 1
    return recorded(ledger.job, item, answer, duplicate=False)
