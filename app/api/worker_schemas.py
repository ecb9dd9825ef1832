"""Workers on the wire. Field names are a contract: outside programs rely on them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from app.api.wire import AmountIn, AmountOut, ReasonOut, Request
from app.policy.text import Key, Label
from app.store.worker_pages import WorkerStatus

MOST_WORKERS = 10_000

Price = Annotated[AmountIn, Field(description="An answer costs this times the item's cost; 0 is free")]
Tier = Annotated[Label, Field(description="One of the tiers of the job's worker model")]
Votes = Literal["remove", "discount", "keep"]


class WorkerIn(Request):
    worker: Annotated[Key, Field(description="Your own name for the worker, as in `next` and `answers`")]
    price: Annotated[
        Price | None, Field(description="An answer costs this times the item's cost; 0 is free, a newcomer costs 1")
    ] = None
    tier: Annotated[
        Tier | None,
        Field(description="For jobs with the worker model `tiers`: one of these; newcomers belong to the first"),
    ] = None


WORKERS_EXAMPLE = [{"worker": "model", "price": "0.001"}, {"worker": "expert", "price": "2"}]


class WorkersRegistered(BaseModel):
    registered: int


class PriceIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"price": "0.05"}]})

    price: Price


class TierIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"tier": "good"}]})

    tier: Tier


class BlockIn(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "answers at random", "votes": "remove"}]})

    reason: Annotated[Key | None, Field(description="For people: the worker is told, too")] = None
    votes: Annotated[
        Votes,
        Field(
            description="What becomes of the votes: `remove` takes them out of all counts, `discount` weighs them by "
            "what is known of the worker now, `keep` leaves them as they are"
        ),
    ] = "remove"


class SkillOut(BaseModel):
    """How often the worker is right, with a 95 % interval."""

    estimate: Annotated[float, Field(ge=0, le=1)]
    low: Annotated[float, Field(ge=0, le=1)]
    high: Annotated[float, Field(ge=0, le=1)]


class GoldOut(BaseModel):
    asked: Annotated[int, Field(description="Answers on items whose label is known")]
    right: int
    accuracy: Annotated[float | None, Field(ge=0, le=1, description="right / asked; null without any")]


class BlockedOut(BaseModel):
    reason: ReasonOut
    evidence: Annotated[
        dict[str, Any] | None, Field(description="What the test that blocked the worker went by; null: a requester did")
    ]
    since: datetime
    votes: Annotated[Votes, Field(description="What became of the votes")]
    pending: Annotated[bool, Field(description="That is still being done")]


class TurnedAwayOut(BaseModel):
    """Why `next` has nothing for the worker while others are worth more; every refit decides anew."""

    reason: ReasonOut
    worth: Annotated[
        float,
        Field(ge=0, description="What an answer tells at best, of what one tells on average for the same money"),
    ]
    since: datetime


class WorkerOut(BaseModel):
    """A worker and what is known of it."""

    worker: str
    status: WorkerStatus
    skill: Annotated[
        SkillOut | None,
        Field(
            description="By the job's worker model; by agreement with resolved items where the model tells nothing of "
            "workers; null: nothing is known yet"
        ),
    ]
    answers: int
    decided: Annotated[
        int, Field(description="Votes that could be held to a label that stands without them, or to a known one")
    ]
    agreed: Annotated[int, Field(description="Of those, the ones that said the same")]
    agreement: Annotated[float | None, Field(ge=0, le=1, description="agreed / decided; null without any")]
    gold: GoldOut
    median_seconds: Annotated[
        float | None, Field(ge=0, description="From lease to answer, over the last 25; null without any")
    ]
    copies: Annotated[
        float | None,
        Field(
            ge=0,
            le=1,
            description="How likely the worker repeats one source together with others, as of the last refit; null "
            "unless the job's worker model in force is `copied`",
        ),
    ]
    price: AmountOut
    tier: Annotated[str | None, Field(description="null unless the job's worker model is `tiers`")]
    registered: Annotated[bool, Field(description="Named by a requester, not only seen at work")]
    blocked: Annotated[BlockedOut | None, Field(description="Why and since when; null while active")]
    turned_away: Annotated[
        TurnedAwayOut | None,
        Field(
            description="Gets nothing new, though answers are taken; null: welcome. `unblock` lets in again for good"
        ),
    ]


class WorkersOut(BaseModel):
    workers: list[WorkerOut]
    next_cursor: Annotated[str | None, Field(description="Give it as `cursor` to get the next page; null: the end")]
