"""What goes over the wire. Field names are a contract: outside programs rely on them."""

import json
import re
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    JsonValue,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_json

from app.api.offers import ForecastFacts, OutlookOut, PlanIn, PlanSeen
from app.api.wire import AmountIn, AmountOut, CostIn, ReasonOut, Request
from app.domain import AssignmentState, ItemState, JobState
from app.policy.requirements import AnyRequirement
from app.policy.rules import Rules
from app.policy.text import Key

MOST_ASSIGNMENTS = 100
MOST_AVAILABLE = 200
MOST_ANSWERS = 1000


_SUSPICIOUS = re.compile(rb"NaN|Infinity|\\u0000")


def _storable(value: JsonValue) -> JsonValue:
    """Refuse what JSON allows here and there but Postgres cannot keep: NaN, and the characters NUL and half a pair."""
    with suppress(ValueError):
        if not _SUSPICIOUS.search(to_json(value)):  # ten times as fast as the look below, and there may be a million
            return value
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except ValueError as error:
        raise PydanticCustomError("not_storable", "Must be JSON without NaN, Infinity or broken characters") from error
    if "\\u0000" in text:
        raise PydanticCustomError("not_storable", "Must not contain the character NUL (\\u0000)")
    return value


Json = Annotated[JsonValue, AfterValidator(_storable)]


# --- jobs


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

    kind: Annotated[str, Field(description="Under `auto`: one-coin, two-coin or confusion")]
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


# --- items


class ItemIn(Request):
    key: Annotated[Key, Field(description="Your own name for the item, unique within the job")]
    payload: Annotated[Json, Field(description="Whatever the worker needs to see; handed out as it is")] = None
    cost: Annotated[CostIn, Field(description="What one answer costs")] = Decimal(1)
    gold: Annotated[str | None, Field(description="The right label, where it is known")] = None
    prior: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1)]] | None,
        Field(description="What is believed beforehand, for example by a model: a probability per label"),
    ] = None
    features: Annotated[
        list[Annotated[float, Field(allow_inf_nan=False)]] | None,
        Field(max_length=10_000, description="Numbers that describe the item"),
    ] = None


ITEMS_EXAMPLE = [
    {"key": "i1", "payload": {"url": "https://example.org/1.jpg"}, "cost": "1"},
    {"key": "i2", "payload": {"url": "https://example.org/2.jpg"}, "cost": "1"},
]


class ItemsAdded(BaseModel):
    added: int
    unchanged: Annotated[int, Field(description="Keys that were there before with the same content")]


class AnswerSeen(BaseModel):
    """An answer as the item's story tells it."""

    worker: str | None
    label: str
    cost: AmountOut
    late: bool
    counted: bool
    answered_at: datetime
    verdict: Annotated[Literal["continue", "stop", "give_up"], Field(description="What it led to")]
    reason: ReasonOut


class ItemOut(BaseModel):
    key: str
    payload: JsonValue
    cost: AmountOut
    state: ItemState
    votes: dict[str, int]
    label: Annotated[str | None, Field(description="Once it is resolved")]
    confidence: Annotated[float, Field(ge=0, le=1)]
    priority: Annotated[float, Field(description="What one more label is worth; the highest open one is next")]
    in_flight: Annotated[int, Field(description="Answers that are out")]
    wanted: Annotated[int, Field(description="How many answers may be out at once")]
    verdict: Literal["continue", "stop", "give_up"]
    reason: ReasonOut


class ItemStory(ItemOut):
    posterior: Annotated[dict[str, float], Field(description="How likely each label is the right one")]
    answers: Annotated[list[AnswerSeen], Field(description="In the order in which they were committed")]


