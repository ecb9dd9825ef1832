"""Items on the wire. Field names are a contract: outside programs rely on them."""

import json
import re
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, Field, JsonValue
from pydantic_core import PydanticCustomError, to_json

from app.api.wire import AmountOut, CostIn, ReasonOut, Request
from app.domain import ItemState
from app.policy.text import Key

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
