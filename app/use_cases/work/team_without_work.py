"""Say in one reason why none of several workers gets an assignment."""

from collections import Counter
from collections.abc import Sequence

from app.domain.work import NextWork
from app.policy.core.decision import Reason

# By code: what is said of one of several workers, and of more. The first code that any of them was told is the code of
# the response; a code that asks to wait comes before one that asks to stop.
_WORDS = {
    "all-leased": ("waits for items that others hold", "wait for items that others hold"),
    "budget-reserved": ("waits for money that is reserved", "wait for money that is reserved"),
    "workers-busy": ("holds as many assignments as allowed", "hold as many assignments as allowed"),
    "unsettled-leased": (
        "waits for items that the crowd cannot settle",
        "wait for items that the crowd cannot settle",
    ),
    "audit-leased": ("waits for items of the audit", "wait for items of the audit"),
    "recount-running": ("waits for the end of a recount", "wait for the end of a recount"),
    "refit-running": ("waits for the end of a refit", "wait for the end of a refit"),
    "worker-low-information": (
        "gets no new work until a refit decides again",
        "get no new work until a refit decides again",
    ),
    "no-items": ("waits for items", "wait for items"),
    "all-resolved": ("has no open item", "have no open item"),
    "budget-exhausted": ("costs more than the money that is left", "cost more than the money that is left"),
    "worker-has-seen-all": (
        "has answered or skipped every open item",
        "have answered or skipped every open item",
    ),
    "worker-blocked": ("is blocked", "are blocked"),
}
_OF_ONE_WORKER = {"worker-low-information", "worker-has-seen-all", "worker-blocked"}  # their messages name the worker
_ADVICE = {"budget-exhausted": "Raise `budget`.", "worker-has-seen-all": "Ask other workers."}
_ADVICE |= {"worker-blocked": "Ask other workers.", "worker-low-information": "Ask other workers, or ask again."}


def reason_of_team(found: Sequence[NextWork], money_left: str) -> NextWork:
    """Return the most favourable of the responses to several workers, with a message that holds for all of them."""
    if len(found) == 1:
        return found[0]
    told = Counter(one.reason.code for one in found)
    code = next(code for code in _WORDS if code in told)
    chosen = next(one for one in found if one.reason.code == code)
    waits = [one.retry_after for one in found if one.retry_after is not None]
    message = chosen.reason.message
    if len(told) > 1 or code in _OF_ONE_WORKER:
        parts = [f"{told[each]} {_WORDS[each][told[each] > 1]}" for each in _WORDS if each in told]
        who = f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
        start = money_left if code == "budget-exhausted" else f"None of these {len(found)} workers gets an item now"
        message = f"{start}: {who}. {_ADVICE.get(code, 'Ask again.')}"
    return NextWork(chosen.status, Reason(code, message), retry_after=min(waits, default=None))
