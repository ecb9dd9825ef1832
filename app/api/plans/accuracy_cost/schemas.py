"""Accuracy-cost plans on the wire."""

from math import floor
from typing import Annotated, Literal

from pydantic import BaseModel, Field, PlainSerializer, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import SHARE_BOUNDS, AmountIn, AmountOut, CostIn, Number, ReasonOut, RequestBody, Share
from app.api.plans.default_job_schemas import ONE, TWO_LABELS, AnswerCost, DefaultJobOut, LabelsOfPlan, OfferedJob
from app.api.plans.plan_schemas import Offer
from app.api.plans.prior_schemas import PriorIn, PriorOut
from app.policy.planning.value_functions import AnyValue
from app.use_cases.plans.choose_strategy import NamedPoint, StrategyRequest
from app.use_cases.plans.forecast_default_job import DefaultJobRequest

MOST_WORKERS = 100

# Rounded down, so that sending the accuracy of a point back as `at` selects the same point.
AttainableShare = Annotated[
    float, PlainSerializer(lambda share: floor(share * 1e6) / 1e6, return_type=float), SHARE_BOUNDS
]
Accuracy = Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)]


class CurvePointIn(RequestBody):
    """A point of the curve, by one of its coordinates."""

    loss: Annotated[AmountIn | None, Field(description="The best strategy if a wrong answer costs this much")] = None
    accuracy: Annotated[Accuracy | None, Field(description="The cheapest strategy that is right this often")] = None
    cost: Annotated[
        CostIn | None, Field(description="The most accurate strategy that costs at most this much per item")
    ] = None

    @model_validator(mode="after")
    def _is_one(self) -> "CurvePointIn":
        if len(self.model_fields_set) != 1 or None in (getattr(self, name) for name in self.model_fields_set):
            raise PydanticCustomError("one_coordinate", "Must have one of `loss`, `accuracy` and `cost`")
        return self


class AccuracyCostIn(RequestBody):
    """What an answer costs, what the result is worth, and what it may cost."""

    prior: Annotated[PriorIn, Field(description="How often workers are right; Beta(6, 2) if left out")] = PriorIn()
    cost: AnswerCost = ONE
    labels: LabelsOfPlan = TWO_LABELS
    job: OfferedJob = "default"
    max_workers: Annotated[int, Field(ge=1, le=MOST_WORKERS, description="The most answers to one item")] = 40
    at: Annotated[CurvePointIn | None, Field(description="Choose a point by one coordinate")] = None
    value: Annotated[AnyValue | None, Field(description="Or choose it by what a result is worth")] = None
    max_cost: Annotated[AmountIn | None, Field(description="What an item may cost on average")] = None
    budget: Annotated[AmountIn | None, Field(description="Or what all items may cost together, with `items`")] = None
    items: Annotated[int | None, Field(ge=1, le=10**9, description="How many items share the budget")] = None
    min_accuracy: Annotated[Accuracy | None, Field(description="How often the result must be right")] = None

    @model_validator(mode="after")
    def _is_consistent(self) -> "AccuracyCostIn":
        if self.budget is not None and self.items is None:
            raise PydanticCustomError("budget_and_items", "`budget` needs `items`")
        if self.budget is not None and self.max_cost is not None:
            raise PydanticCustomError("budget_or_max_cost", "Must have `max_cost`, or `budget` and `items`, not both")
        constraints = (self.value, self.max_cost, self.budget, self.min_accuracy)
        if self.at is not None and any(each is not None for each in constraints):
            message = "`at` selects the point; leave out `value`, `max_cost`, `budget` and `min_accuracy`"
            raise PydanticCustomError("at_alone", message)
        return self

    def default_job_request(self) -> DefaultJobRequest | None:
        """What a default job is asked for; None unless an accuracy is."""
        at = None if self.at is None else self.at.accuracy
        accuracy = self.min_accuracy if at is None else at
        if accuracy is None or self.job != "default":
            return None
        return DefaultJobRequest(self.labels, accuracy, self.items, float(self.cost))

    def strategy_request(self) -> StrategyRequest:
        """Convert the request for the use case."""
        at = None if self.at is None else NamedPoint(self.at.loss, self.at.accuracy, self.at.cost)
        return StrategyRequest(
            cost=self.cost,
            at=at,
            value=self.value,
            max_cost=self.max_cost,
            budget=self.budget,
            items=self.items,
            min_accuracy=self.min_accuracy,
        )


