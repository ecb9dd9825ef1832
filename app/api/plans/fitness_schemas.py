"""What is said and answered about whether a problem is one for the crowd."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.offers import Offer
from app.api.plans.accuracy_cost_schemas import MOST_WORKERS
from app.api.plans.priors import PriorIn, PriorOut
from app.api.wire import AmountIn, AmountOut, CostIn, ReasonOut, Request

WayName = Literal["guess", "model", "expert", "crowd", "crowd-expert", "model-crowd", "model-crowd-expert"]


class ExpertIn(Request):
    """Somebody whose word ends a question."""

    price: Annotated[CostIn, Field(description="Of an expert's answer")]
    accuracy: Annotated[float, Field(gt=0.5, le=1, description="How often the expert is right")] = 1.0


class ModelIn(Request):
    """Whatever labels without asking anybody."""

    accuracy: Annotated[float, Field(ge=0.5, le=1, description="How often its label is right")]
    price: Annotated[AmountIn, Field(description="Of its label")] = Decimal(0)


class FitnessIn(Request):
    """What an answer is worth, what a wrong one costs, and who could give it."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "value": "1",
                    "loss": "5",
                    "cost": "0.05",
                    "prior": {"kind": "beta", "a": 6, "b": 2},
                    "expert": {"price": "1", "accuracy": 0.98},
                    "model": {"accuracy": 0.7, "price": "0.01"},
                }
            ]
        }
    )

    value: Annotated[AmountIn, Field(description="What an answer is worth, right or wrong")]
    loss: Annotated[AmountIn, Field(description="What a wrong answer costs")]
    cost: Annotated[CostIn, Field(description="What one answer of the crowd costs")] = Decimal(1)
    prior: Annotated[PriorIn, Field(description="How often workers are right; Beta(6, 2) if left out")] = PriorIn()
    max_workers: Annotated[int, Field(ge=1, le=MOST_WORKERS, description="The most answers to one item")] = 40
    expert: Annotated[ExpertIn | None, Field(description="An expert who could be asked instead, or at the end")] = None
    model: Annotated[ModelIn | None, Field(description="A model that could label instead, or to begin with")] = None


class WayOut(BaseModel):
    """One way to get an answer, followed as well as can be."""

    name: WayName
    profit: Annotated[AmountOut, Field(description="To expect per item: value - loss if wrong - cost")]
    accuracy: float
    cost: Annotated[AmountOut, Field(description="To expect per item")]
    answers: Annotated[float, Field(description="Of the crowd, to expect per item")]
    referred: Annotated[float, Field(description="How likely an item goes to the expert")]
    least_value: Annotated[AmountOut, Field(description="What an answer must be worth at least for this to pay")]


class Step(BaseModel):
    """What to do at some votes; `votes_for` a model's label, or else for the stronger class."""

    votes_for: int
    votes_against: int
    action: Literal["ask", "accept", "expert"]
    right: Annotated[float, Field(description="How likely the likelier label is right")]
    reached: Annotated[float, Field(description="How likely an item comes here")]


class FitnessOut(BaseModel):
    prior: PriorOut
    value: AmountOut
    loss: AmountOut
    cost: AmountOut
    fit: Annotated[bool, Field(description="The crowd alone pays: asking is better than guessing, and earns something")]
    best: Annotated[WayName | None, Field(description="The way with the largest profit; null: none has any")]
    reason: ReasonOut
    least_value: Annotated[AmountOut, Field(description="What an answer must be worth at least for the crowd to pay")]
    ways: Annotated[list[WayOut], Field(description="All that are open, the simplest first")]
    steps: Annotated[
        list[Step], Field(description="How to go about the best way, where the crowd has a part in it; else empty")
    ]
    offer: Offer
