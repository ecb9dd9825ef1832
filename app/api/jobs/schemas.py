"""Jobs on the wire. Field names are a contract: other programs rely on them."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from app.api.audits.schemas import TrustOut
from app.api.http.common_schemas import AmountIn, AmountOut, CostIn, Number, ReasonOut, RequestBody, Share, SixDigits
from app.api.http.pagination import NextCursor
from app.api.plans.forecast_schemas import JobForecastOut
from app.api.plans.plan_schemas import JobPlanOut, PlanIn
from app.domain.job import JobState
from app.policy.core.text import Key
from app.policy.job_policy import JobPolicy
from app.policy.requirements import AnyRequirement

_LONGEST_LEASE = 30 * 24 * 3600


def _all_required(schema: dict[str, Any]) -> None:
    """Mark all fields as required: a response has all of them, although a request may leave some out."""
    schema["required"] = list(schema["properties"])


class JobIn(JobPolicy):
    """The labels, the budget, and how sure the results must be. Only `labels` and `budget` are required."""

    name: Annotated[Key | None, Field(description="A name for people; need not be unique")] = None
    budget: Annotated[
        AmountIn | None,
        Field(description="What all answers together may cost; null: unlimited. Required unless `plan` has a budget"),
    ]
    answer_cost: Annotated[
        CostIn,
        Field(description="What an answer costs where the item has no `cost` of its own; it cannot be changed later"),
    ] = Decimal(1)
    lease_seconds: Annotated[
        int,
        Field(ge=1, le=_LONGEST_LEASE, description="How long a worker may hold an item before others get it"),
    ] = 600
    plan: Annotated[
        PlanIn | None,
        Field(
            description="The `offer` of a plan: it fills in what this job leaves out, and the job's status says "
            "whether its promise is kept"
        ),
    ] = None
    reputation: Annotated[
        UUID | None,
        Field(
            description="The id of a job with the same labels and worker model: workers begin with the skill that they "
            "have there, and confidence is calibrated as items of known truth have shown there"
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _filled_in_by_its_plan(cls, body: Any) -> Any:  # noqa: ANN401  whatever was sent
        """Fill in fields from the plan that the job leaves out; errors in the plan are reported under `plan`."""
        if not isinstance(body, dict) or not isinstance(body.get("plan"), dict):
            return body
        try:
            plan = PlanIn.model_validate(body["plan"])
        except ValidationError:
            return {"budget": None} | body
        return plan.job_fields() | body

    def policy(self) -> JobPolicy:
        """Return the policy part of the job, which is already validated."""
        return JobPolicy.model_construct(**{name: getattr(self, name) for name in JobPolicy.model_fields})


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)  # a field that is left out stays unchanged


class JobChanges(RequestBody):
    """The fields of a job that can change. A field that is left out stays unchanged."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    name: Annotated[
        Key | None, Field(description="A new name; null removes it", json_schema_extra=_without_default)
    ] = None
    budget: Annotated[
        AmountIn | None,
        Field(description="At least what is spent and reserved; null: unlimited", json_schema_extra=_without_default),
    ] = None
    # These two are never null. Their defaults are never used: only fields that were sent are read.
    lease_seconds: Annotated[
        int,
        Field(
            default=None,
            ge=1,
            le=_LONGEST_LEASE,
            description="How long new assignments last",
            json_schema_extra=_without_default,
        ),
    ]
    requirement: Annotated[
        AnyRequirement,
        Field(
            default=None,
            description="When an item's answer is good enough; every item is judged again",
            json_schema_extra=_without_default,
        ),
    ]

    @field_validator("lease_seconds", "requirement", mode="before")
    @classmethod
    def _is_something(cls, value: Any) -> Any:  # noqa: ANN401  whatever was sent
        if value is None:
            raise PydanticCustomError("null", "Must not be null; leave the field out to keep its value")
        return value

    @model_validator(mode="after")
    def _changes_something(self) -> "JobChanges":
        if not self.model_fields_set:
            raise PydanticCustomError(
                "no_change", "Must have at least one of {names}", {"names": ", ".join(type(self).model_fields)}
            )
        return self


class ItemCounts(BaseModel):
    """How many items are in which state."""

    open: Annotated[int, Field(description="Items that need more answers")]
    resolved: Annotated[int, Field(description="Items that have their label")]
    given_up: Annotated[int, Field(description="Items that reached a limit without a label that is sure enough")]


