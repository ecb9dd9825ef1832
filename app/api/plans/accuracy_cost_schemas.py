"""What is said and answered about what accuracy costs."""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.offers import Offer
from app.api.plans.priors import PriorIn, PriorOut
from app.api.wire import AmountIn, AmountOut, CostIn, ReasonOut, Request
from app.policy.planning.value_functions import AnyValue

MOST_WORKERS = 100

Accuracy = Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)]


class AtIn(Request):
    """A point of the curve, by one of its coordinates."""

    loss: Annotated[AmountIn | None, Field(description="The best strategy where a wrong answer costs so much")] = None
    accuracy: Annotated[Accuracy | None, Field(description="The cheapest strategy that is right so often")] = None
    cost: Annotated[CostIn | None, Field(description="The most accurate strategy that costs at most so much")] = None

    @model_validator(mode="after")
    def _is_one(self) -> "AtIn":
        if len(self.model_fields_set) != 1 or None in (getattr(self, name) for name in self.model_fields_set):
            raise PydanticCustomError("one_coordinate", "Must have one of `loss`, `accuracy` and `cost`")
        return self


class AccuracyCostIn(Request):
    """What an answer costs, what the result is worth, and what it may cost."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "prior": {"kind": "beta", "a": 6, "b": 2},
                    "cost": "0.05",
                    "max_workers": 40,
                    "value": {"kind": "linear", "value": 1, "loss": 5},
                    "max_cost": "0.5",
                }
            ]
        }
    )

    prior: Annotated[PriorIn, Field(description="How often workers are right; Beta(6, 2) if left out")] = PriorIn()
    cost: Annotated[CostIn, Field(description="What one answer costs")] = Decimal(1)
    max_workers: Annotated[int, Field(ge=1, le=MOST_WORKERS, description="The most answers to one item")] = 40
    at: Annotated[AtIn | None, Field(description="Choose a point by one coordinate ...")] = None
    value: Annotated[AnyValue | None, Field(description="... or by what a result is worth")] = None
    max_cost: Annotated[AmountIn | None, Field(description="What an item may cost on average")] = None
    budget: Annotated[AmountIn | None, Field(description="Or what all items may cost together, with `items`")] = None
    items: Annotated[int | None, Field(ge=1, le=10**9, description="How many share the budget")] = None
    min_accuracy: Annotated[Accuracy | None, Field(description="How often the result must be right")] = None

    @model_validator(mode="after")
    def _is_of_one_mind(self) -> "AccuracyCostIn":
        if (self.budget is None) != (self.items is None):
            raise PydanticCustomError("budget_and_items", "`budget` and `items` must come together")
        if self.budget is not None and self.max_cost is not None:
            raise PydanticCustomError("budget_or_max_cost", "Must have `max_cost`, or `budget` and `items`, not both")
        wishes = (self.value, self.max_cost, self.budget, self.min_accuracy)
        if self.at is not None and any(wish is not None for wish in wishes):
            told = "`at` names the point: leave out `value`, `max_cost`, `budget` and `min_accuracy`"
            raise PydanticCustomError("at_alone", told)
        return self

    @property
    def most_per_item(self) -> tuple[str, float] | None:
        """The field that says it, and what an item may cost."""
        if self.budget is not None and self.items is not None:
            return "budget", float(self.budget) / self.items
        return None if self.max_cost is None else ("max_cost", float(self.max_cost))


class Point(BaseModel):
    accuracy: Annotated[float, Field(description="How often the result is right")]
    answers: Annotated[float, Field(description="To expect per item")]
    cost: Annotated[AmountOut, Field(description="To expect per item")]
    loss: Annotated[AmountOut, Field(description="What a wrong answer must cost for the point to be the best one")]


class Fixed(BaseModel):
    """The majority of a fixed number of answers."""

    answers: int
    accuracy: float
    cost: AmountOut


class Status(BaseModel):
    first: Annotated[int, Field(description="Votes of the stronger class")]
    second: Annotated[int, Field(description="Votes of the other")]
    action: Literal["continue", "stop"]
    right: Annotated[float, Field(description="How likely the stronger class is right")]
    accuracy: Annotated[float, Field(description="The same in the end, if one follows the strategy")]
    answers: Annotated[float, Field(description="Still to expect")]
    cost: Annotated[AmountOut, Field(description="Of those")]
    reached: Annotated[float, Field(description="How likely an item comes here")]


class ToWin(BaseModel):
    against: Annotated[int, Field(description="Votes of the other class")]
    needs: Annotated[int, Field(description="Votes with which a class is accepted")]


class Chosen(Point):
    loss_below: Annotated[AmountOut | None, Field(description="Up to which loss; null: however large")]
    worth: Annotated[AmountOut | None, Field(description="Of the result, by `value`")]
    profit: Annotated[AmountOut | None, Field(description="worth - cost, per item")]
    reason: ReasonOut
    votes_to_win: list[ToWin]
    statuses: Annotated[list[Status], Field(description="All that the strategy can come to, from 0:0 on")]


class Ceiling(BaseModel):
    accuracy: Annotated[float, Field(description="The highest with `max_workers`")]
    with_any_number: Annotated[float, Field(description="What no number of workers exceeds: P(accuracy > 1/2)")]


class AccuracyCostOut(BaseModel):
    prior: PriorOut
    cost: AmountOut
    max_workers: int
    ceiling: Ceiling
    points: Annotated[list[Point], Field(description="Every strategy that is best at some loss; the first asks nobody")]
    fixed: Annotated[list[Fixed], Field(description="For comparison")]
    chosen: Annotated[Chosen | None, Field(description="null where nothing was wished for")]
    offer: Offer
