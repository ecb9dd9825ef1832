"""Say in a sentence what state a job is in, and what its open items would still cost."""

from dataclasses import dataclass
from decimal import Decimal

from app.domain.job import Job, JobState
from app.domain.money import amount_text


@dataclass(frozen=True)
class CostToFinish:
    """What the open items would take, with an interval that holds it with a probability of 90 %."""

    estimate: Decimal
    low: Decimal
    high: Decimal


def cost_to_finish(job: Job) -> CostToFinish | None:
    """Return the cost by the latest forecast, if the job's money is spent and no answer came after the forecast."""
    found = job.forecast
    if not job.out_of_money or found is None or found.get("to_finish") is None:
        return None
    if (found["at_answers"], found["items"]) != (job.answers, job.items):
        return None
    expected, low, high = (Decimal(str(found["to_finish"][name])) for name in ("expected", "low", "high"))
    return CostToFinish(expected, low, high)


def state_message(job: Job) -> str:
    """Return a sentence about the state for people: what it means, and what to do."""
    of_all = f"{job.open:,} of {job.items:,} items are open"
    match job.state:
        case JobState.DONE:
            which = "The only item is" if job.items == 1 else f"All {job.items:,} items are"
            return f"{which} resolved or given up. Read the results."
        case JobState.PAUSED:
            return f"The job is paused: it gives out no work. {of_all}. Resume the job to go on."
        case JobState.EXHAUSTED:
            return money_is_spent(job)
    if not job.items:
        return "The job has no items yet. Add items."
    return f"The job gives out work: {of_all}."


def money_is_spent(job: Job) -> str:
    """Return the sentence about a job whose money buys no further answer."""
    left = job.remaining or Decimal(0)
    spent = "This job has spent its budget"
    if left:
        spent += f": the {amount_text(left)} that is left buys no further answer"
    which = "the open item" if job.open == 1 else f"the {job.open:,} open items"
    cost = cost_to_finish(job)
    if cost is None:
        return f"{spent}. Raise `budget` to finish {which}; a forecast of what that costs is not there yet."
    return f"{spent}. Raise `budget` by about {amount_text(max(cost.estimate - left, Decimal(0)))} to finish {which}."
