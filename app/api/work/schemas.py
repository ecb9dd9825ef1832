"""Requests for work, assignments and answers on the wire. Field names are a contract: other programs rely on them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.http.common_schemas import (
    AmountOut,
    AnyJson,
    FirstErrorOnly,
    Probability,
    Problem,
    ReasonOut,
    RequestBody,
)
from app.api.http.pagination import NextCursor
from app.domain.assignment import AssignmentState
from app.policy.core.text import Key, Label

MOST_ASSIGNMENTS = 100
MOST_AVAILABLE = 200
MOST_ANSWERS = 1000
MOST_LABELS = 1000

Verdict = Annotated[
    Literal["continue", "stop", "give_up"],
    Field(description="`continue`: the item needs more answers; `stop`: it has its label; `give_up`: it gets none"),
]


class NextIn(RequestBody):
    """The workers who ask, and how many assignments they want."""

    worker: Annotated[
        Key | None,
        Field(description="The worker who asks. Without a name, the same person may get an item twice"),
    ] = None
    workers: Annotated[
        Annotated[list[Key], FirstErrorOnly()] | None,
        Field(min_length=1, max_length=MOST_AVAILABLE, description="The workers who are available; the job chooses"),
    ] = None
    tier: Annotated[
        Label | None,
        Field(
            description="The tier of the worker who asks, with or without a name, in a job with the worker model "
            "`tiers`; null: the tier with which the worker is registered, or the first"
        ),
    ] = None
    count: Annotated[
        int, Field(ge=1, le=MOST_ASSIGNMENTS, description="How many live assignments the worker wants to hold")
    ] = 1


class WhyOut(BaseModel):
    """Why this item was chosen."""

    code: Annotated[str, Field(description="A stable code, for programs")]
    message: Annotated[str, Field(description="A sentence, for people")]
    priority: Annotated[float, Field(description="What an answer on the item is worth")]


class AssignmentOut(BaseModel):
    """An item that a worker holds until `expires_at`, with its money reserved."""

    id: Annotated[str, Field(description="Send it as `assignment` with the answer")]
    item: Annotated[str, Field(description="The item's key")]
    payload: Annotated[AnyJson, Field(description="What the worker needs to see, as it was sent with the item")]
    worker: Annotated[str | None, Field(description="Who holds it; null if the worker has no name")]
    cost: Annotated[AmountOut, Field(description="What the answer costs: the item's cost times the worker's price")]
    expires_at: Annotated[datetime, Field(description="When others can get the item, unless it is extended")]
    why: Annotated[WhyOut, Field(description="Why this item was chosen")]


class NextOut(BaseModel):
    """The assignments that the worker holds now, or why there are none."""

    status: Annotated[
        Literal["continue", "wait", "stop"],
        Field(
            description="`continue`: work on the assignments; `wait`: ask again after `retry_after` seconds; `stop`: "
            "there will be no more work for this caller"
        ),
    ]
    reason: Annotated[ReasonOut, Field(description="Why the status is what it is")]
    retry_after: Annotated[int | None, Field(description="Seconds to wait; null unless `status` is `wait`")]
    assignments: Annotated[list[AssignmentOut], Field(description="Those that the worker already held, then new ones")]


class AssignmentRecordOut(AssignmentOut):
    """An assignment and its state."""

    state: Annotated[AssignmentState, Field(description="Whether it is live, or how it ended")]


class AssignmentsOut(BaseModel):
    """A page of assignments."""

    assignments: Annotated[list[AssignmentRecordOut], Field(description="In the order in which they were made")]
    next_cursor: NextCursor


class ExtendIn(RequestBody):
    """How long an assignment is extended."""

    seconds: Annotated[
        int | None, Field(ge=1, le=30 * 24 * 3600, description="Seconds from now; null: the job's `lease_seconds`")
    ] = None


class AnswerIn(RequestBody):
    """A worker's answer, for an assignment or for an item."""

    assignment: Annotated[str | None, Field(max_length=64, description="The assignment's id, from `next`")] = None
    item: Annotated[Key | None, Field(description="Without an assignment: the item's key")] = None
    worker: Annotated[Key | None, Field(description="Without an assignment: who answers")] = None
    tier: Annotated[
        Label | None,
        Field(
            description="The tier by which this answer is weighed, in a job with the worker model `tiers`; null: that "
            "of the request for work, of the worker, or the first"
        ),
    ] = None
    label: Annotated[
        str | None,
        Field(max_length=200, description="One of the job's labels, where answers are `choice` or `ordinal`"),
    ] = None
    labels: Annotated[
        Annotated[list[Annotated[str, Field(max_length=200)]], FirstErrorOnly()] | None,
        Field(max_length=MOST_LABELS, description="The labels that apply, perhaps none, where answers are `choices`"),
    ] = None
    value: Annotated[
        float | None, Field(strict=True, allow_inf_nan=False, description="A number, where answers are `number`")
    ] = None

    @model_validator(mode="after")
    def _says_which(self) -> "AnswerIn":
        if self.assignment is None and (self.item is None or self.worker is None):
            raise PydanticCustomError("which_item", "Must have `assignment`, or both `item` and `worker`")
        return self