class AccuracyCostPoint(BaseModel):
    """A strategy that is the best one for some loss."""

    accuracy: Annotated[AttainableShare, Field(description="How often the result is right")]
    answers: Annotated[Number, Field(description="Expected answers per item")]
    cost: Annotated[AmountOut, Field(description="Expected cost per item")]
    loss: Annotated[AmountOut, Field(description="The strategy is best if a wrong answer costs at least this much")]


class MajorityOut(BaseModel):
    """The majority of a fixed number of answers."""

    answers: Annotated[int, Field(description="Answers per item")]
    accuracy: Annotated[Share, Field(description="How often the majority is right")]
    cost: Annotated[AmountOut, Field(description="Cost per item")]


class VoteStatus(BaseModel):
    """What to do at these votes, and what to expect from there."""

    first: Annotated[int, Field(description="Votes of the stronger label")]
    second: Annotated[int, Field(description="Votes of the other label")]
    action: Annotated[Literal["continue", "stop"], Field(description="Whether another answer pays")]
    confidence: Annotated[Share, Field(description="How likely the stronger label is right")]
    accuracy: Annotated[Share, Field(description="How likely the result will be right in the end")]
    answers: Annotated[Number, Field(description="Expected further answers")]
    cost: Annotated[AmountOut, Field(description="Expected further cost")]
    reached: Annotated[Share, Field(description="How likely an item gets here")]


class VotesToWin(BaseModel):
    """How many votes a label needs to be accepted."""

    against: Annotated[int, Field(description="Votes of the other label")]
    needed: Annotated[int, Field(description="Votes with which a label is accepted")]


class ChosenStrategy(AccuracyCostPoint):
    """The strategy that was chosen, with its table of decisions."""

    loss_below: Annotated[
        AmountOut | None, Field(description="The strategy is best up to this loss; null: however large")
    ]
    worth: Annotated[AmountOut | None, Field(description="What the result is worth by `value`; null without `value`")]
    profit: Annotated[AmountOut | None, Field(description="worth - cost, per item; null without `value`")]
    reason: Annotated[ReasonOut, Field(description="Why this strategy")]
    votes_to_win: Annotated[list[VotesToWin], Field(description="How many votes a label needs to be accepted")]
    statuses: Annotated[list[VoteStatus], Field(description="All votes that the strategy can reach, from 0:0 on")]


class MaxAccuracyOut(BaseModel):
    """The highest accuracy that the crowd can reach."""

    with_max_workers: Annotated[AttainableShare, Field(description="With `max_workers` answers per item")]
    with_any_number: Annotated[Share, Field(description="With any number of answers: P(accuracy > 1/2)")]


class AccuracyCostOut(BaseModel):
    """What each accuracy costs, and the strategy that was chosen."""

    prior: Annotated[PriorOut, Field(description="The prior that the plan used")]
    cost: Annotated[AmountOut, Field(description="What one answer costs")]
    max_workers: Annotated[int, Field(description="The most answers to one item")]
    max_accuracy: Annotated[MaxAccuracyOut, Field(description="The highest accuracy that the crowd can reach")]
    points: Annotated[
        list[AccuracyCostPoint],
        Field(description="Every strategy that is best for some loss; the first asks for no answer"),
    ]
    majorities: Annotated[
        list[MajorityOut], Field(description="For comparison: the majority of a fixed number of answers")
    ]
    chosen: Annotated[
        ChosenStrategy | None,
        Field(description="The chosen strategy; null if nothing was asked for, or if counted votes cannot reach it"),
    ]
    out_of_reach: Annotated[str | None, Field(description="Why counted votes cannot do it; null if they can")]
    default_job: Annotated[
        DefaultJobOut | None,
        Field(
            description="How a default job would end for the same request; null with `job` = `counted-votes`, or "
            "without an accuracy"
        ),
    ]
    offer: Offer
