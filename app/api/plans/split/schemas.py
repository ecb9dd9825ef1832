"""Split plans on the wire: how many answers each item gets if items cost differently."""

from decimal import Decimal
from itertools import groupby
from typing import Annotated

from pydantic import BaseModel, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import AmountOut, CostIn, FirstErrorOnly, Number, ReasonOut, RequestBody, Share
from app.api.plans.plan_schemas import Offer
from app.policy.planning.split import Group

MOST_DIFFERENT = 200
_MOST_COSTS = 10_000
_MOST_GROUPS = 100

Accuracy = Annotated[float, Field(ge=0.51, le=1)]


class CostGroup(RequestBody):
    """Items that cost the same and are equally hard."""

    cost: Annotated[CostIn, Field(description="What one answer costs")]
    items: Annotated[int, Field(ge=1, le=10_000_000, description="How many items")]
    accuracy: Annotated[
        Accuracy | None, Field(description="How often workers are right on these items; null: as on all")
    ] = None


class SplitTarget(RequestBody):
    """How many items may be wrong: either a number or a share."""

    errors: Annotated[float | None, Field(ge=1e-6, le=1e9, description="Their expected number")] = None
    error_rate: Annotated[float | None, Field(ge=1e-9, lt=0.5, description="Their expected share")] = None

    @model_validator(mode="after")
    def _one_of_the_two(self) -> "SplitTarget":
        if (self.errors is None) == (self.error_rate is None):
            raise PydanticCustomError("errors_or_rate", "Must have `errors` or `error_rate`, not both")
        return self


class SplitIn(RequestBody):
    """What may be spent, and what an answer on each item costs."""

    budget: Annotated[CostIn, Field(description="What all answers together may cost")]
    costs: Annotated[
        Annotated[list[CostIn], FirstErrorOnly()] | None,
        Field(
            min_length=1,
            max_length=_MOST_COSTS,
            description=f"What one answer costs, item by item; at most {MOST_DIFFERENT} different costs",
        ),
    ] = None
    groups: Annotated[
        Annotated[list[CostGroup], FirstErrorOnly()] | None,
        Field(min_length=1, max_length=_MOST_GROUPS, description="Or groups of items; then there may be millions"),
    ] = None
    price: Annotated[
        CostIn,
        Field(
            description="What the job's workers charge, on average if they differ: an answer costs this times `cost`. "
            "Register them with their prices, and the job expects what the plan does"
        ),
    ] = Decimal(1)
    accuracy: Annotated[Accuracy, Field(description="How often workers are right on an item")] = 0.75
    doubt: Annotated[
        float,
        Field(ge=1e-12, le=0.999, description="The probability per item that Theorems 2 and 4 fail (the paper's beta)"),
    ] = 0.001
    target: Annotated[
        SplitTarget | None, Field(description="How many items may be wrong: the plan says what that would cost")
    ] = None

    @model_validator(mode="after")
    def _costs_or_groups(self) -> "SplitIn":
        if (self.costs is None) == (self.groups is None):
            raise PydanticCustomError("costs_or_groups", "Must have `costs` or `groups`, not both")
        return self

    def in_groups(self) -> list[Group]:
        """Return the items in their order; consecutive items of equal cost are a group."""
        if self.groups is not None:
            return [Group(each.cost * self.price, each.items, each.accuracy or self.accuracy) for each in self.groups]
        return [Group(cost * self.price, len(list(same)), self.accuracy) for cost, same in groupby(self.costs or ())]


class Portion(BaseModel):
    """Items of a group that get the same number of answers."""

    answers: Annotated[int, Field(description="Answers for each of these items")]
    items: Annotated[int, Field(description="How many items")]


class GroupShare(BaseModel):
    """How many answers the items of a group get."""

    cost: Annotated[AmountOut, Field(description="What one answer costs")]
    accuracy: Annotated[Share, Field(description="How often workers are right on these items")]
    items: Annotated[int, Field(description="How many items")]
    portions: Annotated[list[Portion], Field(description="If they differ, the first items get the most answers")]