class ItemsOut(BaseModel):
    items: list[ItemOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


# --- next


class NextIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"worker": "w1", "count": 1}]})

    worker: Annotated[Key | None, Field(description="Who asks; without a name, nobody is kept from repeating")] = None
    workers: Annotated[
        list[Key] | None,
        Field(min_length=1, max_length=MOST_AVAILABLE, description="Who is there: the job chooses whom to ask"),
    ] = None
    count: Annotated[
        int, Field(ge=1, le=MOST_ASSIGNMENTS, description="How many live assignments the worker wants to hold")
    ] = 1

    @model_validator(mode="after")
    def _names_one_or_several(self) -> "NextIn":
        if self.worker is not None and self.workers is not None:
            raise PydanticCustomError("one_or_several", "Must have `worker` or `workers`, not both")
        return self


class Why(BaseModel):
    code: str
    message: str
    priority: float


class AssignmentOut(BaseModel):
    id: str
    item: str
    payload: JsonValue
    worker: str | None
    cost: AmountOut
    expires_at: datetime
    why: Why


class NextOut(BaseModel):
    status: Annotated[
        Literal["continue", "wait", "stop"],
        Field(description="`continue` with assignments; `wait` and ask again; `stop`: there is nothing more to do"),
    ]
    reason: ReasonOut
    retry_after: Annotated[int | None, Field(description="Seconds, with `wait`")]
    assignments: list[AssignmentOut]


class AssignmentSeen(AssignmentOut):
    state: AssignmentState


class AssignmentsOut(BaseModel):
    assignments: list[AssignmentSeen]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]


class ExtendIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"seconds": 600}]})

    seconds: Annotated[
        int | None, Field(ge=1, le=30 * 24 * 3600, description="From now on; by default the job's `lease_seconds`")
    ] = None


# --- answers


class AnswerIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"item": "i1", "worker": "w1", "label": "cat"}]})

    assignment: Annotated[str | None, Field(max_length=64, description="The assignment's id, from `next`")] = None
    item: Annotated[Key | None, Field(description="Or the item's key ...")] = None
    worker: Annotated[Key | None, Field(description="... and who answers")] = None
    label: Annotated[str, Field(max_length=200, description="One of the job's labels")]

    @model_validator(mode="after")
    def _says_which(self) -> "AnswerIn":
        if self.assignment is None and (self.item is None or self.worker is None):
            raise PydanticCustomError("which_item", "Must have `assignment`, or both `item` and `worker`")
        return self


class AnswersIn(Request):
    answers: Annotated[list[AnswerIn], Field(min_length=1, max_length=MOST_ANSWERS)]


def _one_or_many(body: Any) -> str:  # noqa: ANN401  whatever was sent
    return "many" if isinstance(body, dict) and "answers" in body else "one"


OneOrManyAnswers = Annotated[
    Annotated[AnswerIn, Tag("one")] | Annotated[AnswersIn, Tag("many")], Discriminator(_one_or_many)
]


class AnswerOut(BaseModel):
    item: str
    worker: str | None
    accepted: Literal[True] = True
    duplicate: Annotated[bool, Field(description="The same answer was here before; nothing was paid again")]
    late: Annotated[bool, Field(description="The lease had expired")]
    counted: Annotated[bool, Field(description="The vote counts towards the item's label")]
    verdict: Literal["continue", "stop", "give_up"]
    label: Annotated[str | None, Field(description="The item's label, with `stop`")]
    confidence: Annotated[float, Field(ge=0, le=1)]
    reason: ReasonOut


class FieldProblem(BaseModel):
    pointer: Annotated[str, Field(description="JSON pointer into the body, or `?name` for a query parameter")]
    message: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: Annotated[str, Field(description="Stable; for machines")]
    errors: list[FieldProblem] = []
    request_id: Annotated[str | None, Field(description="The same as in the X-Request-ID header and the log")] = None


class AnswerRefused(BaseModel):
    accepted: Literal[False] = False
    error: Problem


class AnswersOut(BaseModel):
    results: list[AnswerOut | AnswerRefused]


# --- results


class ResultOut(BaseModel):
    item: str
    label: Annotated[str | None, Field(description="null without votes, and on a tie")]
    confidence: Annotated[float, Field(ge=0, le=1, description="How likely the label is the right one")]
    state: ItemState
    votes: dict[str, int]
    reason: ReasonOut


class ResultsOut(BaseModel):
    results: list[ResultOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]
