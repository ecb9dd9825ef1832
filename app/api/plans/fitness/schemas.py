"""Fitness plans on the wire: should the crowd, an expert or a model solve a problem?"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from app.api.http.common_schemas import AmountIn, AmountOut, CostIn, Number, ReasonOut, RequestBody, Share
from app.api.plans.accuracy_cost.schemas import MOST_WORKERS
from app.api.plans.default_job_schemas import ONE, AnswerCost
from app.api.plans.plan_schemas import Offer
from app.api.plans.prior_schemas import PriorIn, PriorOut
from app.policy.core.text import Key

WayName = Literal["guess", "model", "expert", "crowd", "crowd-expert", "model-crowd", "model-crowd-expert"]


class ExpertIn(RequestBody):
    """An expert whose answer is final."""

    price: Annotated[CostIn, Field(description="What an answer of the expert costs")]
    accuracy: Annotated[float, Field(gt=0.5, le=1, description="How often the expert is right")] = 1.0


class LabelModelIn(RequestBody):
    """A model that labels items without asking anyone."""

    accuracy: Annotated[float, Field(ge=0.5, le=1, description="How often its label is right")]
    price: Annotated[AmountIn, Field(description="What a label of the model costs")] = Decimal(0)


class FitnessIn(RequestBody):
    """What an answer is worth, what a wrong one costs, and who could give it."""

    value: Annotated[AmountIn, Field(description="What an answer is worth, right or wrong")]
    loss: Annotated[AmountIn, Field(description="What a wrong answer costs")]
    cost: AnswerCost = ONE
    prior: Annotated[PriorIn, Field(description="How often workers are right; Beta(6, 2) if left out")] = PriorIn()
    max_workers: Annotated[int, Field(ge=1, le=MOST_WORKERS, description="The most answers to one item")] = 40
    expert: Annotated[ExpertIn | None, Field(description="An expert who could answer instead, or at the end")] = None
    model: Annotated[LabelModelIn | None, Field(description="A model that could label instead, or first")] = None


class WayOut(BaseModel):
    """One way to get labels, with its best strategy."""

    name: Annotated[WayName, Field(description="Who is asked, in order")]
    profit: Annotated[AmountOut, Field(description="Expected per item: value - loss if wrong - cost")]
    accuracy: Annotated[Share, Field(description="How often the result is right")]
    cost: Annotated[AmountOut, Field(description="Expected cost per item")]
    answers: Annotated[Number, Field(description="Expected answers of the crowd per item")]
    expert_share: Annotated[Share, Field(description="The share of items that go to the expert")]
    min_value: Annotated[AmountOut, Field(description="What an answer must be worth at least for this way to pay")]


class FitnessStep(BaseModel):
    """What to do at these votes."""

    votes_for: Annotated[int, Field(description="Votes for the model's label, or without a model for the stronger one")]
    votes_against: Annotated[int, Field(description="Votes for the other label")]
    action: Annotated[Literal["ask", "accept", "expert"], Field(description="Ask the crowd, stop, or ask the expert")]
    confidence: Annotated[Share, Field(description="How likely the more likely label is right")]
    reached: Annotated[Share, Field(description="How likely an item gets here")]


class OfferedWorker(BaseModel):
    """A worker whom the offered job needs."""

    worker: Annotated[Key, Field(description="A name; use your own if the worker has one", examples=["expert"])]
    price: Annotated[AmountOut, Field(description="An answer costs this times the item's cost", examples=["16"])]
    trusted: Annotated[bool, Field(description="The worker settles what the crowd leaves in doubt")]


class FitnessOut(BaseModel):
    """The ways to get labels side by side, and the best one."""

    prior: Annotated[PriorOut, Field(description="The prior that the plan used")]
    value: Annotated[AmountOut, Field(description="What an answer is worth")]
    loss: Annotated[AmountOut, Field(description="What a wrong answer costs")]
    cost: Annotated[AmountOut, Field(description="What one answer of the crowd costs")]
    crowd_pays: Annotated[bool, Field(description="The crowd alone makes a profit, and more than guessing does")]
    best: Annotated[WayName | None, Field(description="The way with the largest profit; null: none makes a profit")]
    reason: Annotated[ReasonOut, Field(description="Why this way is the best, or why none is")]
    min_value: Annotated[AmountOut, Field(description="What an answer must be worth at least for the crowd to pay")]
    ways: Annotated[list[WayOut], Field(description="All ways that are possible, the simplest first")]
    steps: Annotated[
        list[FitnessStep], Field(description="How to carry out the best way; empty if the crowd has no part in it")
    ]
    offer: Offer
    workers: Annotated[
        list[OfferedWorker],
        Field(description="Whom the offered job needs besides the crowd: send them to `POST /v1/jobs/{job}/workers`"),
    ]
