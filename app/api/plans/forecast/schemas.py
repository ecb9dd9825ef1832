"""Forecast plans on the wire: a job that is not created yet, and how it would end."""

from decimal import Decimal
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field, field_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import AmountIn, CostIn, FirstErrorOnly, RequestBody
from app.api.plans.forecast_schemas import ForecastFacts, JobOutcomeOut
from app.api.plans.plan_schemas import PlanOut
from app.api.plans.prior_schemas import PriorIn, PriorOut
from app.policy.answers import ChoiceAnswer, OneLabelAnswer
from app.policy.core.belief import Array
from app.policy.core.text import Label
from app.policy.job_policy import JobPolicy, all_different

_MOST_ITEMS = 1_000_000
_MOST_LABELS = 100

ItemCount = Annotated[int, Field(strict=True, ge=1, le=_MOST_ITEMS)]


class ItemsOfCost(RequestBody):
    """A number of items with the same cost of an answer."""

    count: Annotated[ItemCount, Field(description="How many items")]
    cost: Annotated[CostIn, Field(description="What one answer costs")] = Decimal(1)


class CrowdIn(RequestBody):
    """Assumptions about the workers."""

    workers: Annotated[int, Field(ge=1, le=2_000, description="How many there are, all equally busy")] = 50
    skill_spread: Annotated[
        float,
        Field(ge=0, le=3, description="By how much workers differ: standard deviation of the log-odds of being right"),
    ] = 0.6


class ForecastPlanIn(JobPolicy):
    """A job as for `POST /v1/jobs`, with assumptions about its items and its crowd.

    Simulated crowds give one label per answer, so there are no forecasts of other kinds of answers.
    """

    answer: Annotated[OneLabelAnswer, Field(description="What a worker answers: one label")] = ChoiceAnswer()
    labels: Annotated[
        tuple[Label, ...],
        Field(
            min_length=2,
            description="The labels that workers choose from, 100 at most",
            json_schema_extra={"uniqueItems": True},
        ),
        AfterValidator(all_different),
    ]
    items: Annotated[
        ItemCount | Annotated[list[ItemsOfCost], FirstErrorOnly(), Field(min_length=1, max_length=100)],
        Field(description="The number of items, or the number for each cost; a million at most"),
    ]
    answer_cost: Annotated[CostIn, Field(description="What one answer costs, where `items` is a number")] = Decimal(1)
    budget: Annotated[AmountIn | None, Field(description="What all answers may cost; null: as much as it takes")] = None
    prior: Annotated[
        PriorIn | None,
        Field(description="How often workers are right; null: crowds differ as those of public data sets do"),
    ] = None
    crowd: Annotated[CrowdIn, Field(description="Who answers")] = CrowdIn()

    @field_validator("labels")
    @classmethod
    def _few_enough(cls, labels: tuple[str, ...]) -> tuple[str, ...]:
        if len(labels) > _MOST_LABELS:
            raise PydanticCustomError(
                "too_many_labels",
                "Must have at most {most} labels for a forecast, not {labels}",
                {"most": _MOST_LABELS, "labels": len(labels)},
            )
        return labels

    @field_validator("items")
    @classmethod
    def _not_too_many(cls, items: int | list[ItemsOfCost]) -> int | list[ItemsOfCost]:
        total = items if isinstance(items, int) else sum(group.count for group in items)
        if total > _MOST_ITEMS:
            raise PydanticCustomError(
                "too_many_items",
                "Must have at most {most} items in all groups together, not {total}",
                {"most": _MOST_ITEMS, "total": total},
            )
        return items

    def policy(self) -> JobPolicy:
        """Return the policy part of the job, which is already validated."""
        return JobPolicy.model_construct(**{name: getattr(self, name) for name in JobPolicy.model_fields})

    def least_cost(self) -> Decimal:
        """Return the cost of the cheapest answer."""
        return self.answer_cost if isinstance(self.items, int) else min(group.cost for group in self.items)

    def costs(self) -> Array:
        """Return the cost of an answer on each item, shape (items,)."""
        if isinstance(self.items, int):
            return np.full(self.items, float(self.answer_cost))
        return np.repeat([float(group.cost) for group in self.items], [group.count for group in self.items])


class ForecastPlanOut(JobOutcomeOut, ForecastFacts):
    """How the job would end, also with other budgets."""

    prior: Annotated[
        PriorOut | None, Field(description="The prior that was given; null: crowds as those of public data sets")
    ]
    curve: Annotated[list[JobOutcomeOut], Field(description="The same for growing budgets")]
    offer: Annotated[PlanOut, Field(description="Send it as `plan` of `POST /v1/jobs` to create this job")]
