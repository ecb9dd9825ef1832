"""Offers of plans on the wire, and how a job that was created from an offer compares with its promise."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, SerializerFunctionWrapHandler, model_serializer, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import AmountIn, AmountOut, CostIn, Number, ReasonOut, RequestBody, Share, money
from app.domain.job import Job
from app.policy.aggregation import AnyAggregation, Majority
from app.policy.allocation import AnyAllocation
from app.policy.quality.gold import AutoGold, Gold
from app.policy.quality.refit_schedule import Refit
from app.policy.quality.spammers import Spammers
from app.policy.requirements import AnyRequirement
from app.policy.worker_choice import AnyWorkerChoice
from app.policy.worker_models import Anonymous, AnyWorkerModel
from app.use_cases.plans.check_plan import check_plan
from app.use_cases.plans.profit_strategy import ProfitStrategy

PlanKind = Literal["accuracy-cost", "split", "fitness", "forecast", "requirement"]
AnswerLimit = Annotated[int, Field(ge=1, le=10_000)]


class FieldsOfPlan(BaseModel):
    """The fields of a job that a plan may set. The plan leaves missing fields open."""

    requirement: Annotated[AnyRequirement | None, Field(description="When an item's answer is good enough")] = None
    allocation: Annotated[AnyAllocation | None, Field(description="Which item gets the next answer")] = None
    worker_model: Annotated[AnyWorkerModel | None, Field(description="What a worker's vote says")] = None
    aggregation: Annotated[AnyAggregation | None, Field(description="How votes become the final label")] = None
    min_labels: Annotated[AnswerLimit | None, Field(description="The smallest number of answers for every item")] = None
    max_labels: Annotated[
        AnswerLimit | None, Field(description="Give an item up after this many answers; null: no limit")
    ] = None
    max_votes_per_label: Annotated[
        AnswerLimit | None, Field(description="Give an item up once a label has this many votes; null: no limit")
    ] = None
    worker_choice: Annotated[AnyWorkerChoice | None, Field(description="Which worker is asked")] = None
    max_assignments_per_worker: Annotated[
        Annotated[int, Field(ge=1, le=100)] | None, Field(description="Live assignments of a worker who is chosen")
    ] = None
    refit: Annotated[Refit | None, Field(description="How often all answers are fitted again; null: on request")] = None
    spammers: Annotated[Spammers | None, Field(description="Which workers are blocked as spammers; null: none")] = None
    gold: Annotated[Gold | None, Field(description="How often workers get items with a known label")] = None
    auto_gold: Annotated[AutoGold | None, Field(description="Which items become gold; null: none")] = None


_JOB_FIELDS = ("budget", "answer_cost", *FieldsOfPlan.model_fields)
_NULL_SAYS_SOMETHING = {"budget", "max_labels", "max_votes_per_label", "refit", "spammers", "auto_gold"}


class PromiseIn(RequestBody):
    """What the plan predicts. A job that is created from the plan is compared with this."""

    cost_per_item: Annotated[AmountIn | None, Field(description="What the job costs per item")] = None
    answers_per_item: Annotated[float | None, Field(ge=0, le=10_000, description="Answers per item")] = None
    accuracy: Annotated[
        float | None, Field(ge=0, le=1, description="The share of resolved items whose label is right")
    ] = None
    resolved: Annotated[float | None, Field(ge=0, le=1, description="The share of items that get a label")] = None

    @model_validator(mode="after")
    def _promises_something(self) -> "PromiseIn":
        if not any(getattr(self, name) is not None for name in type(self).model_fields):
            names = ", ".join(type(self).model_fields)
            raise PydanticCustomError("no_promise", "Must have at least one of {names}", {"names": names})
        return self


class PlanIn(RequestBody, FieldsOfPlan):
    """A plan's `offer`. It fills in fields that the job leaves out."""

    kind: Annotated[PlanKind, Field(description="Which plan made the offer")]
    budget: Annotated[AmountIn | None, Field(description="What all answers together may cost; null: unlimited")] = None
    answer_cost: Annotated[
        CostIn | None, Field(description="What an answer costs where the item has no `cost` of its own")
    ] = None
    promise: Annotated[PromiseIn, Field(description="What the plan predicts")]

    def job_fields(self) -> dict[str, Any]:
        """Return the fields that it sets, by the names of a job's fields."""
        sent = {name: getattr(self, name) for name in _JOB_FIELDS if name in self.model_fields_set}
        return {name: one for name, one in sent.items() if one is not None or name in _NULL_SAYS_SOMETHING}


