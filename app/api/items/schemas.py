"""Items on the wire. Field names are a contract: other programs rely on them."""

import json
import re
from contextlib import suppress
from datetime import datetime
from typing import Annotated, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    Field,
    JsonValue,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, to_json

from app.api.http.common_schemas import (
    AmountOut,
    AnyJson,
    CostIn,
    FirstErrorOnly,
    Probability,
    ReasonOut,
    RequestBody,
)
from app.api.http.pagination import NextCursor
from app.api.work.schemas import (
    MOST_LABELS,
    ResultInterval,
    ResultLabels,
    ResultValue,
    SaidLabel,
    SaidLabels,
    SaidValue,
    Verdict,
)
from app.domain.item import ItemState
from app.policy.answers import Content
from app.policy.core.text import Key
from app.policy.quality.item_features import MOST_FEATURES

# The worth of an answer may be tiny: it has six significant digits.
Priority = Annotated[float, PlainSerializer(lambda worth: float(f"{worth:.6g}"), return_type=float)]
_SUSPICIOUS = re.compile(rb"NaN|Infinity|\\u0000")


def _storable(value: JsonValue) -> JsonValue:
    """Refuse values that JSON parsers accept but Postgres cannot store: NaN, NUL and half surrogate pairs."""
    with suppress(ValueError):
        if not _SUSPICIOUS.search(to_json(value)):  # ten times faster than the checks below: items come in millions
            return value
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except ValueError as error:
        raise PydanticCustomError("not_storable", "Must be JSON without NaN, Infinity or broken characters") from error
    if "\\u0000" in text:
        raise PydanticCustomError("not_storable", "Must not contain the character NUL (\\u0000)")
    return value


def _reachable(key: str) -> str:
    """Refuse keys that have another meaning in a URL: `.` and `..`."""
    if key in {".", ".."}:
        raise PydanticCustomError("unreachable_key", "Must not be `.` or `..`: the key is part of the item's URL")
    return key


Payload = Annotated[JsonValue, AfterValidator(_storable), WithJsonSchema({})]
ItemKey = Annotated[Key, AfterValidator(_reachable)]


def _content(sent: JsonValue) -> Content:
    """Accept what may be the content of an answer; whether the job takes it is decided there."""
    if isinstance(sent, list) and len(sent) <= MOST_LABELS and all(isinstance(name, str) for name in sent):
        return cast("list[str]", sent)
    if isinstance(sent, str) or (isinstance(sent, int | float) and not isinstance(sent, bool)):
        return sent
    raise PydanticCustomError("not_an_answer", "Must be a label, a list of labels or a number")


_LABEL_SCHEMA = {"type": "string"}
GoldIn = Annotated[
    Content,
    PlainValidator(_content),
    WithJsonSchema({"anyOf": [_LABEL_SCHEMA, {"type": "array", "items": _LABEL_SCHEMA}, {"type": "number"}]}),
]
_GOLD = "The right answer: a label, a list of labels or a number, as the job's answers are"
_PRIOR = "What a model believes beforehand: a probability per label; they sum to 1, except where answers are `choices`"
_FEATURES = "Numbers that describe the item, as many as the job's other items have; only if the job has `features`"


class ItemIn(RequestBody):
    """An item that needs a label."""

    key: Annotated[ItemKey, Field(description="Your own name for the item, unique within the job")]
    payload: Annotated[Payload, Field(description="What the worker needs to see; returned as it was sent")] = None
    cost: Annotated[CostIn | None, Field(description="What one answer costs; null: the `answer_cost` of the job")] = (
        None
    )
    gold: Annotated[GoldIn | None, Field(description=f"{_GOLD}, if it is known")] = None
    prior: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1)]] | None,
        Field(description=_PRIOR),
    ] = None
    features: Annotated[
        Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], FirstErrorOnly()] | None,
        Field(min_length=1, max_length=MOST_FEATURES, description=_FEATURES),
    ] = None


class ItemChanges(RequestBody):
    """Fields of an item to change. A field that is left out stays as it is; null removes what the item had."""

    payload: Annotated[Payload, Field(description="What the worker needs to see; returned as it was sent")] = None
    cost: Annotated[CostIn | None, Field(description="What one answer costs; null: the `answer_cost` of the job")] = (
        None
    )
    gold: Annotated[GoldIn | None, Field(description=f"{_GOLD}, if it is known; null: it is not")] = None
    prior: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1)]] | None,
        Field(description=f"{_PRIOR}; null: nothing"),
    ] = None
    features: Annotated[
        Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], FirstErrorOnly()] | None,
        Field(min_length=1, max_length=MOST_FEATURES, description=f"{_FEATURES}; null: nothing"),
    ] = None

    @model_validator(mode="after")
    def _changes_something(self) -> "ItemChanges":
        if not self.model_fields_set:
            raise PydanticCustomError(
                "no_change", "Must have at least one of {names}", {"names": ", ".join(type(self).model_fields)}
            )
        return self


class ItemsAdded(BaseModel):
    """How many items a request added."""

    added: Annotated[int, Field(description="Items that are new")]
    unchanged: Annotated[int, Field(description="Items that the job had before, with the same content")]
    warnings: Annotated[
        list[ReasonOut], Field(description="What may be a mistake, such as a budget below one answer per item")
    ]


class ItemAnswerOut(BaseModel):
    """An answer on an item, and the verdict after it."""

    worker: Annotated[str | None, Field(description="Who answered; null if the worker has no name")]
    label: SaidLabel
    labels: SaidLabels = None
    value: SaidValue = None
    cost: Annotated[AmountOut, Field(description="What was paid for it")]
    late: Annotated[bool, Field(description="The assignment had expired")]
    counted: Annotated[bool, Field(description="The vote counts towards the item's label")]
    answered_at: Annotated[datetime, Field(description="When it was recorded")]
    verdict: Verdict
    reason: Annotated[ReasonOut, Field(description="Why this verdict")]


class ItemOut(BaseModel):
    """An item and its present state."""

    key: Annotated[str, Field(description="Your own name for the item")]
    payload: Annotated[AnyJson, Field(description="What the worker sees, as it was sent")]
    cost: Annotated[AmountOut, Field(description="What one answer costs, at the price 1")]
    state: Annotated[ItemState, Field(description="Whether it is still open")]
    votes: Annotated[dict[str, int], Field(description="How many counted votes each label has")]
    label: Annotated[str | None, Field(description="The final label; null until the item is resolved")]
    labels: ResultLabels = None
    value: ResultValue = None
    interval: ResultInterval = None
    confidence: Annotated[Probability, Field(description="How likely the leading label is right")]
    priority: Annotated[
        Priority, Field(description="What one more answer is worth; the open item with the highest priority is next")
    ]
    open_assignments: Annotated[int, Field(description="Assignments that are live at the moment")]
    max_open_assignments: Annotated[int, Field(description="How many may be live at once")]
    verdict: Verdict
    reason: Annotated[ReasonOut, Field(description="Why this verdict")]


class ItemHistory(ItemOut):
    """An item with its answers one by one."""

    posterior: Annotated[dict[str, Probability], Field(description="How likely each label is the right one")]
    answers: Annotated[list[ItemAnswerOut], Field(description="In the order in which they were recorded")]


class ItemsOut(BaseModel):
    """A page of items."""

    items: Annotated[list[ItemOut], Field(description="In the order in which they were added")]
    next_cursor: NextCursor
