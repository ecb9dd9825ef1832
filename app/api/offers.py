"""What a plan offers to make a job from, and what a job that was made from it is held to."""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from app.api.wire import AmountIn, AmountOut, ReasonOut, Request, money
from app.policy.aggregation import AnyAggregation, Majority
from app.policy.allocation import AnyAllocation
from app.policy.gold import AutoGold, Gold
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping import Limits, outlooks
from app.policy.refit import Refit
from app.policy.requirements import AnyRequirement, Profit
from app.policy.requirements.profit import MOST_MONEY
from app.policy.spammers import Spammers
from app.policy.worker_choice import AnyWorkerChoice
from app.policy.workers import Anonymous, AnyWorkerModel

PlanKind = Literal["accuracy-cost", "split", "fitness", "forecast", "requirement"]
Share = Annotated[float, Field(ge=0, le=1)]
Labels = Annotated[int, Field(ge=1, le=10_000)]


class Settled(BaseModel):
    """What a plan settles of a job, unless the job says it itself. What is not there it leaves open."""

    requirement: AnyRequirement | None = None
    allocation: AnyAllocation | None = None
    worker_model: AnyWorkerModel | None = None
    aggregation: AnyAggregation | None = None
    min_labels: Labels | None = None
    max_labels: Annotated[Labels | None, Field(description="null: no such limit")] = None
    max_votes_per_label: Annotated[Labels | None, Field(description="null: no such limit")] = None
    worker_choice: AnyWorkerChoice | None = None
    leases_per_worker: Annotated[int, Field(ge=1, le=100)] | None = None
    refit: Refit | None = None
    spammers: Spammers | None = None
    gold: Gold | None = None
    auto_gold: AutoGold | None = None


_SETTLED = ("budget", *Settled.model_fields)
_NULL_SAYS_SOMETHING = {"budget", "max_labels", "max_votes_per_label", "refit", "spammers", "auto_gold"}


class PromiseIn(Request):
    """What the plan leads to expect. A job that was made from it is compared with this."""

    cost_per_item: Annotated[AmountIn | None, Field(description="What the job costs, per item")] = None
    labels_per_item: Annotated[float | None, Field(ge=0, le=10_000, description="Answers per item")] = None
    accuracy: Annotated[Share | None, Field(description="The share of resolved items that are right")] = None
    resolved: Annotated[Share | None, Field(description="The share of items that get a label")] = None

    @model_validator(mode="after")
    def _promises_something(self) -> "PromiseIn":
        if not any(getattr(self, name) is not None for name in type(self).model_fields):
            names = ", ".join(type(self).model_fields)
            raise PydanticCustomError("no_promise", "Must have at least one of {names}", {"names": names})
        return self


class PlanIn(Request, Settled):
    """A plan as its endpoint offered it. What it settles is taken for the job unless the job says it itself."""

    kind: Annotated[PlanKind, Field(description="Which plan it was")]
    budget: Annotated[AmountIn | None, Field(description="null: unlimited")] = None
    promise: PromiseIn

    def said(self) -> dict[str, Any]:
        """What it settles, by the names that a job has for it."""
        sent = {name: getattr(self, name) for name in _SETTLED if name in self.model_fields_set}
        return {name: one for name, one in sent.items() if one is not None or name in _NULL_SAYS_SOMETHING}


class PromiseOut(BaseModel):
    cost_per_item: AmountOut | None = None
    labels_per_item: float | None = None
    accuracy: float | None = None
    resolved: float | None = None


class PlanOut(Settled):
    """What a job can be made from: send it as `plan` of `POST /v1/jobs`."""

    kind: PlanKind
    budget: AmountOut | None = None
    promise: PromiseOut

    @model_serializer(mode="wrap")
    def _only_what_it_settles(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        shown: dict[str, Any] = handler(self)
        return {name: value for name, value in shown.items() if name in self.model_fields_set}

    @classmethod
    def by_votes(cls, kind: PlanKind, promise: PromiseOut, **settled: Any) -> "PlanOut":  # noqa: ANN401  its own fields
        """Of a plan that goes by votes alone: so does the job."""
        return cls(kind=kind, worker_model=Anonymous(), aggregation=Majority(), promise=promise, **settled)


Offer = Annotated[
    PlanOut | None, Field(description="Send it as `plan` of `POST /v1/jobs`, with `labels`; null: no job does this")
]


@dataclass(frozen=True)
class AtStake:
    """What an answer is worth and a wrong one costs, and what it costs itself, in money; and how often it is right."""

    value: float
    loss: float
    cost: float
    prior: Prior


def profit_offer(kind: PlanKind, stakes: AtStake, most_answers: int) -> PlanOut | None:
    """A job that asks about an item for as long as the next answer saves more than it costs; None beyond its limits.

    The promise is that of the job: items that end in a tie are not resolved.
    """
    if max(stakes.value, stakes.loss) > MOST_MONEY:
        return None
    prior = (stakes.prior.a, stakes.prior.b)
    requirement = Profit(value=stakes.value, loss=stakes.loss, prior=prior, most_answers=most_answers)
    (expected,) = outlooks([requirement], Limits(1, most_answers, most_answers), stakes.prior, stakes.cost)
    promise = PromiseOut(
        cost_per_item=money(expected.labels * stakes.cost),
        labels_per_item=expected.labels,
        accuracy=expected.accuracy,
        resolved=expected.resolved,
    )
    limits = {"max_labels": most_answers, "max_votes_per_label": most_answers}
    return PlanOut.by_votes(kind, promise, requirement=requirement, **limits)


class SoFarOut(BaseModel):
    """How the job stands, in the units of a promise."""

    cost_per_item: AmountOut | None
    cost_per_resolved_item: AmountOut | None
    labels_per_item: float | None
    resolved: Annotated[float, Field(description="The share of items that have a label")]
    completeness: float


class ComparedOut(ReasonOut):
    """`on-track`, `dearer`, `cheaper`, `more-labels`, `fewer-resolved`, `less-accurate` or `too-early`."""

    basis: Annotated[
        Literal["end", "forecast", "projection", "nothing"],
        Field(description="What was held to the promise: the end, the forecast, or what was spent for what is done"),
    ]


class PlanSeen(PlanOut):
    """The plan that a job was made from, and whether the job keeps it."""

    so_far: SoFarOut
    compared: ComparedOut


class RangeOut(BaseModel):
    expected: float
    low: Annotated[float, Field(description="The interval holds the outcome with a chance of `level`")]
    high: float


class CostRangeOut(BaseModel):
    expected: AmountOut
    low: AmountOut
    high: AmountOut


class OutlookOut(BaseModel):
    """Where a job ends that may spend up to `budget`."""

    budget: Annotated[AmountOut | None, Field(description="null: as much as it takes")]
    resolved: Annotated[RangeOut, Field(description="Items that get a label")]
    given_up: RangeOut
    open: Annotated[RangeOut, Field(description="Items for which the money, or the crowd, does not last")]
    labels: RangeOut
    cost: CostRangeOut
    accuracy: Annotated[
        RangeOut | None, Field(description="The share of resolved items that are right; null: perhaps none is resolved")
    ]


class ForecastFacts(BaseModel):
    level: Annotated[float, Field(description="Of the intervals")]
    items: int
    runs: Annotated[int, Field(description="How often the job was rehearsed")]
    sample: Annotated[int, Field(description="Items that were rehearsed and stand for all")]
    cut_off: Annotated[
        bool,
        Field(
            description="Some items wanted more answers than are rehearsed, with money left: labels and costs will be "
            "higher than this says, open items fewer"
        ),
    ]
