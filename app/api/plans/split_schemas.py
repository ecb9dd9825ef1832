"""What a split of a budget is asked for, and told, over the wire."""

from itertools import groupby
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.offers import Offer
from app.api.wire import AmountOut, CostIn, ReasonOut, Request
from app.policy.planning.split import Group

MOST_DIFFERENT = 200
_MOST_COSTS = 10_000
_MOST_GROUPS = 100

Accuracy = Annotated[float, Field(ge=0.51, le=1)]


class CostGroup(Request):
    """Items that cost the same and are equally hard."""

    cost: Annotated[CostIn, Field(description="What one answer costs")]
    items: Annotated[int, Field(ge=1, le=10_000_000, description="How many items")]
    accuracy: Annotated[
        Accuracy | None, Field(description="How often workers are right on these items; null: as on all")
    ] = None


class Wanted(Request):
    """How many items may be wrong: one of the two."""

    errors: Annotated[float | None, Field(ge=1e-6, le=1e9, description="Their expected number")] = None
    error_rate: Annotated[float | None, Field(ge=1e-9, lt=0.5, description="Their expected share")] = None

    @model_validator(mode="after")
    def _one_of_the_two(self) -> "Wanted":
        if (self.errors is None) == (self.error_rate is None):
            raise PydanticCustomError("errors_or_rate", "Must have `errors` or `error_rate`, one of the two")
        return self


class SplitIn(Request):
    """What there is to spend, and what an answer on each item costs."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "budget": "500",
                    "groups": [
                        {"cost": "0.2", "items": 100, "accuracy": 0.9},
                        {"cost": "0.5", "items": 100, "accuracy": 0.8},
                        {"cost": "0.7", "items": 100, "accuracy": 0.7},
                        {"cost": "1", "items": 100, "accuracy": 0.6},
                    ],
                    "wanted": {"error_rate": 0.1},
                }
            ]
        }
    )

    budget: Annotated[CostIn, Field(description="What all answers together may cost")]
    costs: Annotated[
        list[CostIn] | None,
        Field(
            min_length=1,
            max_length=_MOST_COSTS,
            description=f"What one answer costs, item by item; at most {MOST_DIFFERENT} different costs",
        ),
    ] = None
    groups: Annotated[
        list[CostGroup] | None,
        Field(min_length=1, max_length=_MOST_GROUPS, description="Or items by the group; then there may be millions"),
    ] = None
    accuracy: Annotated[
        Accuracy, Field(description="How often workers are right on an item; their edge over guessing is 0.5 less")
    ] = 0.75
    doubt: Annotated[
        float, Field(ge=1e-12, le=0.999, description="Per item, of what Theorems 2 and 4 promise (the paper's beta)")
    ] = 0.001
    wanted: Annotated[
        Wanted | None, Field(description="How many items may be wrong: the plan says what that would cost")
    ] = None

    @model_validator(mode="after")
    def _costs_or_groups(self) -> "SplitIn":
        if (self.costs is None) == (self.groups is None):
            raise PydanticCustomError("costs_or_groups", "Must have `costs` or `groups`, one of the two")
        return self

    def in_groups(self) -> list[Group]:
        """The items in their order, runs of equal cost as groups."""
        if self.groups is not None:
            return [Group(each.cost, each.items, each.accuracy or self.accuracy) for each in self.groups]
        return [Group(cost, len(list(same)), self.accuracy) for cost, same in groupby(self.costs or ())]


class Portion(BaseModel):
    answers: Annotated[int, Field(description="For each of these items")]
    items: int


class GroupShare(BaseModel):
    cost: AmountOut
    accuracy: float
    items: int
    portions: Annotated[list[Portion], Field(description="Where they differ, the first items of a group get the most")]


class SplitOut(BaseModel):
    """One way to split the budget, and how wrong a majority of the answers would be, an even coin deciding ties."""

    groups: list[GroupShare]
    per_item: Annotated[list[int] | None, Field(description="Answers for each item, in order, where `costs` were sent")]
    spent: Annotated[AmountOut, Field(description="Never more than the budget")]
    left: AmountOut
    unasked: Annotated[int, Field(description="Items that get no answer, so that half of them will be wrong")]
    expected_errors: Annotated[float, Field(description="How many items will be wrong, exactly")]
    error_rate: Annotated[float, Field(description="Which share of the items will be wrong")]
    hoeffding: Annotated[float, Field(description="Bound on the expected errors: sum of exp(-2 n d^2)")]
    theorem_2: Annotated[
        float,
        Field(description="Bound on the expected errors that holds with `probability`; Theorem 2, its Eq. 12 mended"),
    ]


class Guarantees(BaseModel):
    """What Tran-Thanh et al. (AAMAS 2013) prove of CrowdBudget, where their proofs were mended."""

    edge: Annotated[float, Field(description="d: by how much workers are better than guessing, on the hardest items")]
    theorem_1: Annotated[
        float | None,
        Field(
            description="Bound on the expected errors, with one answer per item set aside first; null where the budget "
            "does not buy one"
        ),
    ]
    theorem_4_budget: Annotated[
        AmountOut, Field(description="From this budget on no item is wrong, with `probability`")
    ]
    probability: Annotated[float, Field(description="(1 - doubt)^items, for Theorems 2 and 4")]


class WantedOut(BaseModel):
    """Budgets, to four digits, that keep the expected errors at what is wanted; null: no sensible one does."""

    errors: float
    crowdbudget: AmountOut | None
    uniform: AmountOut | None
    better: AmountOut | None
    theorem_1: Annotated[AmountOut, Field(description="From when on Theorem 1 promises it for CrowdBudget")]


class CurvePoint(BaseModel):
    budget: AmountOut
    crowdbudget: float
    uniform: float
    better: float
    theorem_1: float | None


class SplitPlan(BaseModel):
    """Three ways to split a budget, side by side."""

    items: int
    budget: AmountOut
    take: Annotated[str, Field(description="The split with the fewest expected errors; the simplest of equal ones")]
    reason: ReasonOut
    crowdbudget: Annotated[
        SplitOut, Field(description="Answers by cost alone: floor(B / (c^2 sum of 1/c)), or one more")
    ]
    uniform: Annotated[SplitOut, Field(description="As many answers for one item as for another, or one more")]
    better: Annotated[
        SplitOut,
        Field(description="Answers by what they are worth per cost; always an odd number, for ties teach nothing"),
    ]
    no_split_below: Annotated[float, Field(description="No split of this budget can expect fewer errors")]
    guarantees: Guarantees
    wanted: WantedOut | None
    curve: Annotated[list[CurvePoint], Field(description="Expected errors by budget")]
    offer: Offer
