"""Forecasts on the wire: how a job will probably end, with intervals."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, Field

from app.api.http.common_schemas import AmountOut, Number, Share, rounded_money
from app.domain.job import Job
from app.simulation.job_forecast import JobOutcome


class RangeOut(BaseModel):
    """An expected number, with an interval that contains the outcome with the probability `interval_probability`."""

    expected: Annotated[Number, Field(description="The mean over the simulated runs")]
    low: Annotated[Number, Field(description="The lower end of the interval")]
    high: Annotated[Number, Field(description="The upper end of the interval")]


class CountRangeOut(BaseModel):
    """An expected count, with an interval that contains the outcome with the probability `interval_probability`."""

    expected: Annotated[int, Field(description="The mean over the simulated runs, rounded")]
    low: Annotated[int, Field(description="The lower end of the interval")]
    high: Annotated[int, Field(description="The upper end of the interval")]


class CostRangeOut(BaseModel):
    """An expected amount, with an interval that contains the outcome with the probability `interval_probability`."""

    expected: Annotated[AmountOut, Field(description="The mean over the simulated runs")]
    low: Annotated[AmountOut, Field(description="The lower end of the interval")]
    high: Annotated[AmountOut, Field(description="The upper end of the interval")]


class JobOutcomeOut(BaseModel):
    """How the job ends if it may spend up to `budget`."""

    budget: Annotated[AmountOut | None, Field(description="What all answers together may cost; null: unlimited")]
    resolved: Annotated[CountRangeOut, Field(description="Items that get a label")]
    given_up: Annotated[CountRangeOut, Field(description="Items that are given up")]
    open: Annotated[CountRangeOut, Field(description="Items that stay open because the money or the workers run out")]
    answers: Annotated[CountRangeOut, Field(description="Answers that are paid for")]
    cost: Annotated[CostRangeOut, Field(description="What these answers cost")]
    accuracy: Annotated[
        RangeOut | None,
        Field(description="The share of resolved items whose label is right; null if possibly none is resolved"),
    ]


class ForecastFacts(BaseModel):
    interval_probability: Annotated[
        Share, Field(description="The probability with which each interval contains the outcome")
    ]
    items: Annotated[int, Field(description="Items of the job")]
    runs: Annotated[int, Field(description="How often the job was simulated")]
    simulated_items: Annotated[int, Field(description="Items in each simulated run; a sample if less than `items`")]
    truncated: Annotated[
        bool,
        Field(
            description="Some items needed more answers than are simulated: answers and costs will be higher than the "
            "forecast says, and fewer items stay open"
        ),
    ]


class JobForecastOut(JobOutcomeOut, ForecastFacts):
    """How a running job will probably end, by its latest forecast."""

    made_at: Annotated[datetime, Field(description="When the forecast was made")]
    at_answers: Annotated[int, Field(description="How many answers the job had then")]


def job_outcome_out(outcome: JobOutcome) -> JobOutcomeOut:
    return _job_outcome(asdict(outcome))


def job_forecast_out(job: Job) -> JobForecastOut | None:
    """Convert the stored latest forecast of a job."""
    found = job.forecast
    if found is None:
        return None
    return JobForecastOut(
        **dict(_job_outcome(found)), **_facts(found), made_at=found["made_at"], at_answers=found["at_answers"]
    )


def forecast_outcome(found: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the outcome of a forecast operation, with its curve."""
    facts = {name: found[name] for name in ("made_at", "at_answers") if name in found}
    curve = [_job_outcome(at).model_dump(mode="json") for at in found["curve"]]
    return _job_outcome(found).model_dump(mode="json") | _facts(found) | facts | {"curve": curve}


def _facts(found: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "interval_probability": found["interval_probability"],
        "items": found["items"],
        "runs": found["runs"],
        "simulated_items": found["simulated_items"],
        "truncated": found.get("truncated", False),
    }


def _job_outcome(found: Mapping[str, Any]) -> JobOutcomeOut:
    return JobOutcomeOut(
        budget=None if found["budget"] is None else rounded_money(found["budget"]),
        cost=CostRangeOut(**{name: rounded_money(value) for name, value in found["cost"].items()}),
        accuracy=None if found["accuracy"] is None else RangeOut(**found["accuracy"]),
        answers=_counts(found["labels"]),
        **{name: _counts(found[name]) for name in ("resolved", "given_up", "open")},
    )


def _counts(found: Mapping[str, float]) -> CountRangeOut:
    return CountRangeOut(**{name: round(value) for name, value in found.items()})
