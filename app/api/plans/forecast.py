"""Foretell a job before it begins."""

from decimal import Decimal
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from app.api.dependencies import Database
from app.api.offers import ForecastFacts, OutlookOut, PlanOut, PromiseOut, Settled
from app.api.outlooks import outlook_out
from app.api.plans.apart import apart
from app.api.plans.forms import Form, in_form, plan_at
from app.api.plans.priors import PriorIn, PriorOut, explained_prior
from app.api.wire import AmountIn, CostIn, Request, money
from app.errors import FieldError, InvalidInput
from app.lab.forecast import LEVEL, QUICK, Crowd, Forecast, Range, forecast_plan
from app.plots.canvas import Paint
from app.plots.forecast import Point, shares_over_budget
from app.policy.belief import Array
from app.policy.engine import Engine
from app.policy.rules import Rules

router = APIRouter()

_MOST_ITEMS = 1_000_000
_MOST_LABELS = 100

Count = Annotated[int, Field(strict=True, ge=1, le=_MOST_ITEMS)]


class ItemsAlike(Request):
    """So many items of which an answer costs the same."""

    count: Count
    cost: CostIn = Decimal(1)


class CrowdIn(Request):
    """What is assumed of the workers."""

    workers: Annotated[int, Field(ge=1, le=2_000, description="How many there are, all equally busy")] = 50
    spread: Annotated[
        float, Field(ge=0, le=3, description="By how much workers differ: of the log-odds of being right")
    ] = 0.6


class ForecastPlanIn(Rules):
    """A job that is yet to be made, as `POST /v1/jobs` takes it, and what is believed of its items and its crowd."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "labels": ["cat", "dog"],
                    "items": 100,
                    "budget": "600",
                    "requirement": {"kind": "posterior", "min_probability": 0.95},
                    "max_labels": 10,
                    "prior": {"kind": "beta", "a": 6, "b": 2},
                    "crowd": {"workers": 50, "spread": 0.6},
                }
            ]
        }
    )

    items: Annotated[
        Count | Annotated[list[ItemsAlike], Field(min_length=1, max_length=100)],
        Field(description="How many of cost 1, or how many of each cost; a million at most"),
    ]
    budget: Annotated[AmountIn | None, Field(description="What all answers may cost; null: as much as it takes")] = None
    prior: Annotated[PriorIn, Field(description="How often workers are right on an item")] = PriorIn()
    crowd: Annotated[CrowdIn, Field(description="Who answers")] = CrowdIn()

    @field_validator("labels")
    @classmethod
    def _few_enough(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(labels) > _MOST_LABELS:
            raise PydanticCustomError(
                "too_many_labels",
                "Forecasts are made for {most} labels at most, not {labels}",
                {"most": _MOST_LABELS, "labels": len(labels)},
            )
        return labels

    @field_validator("items")
    @classmethod
    def _not_too_many(cls, items: int | list[ItemsAlike]) -> int | list[ItemsAlike]:
        total = items if isinstance(items, int) else sum(group.count for group in items)
        if total > _MOST_ITEMS:
            raise PydanticCustomError(
                "too_many_items",
                "All groups together may have {most} items, not {total}",
                {"most": _MOST_ITEMS, "total": total},
            )
        return items

    def rules(self) -> Rules:
        return Rules(**{name: getattr(self, name) for name in Rules.model_fields})

    def least_cost(self) -> Decimal:
        """Of one answer."""
        return Decimal(1) if isinstance(self.items, int) else min(group.cost for group in self.items)

    def costs(self) -> Array:
        """Of an answer on each item, shape (items,)."""
        if isinstance(self.items, int):
            return np.ones(self.items)
        return np.repeat([float(group.cost) for group in self.items], [group.count for group in self.items])


class ForecastPlanOut(OutlookOut, ForecastFacts):
    """Where the job ends, and where it would with another budget."""

    prior: PriorOut
    curve: Annotated[list[OutlookOut], Field(description="The same for growing budgets")]
    offer: Annotated[PlanOut, Field(description="Send it as `plan` of `POST /v1/jobs` to make this job")]


@plan_at(router, "/forecast", summary="Foretell a job before it begins", shows=ForecastPlanOut)
async def post_forecast(body: ForecastPlanIn, form: Form, database: Database) -> Response:
    """How many items will be resolved, how many of them rightly, and for how much: before any money is spent.

    The job is rehearsed many times by the same rules that the service decides by, with workers who are right as often
    as the prior says. Each number comes with the interval that holds nine of ten outcomes, if the prior is right. The
    same request gives the same answer; large jobs are rehearsed on a sample, and the intervals are as much wider.
    """
    _refuse_what_buys_nothing(body)
    known = await explained_prior(body.prior, database)
    prior = known.prior
    budget = None if body.budget is None else float(body.budget)
    found = await apart(_made, body, (prior.a, prior.b), budget)
    return await in_form(form, _shown(body, known.shown(), found), _picture(found, budget))


def _refuse_what_buys_nothing(body: ForecastPlanIn) -> None:
    least = body.least_cost()
    if body.budget is not None and body.budget < least:
        wrong = FieldError("#/budget", f"Must be at least {least:f}, which one answer on the cheapest item costs")
        raise InvalidInput("The budget does not buy a single answer", errors=(wrong,))


def _made(body: ForecastPlanIn, prior: tuple[float, float], budget: float | None) -> Forecast:
    rules, cost = body.rules(), body.costs()
    engine = Engine(rules, budget, float((1 / cost).sum()))
    crowd = Crowd(body.crowd.workers, body.crowd.spread)
    return forecast_plan(engine, cost, prior, crowd, work=QUICK, seed=rules.seed)


def _shown(body: ForecastPlanIn, prior: PriorOut, found: Forecast) -> ForecastPlanOut:
    return ForecastPlanOut(
        **dict(outlook_out(found.end)),
        prior=prior,
        level=LEVEL,
        items=found.items,
        runs=found.runs,
        sample=found.sample,
        cut_off=found.cut_off,
        curve=[outlook_out(at) for at in found.curve],
        offer=_offer(body, found),
    )


def _offer(body: ForecastPlanIn, found: Forecast) -> PlanOut:
    """With the budget that was given, or the one that is enough in nine cases of ten; none where that is not known."""
    end = found.end
    budget = {} if found.cut_off else {"budget": money(end.cost.high)}
    if body.budget is not None:
        budget = {"budget": body.budget}
    return PlanOut(
        kind="forecast",
        **{name: getattr(body, name) for name in Settled.model_fields},
        **budget,
        promise=PromiseOut(
            cost_per_item=money(end.cost.expected / found.items),
            labels_per_item=end.labels.expected / found.items,
            accuracy=None if end.accuracy is None else end.accuracy.expected,
            resolved=end.resolved.expected / found.items,
        ),
    )


def _picture(found: Forecast, budget: float | None) -> Paint:
    bands = {
        "items resolved": [_point(at.budget, at.resolved, found.items) for at in found.curve],
        "of those, right": [_point(at.budget, at.accuracy) for at in found.curve if at.accuracy is not None],
    }
    return shares_over_budget(f"What money buys: {found.items:,} items", bands, budget, LEVEL)


def _point(budget: float | None, found: Range, unit: float = 1.0) -> Point:
    return Point(budget or 0.0, found.expected / unit, found.low / unit, found.high / unit)
