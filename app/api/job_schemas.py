"""Jobs on the wire. Field names are a contract: outside programs rely on them."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import PydanticCustomError

from app.api.offers import ForecastFacts, OutlookOut, PlanIn, PlanSeen
from app.api.wire import AmountIn, AmountOut, ReasonOut, Request
from app.domain import JobState
from app.policy.requirements import AnyRequirement
from app.policy.rules import Rules
from app.policy.text import Key

# A job has a budget, or a plan that has one.
_BUDGET_OR_PLAN: dict[str, Any] = {
    "required": ["labels"],
    "anyOf": [
        {"required": ["budget"]},
        {
            "required": ["plan"],
            "properties": {
                "plan": {"type": "object", "required": ["budget"], "properties": {"budget": {"not": {"type": "null"}}}}
            },
        },
    ],
}


class JobIn(Rules):
    """What is to be labeled, what it may cost and how sure the answers must be."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "name": "cats",
                    "labels": ["cat", "dog"],
                    "budget": "100",
                    "requirement": {"kind": "ratio", "min_ratio": 4},
                    "allocation": {"kind": "requallo"},
                    "worker_model": {"kind": "tiers"},
                    "aggregation": {"kind": "majority"},
                    "min_labels": 3,
                    "max_labels": None,
                    "max_votes_per_label": 14,
                    "lease_seconds": 600,
                    "seed": 7,
                }
            ],
            **_BUDGET_OR_PLAN,
        }
    )

    name: Annotated[Key | None, Field(description="For people; need not be unique")] = None
    budget: Annotated[AmountIn | None, Field(description="What all answers together may cost; null is unlimited")]
    lease_seconds: Annotated[
        int, Field(ge=1, le=30 * 24 * 3600, description="How long a worker may hold an item before others get it")
    ] = 600

    plan: Annotated[
        PlanIn | None,
        Field(description="What a plan offered: it settles what this job leaves out, and the job is held to it"),
    ] = None
    reputation: Annotated[
        UUID | None,
        Field(
            description="The id of a job with the same labels and worker model: workers begin with the skill that they "
            "have there"
        ),
    ] = None

    @model_validator(mode="before")
    @classmethod
    def _settled_by_its_plan(cls, body: Any) -> Any:  # noqa: ANN401  whatever was sent
        """What the plan says and the job does not; a plan that cannot be read is an error of its own."""
        if not isinstance(body, dict) or not isinstance(body.get("plan"), dict):
            return body
        try:
            plan = PlanIn.model_validate(body["plan"])
        except ValidationError:
            return {"budget": None} | body
        return plan.said() | body

    def rules(self) -> Rules:
        return Rules(**{name: getattr(self, name) for name in Rules.model_fields})


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)  # what is left out stays as it is


class JobChanges(Request):
    """What may be changed of a job. What is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"name": "cats", "budget": "120", "requirement": {"kind": "ratio", "min_ratio": 5}}],
            "minProperties": 1,
        }
    )

    name: Annotated[Key | None, Field(description="null takes the name away", json_schema_extra=_without_default)] = (
        None
    )
    budget: Annotated[
        AmountIn | None,
        Field(description="At least what is spent and reserved; null is unlimited", json_schema_extra=_without_default),
    ] = None
    # These two are never null: what was not sent is read by nobody.
    lease_seconds: Annotated[
        int,
        Field(
            default=None,
            ge=1,
            le=30 * 24 * 3600,
            description="For leases from now on",
            json_schema_extra=_without_default,
        ),
    ]
    requirement: Annotated[
        AnyRequirement,
        Field(default=None, description="Every item is judged again by it", json_schema_extra=_without_default),
    ]

    @field_validator("lease_seconds", "requirement", mode="before")
    @classmethod
    def _is_something(cls, value: Any) -> Any:  # noqa: ANN401  whatever was sent
        if value is None:
            raise PydanticCustomError("null", "Must not be null; leave it out to keep it as it is")
        return value

    @model_validator(mode="after")
    def _changes_something(self) -> "JobChanges":
        if not self.model_fields_set:
            raise PydanticCustomError(
                "no_change", "Must have at least one of {names}", {"names": ", ".join(type(self).model_fields)}
            )
        return self


class ItemCounts(BaseModel):
    open: int
    resolved: int
    given_up: int


class ModelInForce(BaseModel):
    """Which worker model the job acts by, and why."""

    kind: Annotated[str, Field(description="Under `auto`: one-coin, two-coin, confusion, or copied (some repeat)")]
    reason: ReasonOut
    held_out: Annotated[
        dict[str, float],
        Field(description="Mean log-likelihood per answer that was held out, by model; empty: none yet"),
    ]
    answers: Annotated[int, Field(description="How many answers were held out")]


class JobNames(BaseModel):
    id: str
    name: str | None


class ForecastSeen(OutlookOut, ForecastFacts):
    """Where the job is going, as it was last foretold."""

    made_at: datetime
    at_answers: Annotated[int, Field(description="Answers that the job had then")]


class JobOut(Rules, JobNames):  # in this order, so that the names come first on the wire
    """A job and how it stands."""

    budget: AmountOut | None
    lease_seconds: int
    reputation: UUID | None
    worker_model_in_force: ModelInForce
    next_refit_at: Annotated[int | None, Field(description="Answers at which all are fitted anew; null: when asked to")]
    created_at: datetime
    state: JobState
    spent: Annotated[AmountOut, Field(description="Paid for answers")]
    reserved: Annotated[AmountOut, Field(description="Promised to workers who hold a lease")]
    remaining: Annotated[AmountOut | None, Field(description="budget - spent - reserved; null is unlimited")]
    answers: int
    items: ItemCounts
    completeness: Annotated[float, Field(ge=0, le=1, description="Mean expected completeness of the items")]
    plan: Annotated[PlanSeen | None, Field(description="The plan that the job was made from, and whether it is kept")]
    forecast: Annotated[
        ForecastSeen | None,
        Field(
            description="Where the job is going; made by itself from 20 answers on, and again when they have grown by "
            "half, or by POST /v1/jobs/{job}/forecast; null: not yet"
        ),
    ]


class JobsOut(BaseModel):
    jobs: list[JobOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]
