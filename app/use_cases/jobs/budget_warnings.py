"""Warn about a budget that cannot buy what the job needs at the least."""

from app.domain.job import Job
from app.domain.money import amount_text
from app.policy.core.decision import Reason


def budget_warnings(job: Job) -> list[Reason]:
    """Warn if the budget buys less than one answer per item, even at the lowest cost of an item and a price of 1."""
    if job.budget is None:
        return []
    cost = job.least_cost if job.items else job.answer_cost
    affordable = int(job.budget / cost)
    if affordable >= max(job.items, 1):
        return []
    each = f"The budget of {amount_text(job.budget)} buys at most {affordable:,} answers at {amount_text(cost)} each"
    if not job.items:
        return [Reason("budget-too-small", f"{each}. Raise `budget`, or set `answer_cost` to what an answer costs.")]
    message = (
        f"{each}, less than one for each of the {job.items:,} items. Raise `budget` to "
        f"{amount_text(job.items * cost)} or more. If an answer costs less, say so: `cost` of an item, or "
        "`answer_cost` of a new job."
    )
    return [Reason("budget-too-small", message)]