class SplitOut(BaseModel):
    """One way to split the budget, and how often the majority of the answers is wrong if a coin decides ties."""

    groups: Annotated[list[GroupShare], Field(description="Answers by group, or by cost if `costs` were sent")]
    per_item: Annotated[list[int] | None, Field(description="Answers for each item, in order; null without `costs`")]
    spent: Annotated[AmountOut, Field(description="The cost of all answers, at most the budget")]
    left: Annotated[AmountOut, Field(description="budget - spent")]
    unasked_items: Annotated[int, Field(description="Items that get no answer, so that half of them are wrong")]
    expected_errors: Annotated[Number, Field(description="How many items are wrong on average")]
    error_rate: Annotated[Share, Field(description="The share of items that are wrong on average")]
    hoeffding_bound: Annotated[Number, Field(description="A bound on the expected errors: sum of exp(-2 n d^2)")]
    theorem_2_bound: Annotated[
        Number,
        Field(
            description="A bound on the expected errors that holds with `probability`: Theorem 2, with its Eq. 12 "
            "corrected"
        ),
    ]


class Guarantees(BaseModel):
    """What Tran-Thanh et al. (AAMAS 2013) prove about CrowdBudget, with corrected proofs."""

    edge: Annotated[Share, Field(description="d: by how much workers are better than guessing on the hardest items")]
    theorem_1_bound: Annotated[
        Number | None,
        Field(
            description="A bound on the expected errors, if each item first gets one answer; null if the budget is too "
            "small for one answer per item"
        ),
    ]
    theorem_4_budget: Annotated[AmountOut, Field(description="With this budget no item is wrong, with `probability`")]
    probability: Annotated[Share, Field(description="(1 - doubt)^items, for Theorems 2 and 4")]


class SplitTargetOut(BaseModel):
    """Budgets, to four digits, that reach the target for the expected errors; null if no sensible budget does."""

    errors: Annotated[Number, Field(description="The target: how many items may be wrong on average")]
    crowdbudget: Annotated[AmountOut | None, Field(description="What CrowdBudget needs")]
    uniform: Annotated[AmountOut | None, Field(description="What an equal number of answers needs")]
    by_value: Annotated[AmountOut | None, Field(description="What a split by the value of answers needs")]
    theorem_1_budget: Annotated[AmountOut, Field(description="The budget that Theorem 1 requires for CrowdBudget")]


class SplitCurvePoint(BaseModel):
    """Expected errors with a budget."""

    budget: Annotated[AmountOut, Field(description="The budget that is split")]
    crowdbudget: Annotated[Number, Field(description="Expected errors by CrowdBudget")]
    uniform: Annotated[Number, Field(description="Expected errors with an equal number of answers")]
    by_value: Annotated[Number, Field(description="Expected errors with a split by the value of answers")]
    theorem_1_bound: Annotated[Number | None, Field(description="The bound of Theorem 1 for CrowdBudget")]


class SplitPlan(BaseModel):
    """Three ways to split a budget, side by side."""

    items: Annotated[int, Field(description="How many items")]
    budget: Annotated[AmountOut, Field(description="What may be spent")]
    recommended: Annotated[str, Field(description="The split with the fewest expected errors; if equal, the simplest")]
    reason: Annotated[ReasonOut, Field(description="Why this split is recommended")]
    crowdbudget: Annotated[
        SplitOut, Field(description="Answers by cost alone: floor(B / (c^2 sum of 1/c)), or one more")
    ]
    uniform: Annotated[SplitOut, Field(description="The same number of answers for every item, or one more")]
    by_value: Annotated[
        SplitOut,
        Field(description="Answers by their value per cost; always an odd number, because ties do not help"),
    ]
    lower_bound: Annotated[Number, Field(description="No split of this budget has fewer expected errors")]
    guarantees: Annotated[Guarantees, Field(description="What is proven about CrowdBudget")]
    target: Annotated[SplitTargetOut | None, Field(description="What the target would cost; null without `target`")]
    curve: Annotated[list[SplitCurvePoint], Field(description="Expected errors by budget")]
    offer: Offer
