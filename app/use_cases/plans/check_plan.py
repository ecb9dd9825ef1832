"""Compare a running job with the promise of its plan."""

from collections.abc import Mapping

from app.domain.job import Job
from app.policy.planning.plan_check import Comparison, ExpectedEnd, ProjectedInterval, Promise, SoFar, compare


def check_plan(job: Job) -> Comparison:
    """Say whether the job keeps the promise of its plan, by its end, its forecast, or its spending so far."""
    assert job.plan is not None  # noqa: S101  only jobs with a plan are compared
    promised = {name: None if value is None else float(value) for name, value in job.plan["promise"].items()}
    so_far = SoFar(
        job.items,
        job.resolved,
        job.given_up,
        job.answers,
        float(job.spent),
        job.completeness,
        out_of_money=job.budget is not None and job.budget - job.spent < job.least_cost,
    )
    promise = Promise(
        cost_per_item=promised.get("cost_per_item"),
        answers_per_item=promised.get("answers_per_item"),
        accuracy=promised.get("accuracy"),
        resolved=promised.get("resolved"),
    )
    return compare(promise, so_far, _expected_end(job))


def _expected_end(job: Job) -> ExpectedEnd | None:
    """Convert the job's forecast to the units of a promise: per item, and shares. None if items were added since.

    A forecast is about the crowd, so it says nothing about a promise in which an expert has the last word.
    """
    if job.engine.requirement.refers_doubt:
        return None
    if job.forecast is None or job.forecast["items"] != job.items:
        return None
    items, accuracy = job.forecast["items"], job.forecast["accuracy"]
    cost, answers, resolved = (_interval(job.forecast[name], items) for name in ("cost", "labels", "resolved"))
    return ExpectedEnd(cost, answers, resolved, None if accuracy is None else _interval(accuracy, 1))


def _interval(of: Mapping[str, float], unit: int) -> ProjectedInterval:
    return ProjectedInterval(of["low"] / unit, of["high"] / unit)