class PromiseOut(BaseModel):
    """What the plan predicts."""

    cost_per_item: Annotated[AmountOut | None, Field(description="What the job costs per item")] = None
    answers_per_item: Annotated[Number | None, Field(description="Answers per item")] = None
    accuracy: Annotated[Share | None, Field(description="The share of resolved items whose label is right")] = None
    resolved: Annotated[Share | None, Field(description="The share of items that get a label")] = None


class PlanOut(FieldsOfPlan):
    """An offer to create a job from: send it as `plan` of `POST /v1/jobs`."""

    kind: Annotated[PlanKind, Field(description="Which plan made the offer")]
    budget: Annotated[AmountOut | None, Field(description="What all answers together may cost; null: unlimited")] = None
    answer_cost: Annotated[
        AmountOut | None, Field(description="What an answer costs where the item has no `cost` of its own")
    ] = None
    promise: Annotated[PromiseOut, Field(description="What the plan predicts")]

    @model_serializer(mode="wrap")
    def _only_what_it_settles(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = handler(self)
        return {name: value for name, value in fields.items() if name in self.model_fields_set}

    @classmethod
    def by_votes(cls, kind: PlanKind, promise: PromiseOut, **fields: Any) -> "PlanOut":  # noqa: ANN401  its own fields
        """Create an offer for a job that counts votes, as the plan does."""
        return cls(kind=kind, worker_model=Anonymous(), aggregation=Majority(), promise=promise, **fields)


Offer = Annotated[
    PlanOut | None,
    Field(description="Send it as `plan` of `POST /v1/jobs`, with `labels`; null: no job can do what the plan does"),
]


def profit_offer(kind: PlanKind, strategy: ProfitStrategy | None, cost: Decimal) -> PlanOut | None:
    """Offer a job that asks while the next answer saves more than it costs; None beyond a job's limits."""
    if strategy is None:
        return None
    promise = PromiseOut(
        cost_per_item=money(strategy.cost_per_item),
        answers_per_item=strategy.answers_per_item,
        accuracy=strategy.accuracy,
        resolved=strategy.resolved,
    )
    limits = {"max_labels": strategy.max_answers, "max_votes_per_label": strategy.max_answers}
    return PlanOut.by_votes(kind, promise, requirement=strategy.requirement, answer_cost=cost, **limits)


class SoFarOut(BaseModel):
    """The job so far, in the units of a promise."""

    cost_per_item: Annotated[AmountOut | None, Field(description="Spent per item; null without items")]
    cost_per_resolved_item: Annotated[
        AmountOut | None, Field(description="Spent per resolved item; null if none is resolved")
    ]
    answers_per_item: Annotated[Number | None, Field(description="Answers per item; null without items")]
    resolved: Annotated[Share, Field(description="The share of items that have a label")]
    completeness: Annotated[Share, Field(description="Mean expected completeness of the items")]


class PlanComparison(ReasonOut):
    """Whether the promise is kept.

    The code is `on-track`, `more-expensive`, `cheaper`, `more-answers`, `fewer-resolved`, `less-accurate` or
    `too-early`.
    """

    basis: Annotated[
        Literal["end", "forecast", "projection", "nothing"],
        Field(
            description="What was compared with the promise: the end of the job, its forecast, or a projection of what "
            "was spent so far"
        ),
    ]


class JobPlanOut(PlanOut):
    """The plan that a job was created from, and whether its promise is kept."""

    so_far: Annotated[SoFarOut, Field(description="The job so far, in the units of the promise")]
    compared: Annotated[PlanComparison, Field(description="Whether the promise is kept")]


def job_plan_out(job: Job) -> JobPlanOut | None:
    """Build the plan as it was sent, the job in its units, and whether the promise is kept."""
    if job.plan is None:
        return None
    found = check_plan(job)
    return JobPlanOut(
        **job.plan,
        so_far=SoFarOut(
            cost_per_item=money(job.spent / job.items) if job.items else None,
            cost_per_resolved_item=money(job.spent / job.resolved) if job.resolved else None,
            answers_per_item=job.answers / job.items if job.items else None,
            resolved=job.resolved / job.items if job.items else 0.0,
            completeness=job.completeness,
        ),
        compared=PlanComparison(basis=found.basis, **found.reason.as_json()),
    )
