"""Requirement plans on the wire: which kind of requirement reaches an accuracy at the least cost?"""

from typing import Annotated, Any

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import AmountOut, Number, ReasonOut, RequestBody, Share
from app.api.plans.default_job_schemas import ONE, TWO_LABELS, AnswerCost, DefaultJobOut, LabelsOfPlan, OfferedJob
from app.api.plans.plan_schemas import Offer
from app.api.plans.prior_schemas import PriorIn, PriorOut
from app.policy.planning.stopping import Limits
from app.use_cases.plans.forecast_default_job import DefaultJobRequest


class RequirementPlanIn(RequestBody):
    """How often the labels must be right, and how often workers are."""

    accuracy: Annotated[float, Field(gt=0.5, lt=1, description="The share of resolved items that must be right")]
    prior: Annotated[PriorIn, Field(description="How often workers are right; Beta(6, 2) if left out")] = PriorIn()
    min_resolved: Annotated[
        float, Field(ge=0.01, le=1, description="The share of items that must be resolved; others may be given up")
    ] = 0.8
    min_labels: Annotated[int, Field(ge=1, le=60, description="As in a job: the least answers per item")] = 1
    max_labels: Annotated[
        int | None,
        Field(ge=1, le=60, description="As in a job: an item is given up after this many answers; null: no limit"),
    ] = None
    max_votes_per_label: Annotated[
        int | None,
        Field(
            ge=1,
            le=40,
            description="As in a job: an item is given up when one label has this many votes; null: no limit",
        ),
    ] = 14
    items: Annotated[int | None, Field(ge=1, le=10**9, description="How many items, for `total_cost`")] = None
    cost: AnswerCost = ONE
    labels: LabelsOfPlan = TWO_LABELS
    job: OfferedJob = "default"

    @model_validator(mode="after")
    def _limits_agree(self) -> "RequirementPlanIn":
        if self.max_labels is None and self.max_votes_per_label is None:
            raise PydanticCustomError("no_limit", "Must have `max_labels` or `max_votes_per_label`, as a limit")
        least = min(each for each in (self.max_labels, self.max_votes_per_label) if each is not None)
        if least < self.min_labels:
            raise PydanticCustomError(
                "limits_disagree", "No limit may be below min_labels ({least})", {"least": self.min_labels}
            )
        return self

    def default_job_request(self) -> DefaultJobRequest:
        """What a default job is asked for."""
        return DefaultJobRequest(self.labels, self.accuracy, self.items, float(self.cost), self.limits())

    def limits(self) -> Limits:
        return Limits(self.min_labels, self.max_labels, self.max_votes_per_label)


class AnswersAndAccuracy(BaseModel):
    """A point of a curve."""

    answers_per_item: Annotated[Number, Field(description="Expected answers per item")]
    accuracy: Annotated[Share, Field(description="The share of resolved items that are right")]


class RequirementKindOut(BaseModel):
    """What one kind of requirement reaches."""

    kind: Annotated[str, Field(description="The kind of requirement")]
    reaches_accuracy: Annotated[bool, Field(description="Whether it reaches the requested accuracy")]
    requirement: Annotated[
        dict[str, Any] | None,
        Field(
            description="The cheapest requirement that reaches the accuracy, or else the most accurate; null if "
            "none resolves enough items"
        ),
    ]
    answers_per_item: Annotated[
        Number | None, Field(description="Expected answers per item, also of items that are given up")
    ]
    answers_per_resolved_item: Annotated[
        Number | None, Field(description="Expected answers for each item that is resolved; the kinds are sorted by it")
    ]
    resolved: Annotated[Share | None, Field(description="The share of items that are resolved")]
    accuracy: Annotated[Share | None, Field(description="The share of resolved items that are right")]
    total_cost: Annotated[
        AmountOut | None, Field(description="What all items are expected to cost; null without `items`")
    ]
    max_accuracy: Annotated[Share | None, Field(description="The highest accuracy that this kind can reach here")]
    curve: Annotated[list[AnswersAndAccuracy], Field(description="The accuracy by expected answers")]


class RequirementPlanOut(BaseModel):
    """The kinds of requirements side by side, the cheapest first."""

    prior: Annotated[PriorOut, Field(description="The prior that the plan used")]
    cheapest: Annotated[str, Field(description="The kind that reaches the accuracy at the least cost")]
    reason: Annotated[ReasonOut, Field(description="How the kinds compare")]
    kinds: Annotated[list[RequirementKindOut], Field(description="The cheapest first")]
    default_job: Annotated[
        DefaultJobOut | None,
        Field(description="How a default job would end for the same request; null with `job` = `counted-votes`"),
    ]
    offer: Offer