class AnswersIn(RequestBody):
    """Several answers in one request."""

    answers: Annotated[
        list[AnswerIn],
        FirstErrorOnly(),
        Field(min_length=1, max_length=MOST_ANSWERS, description="Each gets a result of its own, in this order"),
    ]


def _one_or_many(body: Any) -> str:  # noqa: ANN401  whatever was sent
    return "many" if isinstance(body, dict) and "answers" in body else "one"


OneOrManyAnswers = Annotated[
    Annotated[AnswerIn, Tag("one")] | Annotated[AnswersIn, Tag("many")], Discriminator(_one_or_many)
]


# These fields are there only in jobs with answers of their kind.
ResultLabels = Annotated[
    list[str] | None, Field(description="Where answers are `choices`: the labels that apply; null without a result")
]
ResultValue = Annotated[
    float | None, Field(description="Where answers are `number`: the estimate; null without a result")
]
ResultInterval = Annotated[
    tuple[float, float] | None,
    Field(description="Where answers are `number`: from where to where the true value lies, as surely as the job asks"),
]


SaidLabel = Annotated[str | None, Field(description="The label that the worker gave; null if answers are no labels")]
SaidLabels = Annotated[list[str] | None, Field(description="Where answers are `choices`: the labels that apply")]
SaidValue = Annotated[float | None, Field(description="Where answers are `number`: the number that the worker gave")]


class AnswerOut(BaseModel):
    """The verdict after an answer."""

    item: Annotated[str, Field(description="The item's key")]
    worker: Annotated[str | None, Field(description="Who answered; null if the worker has no name")]
    accepted: Annotated[Literal[True], Field(description="The answer is on record")]
    duplicate: Annotated[bool, Field(description="The same answer was sent before; nothing is paid again")]
    late: Annotated[bool, Field(description="The assignment had expired")]
    counted: Annotated[bool, Field(description="The vote counts towards the item's label")]
    verdict: Verdict
    label: Annotated[
        str | None, Field(description="The item's label; null unless `verdict` is `stop` and answers are one label")
    ]
    labels: ResultLabels = None
    value: ResultValue = None
    interval: ResultInterval = None
    confidence: Annotated[Probability, Field(description="How likely the leading label is right")]
    reason: Annotated[ReasonOut, Field(description="Why this verdict")]


class AnswerRefused(BaseModel):
    """Why one of several answers was refused."""

    accepted: Annotated[Literal[False], Field(description="The answer is not on record")]
    error: Annotated[Problem, Field(description="Why, as for a single answer")]


class AnswersOut(BaseModel):
    """The verdicts after several answers."""

    results: Annotated[list[AnswerOut | AnswerRefused], Field(description="In the order of the answers")]