class WorkerModelInForce(BaseModel):
    """The worker model in use, and why."""

    kind: Annotated[
        str,
        Field(
            description="Under `auto` one of one-coin, two-coin, confusion and copied (some workers copy), or "
            "knows-or-guesses where labels are in order"
        ),
    ]
    reason: Annotated[ReasonOut, Field(description="Why this one")]
    heldout_log_likelihood: Annotated[
        dict[str, Number],
        Field(description="How well each model predicts held-out answers: mean log-likelihood; empty: not measured"),
    ]
    heldout_answers: Annotated[int, Field(description="How many answers were held out")]


class CostToFinishOut(BaseModel):
    """What the open items would still cost, with an interval that contains the cost in nine of ten cases."""

    estimate: Annotated[AmountOut, Field(description="The mean over the simulated runs", examples=["18.40"])]
    low: Annotated[AmountOut, Field(description="The lower end of the interval", examples=["15.10"])]
    high: Annotated[AmountOut, Field(description="The upper end of the interval", examples=["22.90"])]


class JobNames(BaseModel):
    id: Annotated[str, Field(description="The job's id, for the paths of all other operations")]
    name: Annotated[str | None, Field(description="A name for people")]


class JobOut(JobPolicy, JobNames):  # this order puts id and name first in the response
    """A job: its configuration, its money and its progress."""

    # Always created with `model_construct`: a stored configuration was validated when it was stored.
    model_config = ConfigDict(json_schema_extra=_all_required)

    budget: Annotated[AmountOut | None, Field(description="What all answers together may cost; null: unlimited")]
    answer_cost: Annotated[
        AmountOut, Field(description="What an answer costs where the item has no `cost` of its own, at the price 1")
    ]
    expected_price: Annotated[
        SixDigits,
        Field(
            description="What the job expects its workers to charge, in units of an item's cost: the median price of "
            "the registered workers, and the prices of the answers so far. The requirement `profit` and the allocation "
            "`crowdbudget` decide by it; other jobs do not follow it",
            examples=[1],
        ),
    ]
    lease_seconds: Annotated[int, Field(description="How long a worker may hold an item before others get it")]
    reputation: Annotated[UUID | None, Field(description="The job from which skills were copied")]
    worker_model_in_force: Annotated[WorkerModelInForce, Field(description="The worker model in use, and why")]
    next_refit_at: Annotated[
        int | None, Field(description="The number of answers at which the next refit starts; null: only on request")
    ]
    created_at: Annotated[datetime, Field(description="When the job was created")]
    state: Annotated[
        JobState,
        Field(
            description="`running`: it gives out work; `paused`: not until it is resumed; `exhausted`: its money buys "
            "no further answer, and none is out; `done`: no item is open"
        ),
    ]
    state_message: Annotated[
        str,
        Field(
            description="What the state means and what to do, for people",
            examples=["This job has spent its budget. Raise `budget` by about 18.40 to finish the 112 open items."],
        ),
    ]
    cost_to_finish: Annotated[
        CostToFinishOut | None,
        Field(
            description="What the open items would take once the money is spent; null before that, and until a "
            "forecast of it is there"
        ),
    ]
    spent: Annotated[AmountOut, Field(description="Paid for answers")]
    reserved: Annotated[AmountOut, Field(description="Reserved for live assignments")]
    remaining: Annotated[AmountOut | None, Field(description="budget - spent - reserved; null: unlimited")]
    answers: Annotated[int, Field(description="How many answers the job has")]
    items: Annotated[ItemCounts, Field(description="How many items are in which state")]
    completeness: Annotated[Share, Field(description="Mean expected completeness of the items")]
    warnings: Annotated[
        list[ReasonOut], Field(description="What may be a mistake, such as a budget below one answer per item")
    ]
    trust: Annotated[TrustOut, Field(description="How far the labels can be trusted")]
    plan: Annotated[JobPlanOut | None, Field(description="The job's plan, and whether its promise is kept")]
    forecast: Annotated[
        JobForecastOut | None,
        Field(
            description="How the job will probably end. Created automatically after 20 answers, again whenever the "
            "number of answers has grown by half, when the money or the items end, and by POST "
            "/v1/jobs/{job}/forecast; null: not yet"
        ),
    ]


class JobsOut(BaseModel):
    """A page of jobs."""

    jobs: Annotated[list[JobOut], Field(description="The newest first")]
    next_cursor: NextCursor
