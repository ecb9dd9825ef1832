"""Forecasts, and plans that are held to them, as they are shown."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.api.job_schemas import ForecastSeen
from app.api.offers import ComparedOut, CostRangeOut, OutlookOut, PlanSeen, RangeOut, SoFarOut
from app.api.wire import money
from app.lab.forecast import Outlook
from app.policy.planning.promise import Expected, Interval, Promise, SoFar, compare
from app.store.jobs import Job
from app.store.operations import Operation
from app.use_cases.foresight import FORECAST


def outlook_out(outlook: Outlook) -> OutlookOut:
    return _shown(asdict(outlook))


def forecast_of(job: Job) -> ForecastSeen | None:
    """What is kept of the latest forecast."""
    if job.forecast is None:
        return None
    facts = {name: job.forecast[name] for name in ("made_at", "at_answers", "level", "items", "runs", "sample")}
    cut_off = job.forecast.get("cut_off", False)  # those of earlier versions do not tell
    return ForecastSeen(**dict(_shown(job.forecast)), **facts, cut_off=cut_off)


def outcome_of(operation: Operation) -> dict[str, Any] | None:
    """What came of an operation, once it has ended; the money of a forecast as decimals."""
    found = operation.outcome
    if operation.finished_at is None or found is None:
        return None
    if operation.kind != FORECAST or "curve" not in found:
        return found
    curve = [_on_the_wire(at) for at in found["curve"]]
    return found | _on_the_wire(found) | {"curve": curve}


def plan_of(job: Job) -> PlanSeen | None:
    """The plan as it was given, how the job stands in its units, and whether it is kept."""
    if job.plan is None:
        return None
    promised = {name: value if value is None else float(value) for name, value in job.plan["promise"].items()}
    so_far = SoFar(
        job.items,
        job.resolved,
        job.given_up,
        job.answers,
        float(job.spent),
        job.completeness,
        out_of_money=job.budget is not None and job.budget - job.spent < job.least_cost,
    )
    found = compare(Promise(**promised), so_far, _expected(job))
    return PlanSeen(
        **job.plan,
        so_far=_so_far(job),
        compared=ComparedOut(basis=found.basis, **found.reason.as_json()),
    )


def _so_far(job: Job) -> SoFarOut:
    return SoFarOut(
        cost_per_item=money(job.spent / job.items) if job.items else None,
        cost_per_resolved_item=money(job.spent / job.resolved) if job.resolved else None,
        labels_per_item=job.answers / job.items if job.items else None,
        resolved=job.resolved / job.items if job.items else 0.0,
        completeness=job.completeness,
    )


def _expected(job: Job) -> Expected | None:
    """The forecast in the units of a promise: per item, and as shares."""
    if job.forecast is None or job.forecast["items"] != job.items:
        return None
    items, accuracy = job.forecast["items"], job.forecast["accuracy"]
    cost, labels, resolved = (_interval(job.forecast[name], items) for name in ("cost", "labels", "resolved"))
    return Expected(cost, labels, resolved, None if accuracy is None else _interval(accuracy, 1))


def _interval(of: Mapping[str, float], unit: int) -> Interval:
    return Interval(of["low"] / unit, of["high"] / unit)


def _on_the_wire(outlook: Mapping[str, Any]) -> dict[str, Any]:
    return _shown(outlook).model_dump(mode="json")


def _shown(outlook: Mapping[str, Any]) -> OutlookOut:
    return OutlookOut(
        budget=None if outlook["budget"] is None else money(outlook["budget"]),
        cost=CostRangeOut(**{name: money(value) for name, value in outlook["cost"].items()}),
        accuracy=None if outlook["accuracy"] is None else RangeOut(**outlook["accuracy"]),
        **{name: RangeOut(**outlook[name]) for name in ("resolved", "given_up", "open", "labels")},
    )
