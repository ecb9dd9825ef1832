"""Plan which requirement to ask for: what each kind costs to be right as often as is wanted."""

from collections.abc import Sequence
from decimal import Decimal
from math import floor
from typing import Annotated, Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.dependencies import Database
from app.api.offers import Offer, PlanOut, PromiseOut
from app.api.plans.apart import apart
from app.api.plans.forms import Form, in_form, plan_at
from app.api.plans.priors import KnownPrior, PriorIn, PriorOut, explained_prior
from app.api.wire import AmountOut, CostIn, ReasonOut, Request, money
from app.errors import FieldError, InvalidInput
from app.plots.requirement import Curve, Picture, painted
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.requirement_search import Choice, choices
from app.policy.planning.stopping import Limits, label_curve

router = APIRouter()


class RequirementIn(Request):
    """How often the answers must be right, and how often workers are."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"accuracy": 0.95, "prior": {"kind": "beta", "a": 6, "b": 2}, "items": 1000, "cost": "0.05"}]
        }
    )

    accuracy: Annotated[float, Field(gt=0.5, lt=1, description="Which share of the resolved items must be right")]
    prior: Annotated[PriorIn, Field(description="How often workers are right on an item, over all items")] = PriorIn()
    min_resolved: Annotated[
        float, Field(ge=0.01, le=1, description="Which share of the items must be resolved; the rest may be given up")
    ] = 0.8
    min_labels: Annotated[int, Field(ge=1, le=60, description="As of a job: labels that every item gets at least")] = 1
    max_labels: Annotated[
        int | None, Field(ge=1, le=60, description="As of a job: an item is given up after so many; null: no limit")
    ] = None
    max_votes_per_label: Annotated[
        int | None,
        Field(ge=1, le=40, description="As of a job: an item is given up when one label has so many; null: no limit"),
    ] = 14
    items: Annotated[int | None, Field(ge=1, le=10**9, description="How many items, for what they will cost")] = None
    cost: Annotated[CostIn, Field(description="What one answer costs; the loss of `profit` goes by it")] = Decimal(1)

    @model_validator(mode="after")
    def _limits_agree(self) -> "RequirementIn":
        if self.max_labels is None and self.max_votes_per_label is None:
            raise PydanticCustomError("no_limit", "Must have `max_labels` or `max_votes_per_label`: a plan has an end")
        least = min(each for each in (self.max_labels, self.max_votes_per_label) if each is not None)
        if least < self.min_labels:
            raise PydanticCustomError(
                "limits_disagree", "No limit may be below min_labels ({least})", {"least": self.min_labels}
            )
        return self

    def limits(self) -> Limits:
        return Limits(self.min_labels, self.max_labels, self.max_votes_per_label)


class LabelsAndAccuracy(BaseModel):
    labels_per_item: float
    accuracy: float


class KindOut(BaseModel):
    """What one kind of requirement offers."""

    kind: str
    reaches: Annotated[bool, Field(description="Whether it is right as often as is wanted")]
    requirement: Annotated[
        dict[str, Any] | None,
        Field(
            description="As a job takes it: the cheapest that reaches what is wanted, or else the most accurate; null "
            "where none resolves enough items"
        ),
    ]
    labels_per_item: Annotated[float | None, Field(description="To be expected, also of items that are given up")]
    labels_per_resolved: Annotated[float | None, Field(description="The same for each item that is resolved: the cost")]
    resolved: Annotated[float | None, Field(description="Which share of the items is resolved")]
    accuracy: Annotated[float | None, Field(description="Which share of the resolved items is right")]
    money: Annotated[AmountOut | None, Field(description="What all items are expected to cost; null without `items`")]
    ceiling: Annotated[float | None, Field(description="The highest accuracy that this kind can reach here")]
    curve: Annotated[list[LabelsAndAccuracy], Field(description="What it reaches with how many labels")]


class RequirementPlan(BaseModel):
    """The kinds of requirements side by side, the cheapest first."""

    prior: PriorOut
    cheapest: str
    reason: ReasonOut
    kinds: list[KindOut]
    offer: Offer


@plan_at(router, "/requirement", summary="Find the cheapest requirement for an accuracy", shows=RequirementPlan)
async def plan_requirement(given: RequirementIn, form: Form, database: Database) -> Response:
    """Use it before you create a job, when you know how often its answers must be right, but not by which rule to stop.

    For each kind of requirement the plan tells the parameters that reach the accuracy at the least cost, with the
    labels, the items resolved and the accuracy to expect. It goes through the votes that an item with two labels may
    get, and asks the job's own rules when it would stop; workers are not told apart.
    """
    known = await explained_prior(given.prior, database)
    prior = known.prior
    found = await apart(choices, given.accuracy, given.min_resolved, given.limits(), prior, float(given.cost))
    if not found[0].reaches:
        raise _out_of_reach(given, found)
    return await in_form(form, _plan(given, known, found), painted(_picture(given, prior, found)))


def _out_of_reach(given: RequirementIn, found: Sequence[Choice]) -> InvalidInput:
    top = max(found, key=lambda choice: choice.ceiling or 0.0)
    if top.ceiling is None:
        detail = f"No requirement resolves {given.min_resolved:.4g} of the items"
        return InvalidInput(
            detail, errors=(FieldError("#/min_resolved", "Must be lower, or the limits on labels higher"),)
        )
    ceiling = floor(top.ceiling * 10_000) / 10_000  # so that what is named can be had
    reached = f"the ceiling is {ceiling:g}, by {top.kind}, with {given.min_resolved:.4g} of the items resolved"
    return InvalidInput(
        f"No requirement is right that often: {reached}",
        errors=(FieldError("#/accuracy", f"Must be at most {ceiling:g}; a lower min_resolved may raise that"),),
    )


def _plan(given: RequirementIn, known: KnownPrior, found: Sequence[Choice]) -> RequirementPlan:
    kinds = [_shown(given, choice) for choice in found]
    first = kinds[0]
    return RequirementPlan(
        prior=known.shown(),
        cheapest=first.kind,
        reason=_reason(kinds),
        kinds=kinds,
        offer=_offer(given, found[0]),
    )


def _offer(given: RequirementIn, choice: Choice) -> PlanOut | None:
    if choice.best is None:
        return None
    expected = choice.best.outlook
    promise = PromiseOut(
        cost_per_item=_money(expected.labels, 1, given.cost),
        labels_per_item=expected.labels,
        accuracy=expected.accuracy,
        resolved=expected.resolved,
    )
    return PlanOut.by_votes(
        "requirement",
        promise,
        requirement=choice.best.requirement,
        min_labels=given.min_labels,
        max_labels=given.max_labels,
        max_votes_per_label=given.max_votes_per_label,
    )


def _shown(given: RequirementIn, choice: Choice) -> KindOut:
    best = choice.best
    labels = None if best is None else best.outlook.labels
    return KindOut(
        kind=choice.kind,
        reaches=choice.reaches,
        requirement=None if best is None else best.requirement.model_dump(mode="json"),
        labels_per_item=labels,
        labels_per_resolved=None if best is None else best.outlook.labels_per_answer,
        resolved=None if best is None else best.outlook.resolved,
        accuracy=None if best is None else best.outlook.accuracy,
        money=None if labels is None or given.items is None else _money(labels, given.items, given.cost),
        ceiling=choice.ceiling,
        curve=[LabelsAndAccuracy(labels_per_item=x, accuracy=y) for x, y in _points(choice)],
    )


def _money(labels: float, items: int, cost: Decimal) -> Decimal:
    return money(labels * items * float(cost))


def _points(choice: Choice) -> list[list[float]]:
    points: list[list[float]] = label_curve([found.outlook for found in choice.tried]).tolist()
    return points


def _reason(kinds: Sequence[KindOut]) -> ReasonOut:
    first, *others = kinds
    cost = f"{first.kind} costs {first.labels_per_resolved:.3g} labels for each item that it resolves"
    told = [f"{cost}, and is right on {first.accuracy:.1%} of them"]
    dearer = [f"{each.kind} {each.labels_per_resolved:.3g}" for each in others if each.reaches]
    short = [f"{each.kind} at {each.ceiling:.1%}" for each in others if not each.reaches and each.ceiling is not None]
    told += [f"dearer: {', '.join(dearer)}"] * bool(dearer) + [f"ends below: {', '.join(short)}"] * bool(short)
    return ReasonOut(code=first.kind, message="; ".join(told))


def _picture(given: RequirementIn, prior: Prior, found: Sequence[Choice]) -> Picture:
    curves = [
        Curve(
            choice.kind,
            [(labels, accuracy) for labels, accuracy in _points(choice)],
            (choice.best.outlook.labels, choice.best.outlook.accuracy) if choice.best and choice.reaches else None,
        )
        for choice in found
    ]
    return Picture(
        curves,
        given.accuracy,
        f"Which rule to stop by: workers right as B({prior.a:.3g}, {prior.b:.3g})",
        given.min_resolved,
    )
