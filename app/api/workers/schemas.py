"""Workers on the wire. Field names are a contract: other programs rely on them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StrictBool

from app.api.http.common_schemas import AmountIn, AmountOut, Number, ReasonOut, RequestBody, Share
from app.api.http.pagination import NextCursor
from app.domain.worker import WorkerStatus
from app.policy.core.text import Key, Label

MOST_WORKERS = 10_000

Price = Annotated[AmountIn, Field(description="An answer costs this times the item's cost; 0 is free")]
TierName = Annotated[Label, Field(description="One of the tiers of the job's worker model")]
BlockedVotes = Literal["remove", "discount", "keep"]


class WorkerIn(RequestBody):
    """A worker, with a price and a tier."""

    worker: Annotated[Key, Field(description="Your own name for the worker, as in `next` and `answers`")]
    price: Annotated[
        Price | None, Field(description="An answer costs this times the item's cost; 0 is free, the default is 1")
    ] = None
    tier: Annotated[
        TierName | None,
        Field(description="One of the tiers of the job's worker model `tiers`; the default is the first tier"),
    ] = None
    trusted: Annotated[
        StrictBool | None,
        Field(
            description="The worker's answers in audits and on items that the crowd cannot settle are truth; the "
            "default is false"
        ),
    ] = None
    accuracy: Annotated[
        float | None,
        Field(
            gt=0,
            lt=1,
            description="How often the worker is right, as far as you know beforehand; null: unknown. For worker "
            "models that keep an accuracy",
            examples=[0.98],
        ),
    ] = None
    accuracy_weight: Annotated[
        float | None,
        Field(
            gt=0,
            le=10_000,
            description="How many checked answers your knowledge of `accuracy` is worth; the default is 20",
            examples=[20],
        ),
    ] = None


class WorkersRegistered(BaseModel):
    """How many workers a request registered."""

    registered: Annotated[int, Field(description="How many different workers were named")]


class PriceIn(RequestBody):
    """What a worker charges."""

    price: Price


class TierIn(RequestBody):
    """The tier of a worker."""

    tier: TierName


class BlockIn(RequestBody):
    """Why a worker is blocked, and what happens to the votes."""

    reason: Annotated[Key | None, Field(description="A sentence for people, also for the worker")] = None
    votes: Annotated[
        BlockedVotes,
        Field(
            description="`remove`: the votes no longer count; `discount`: they are weighted by the "
            "worker's present skill; `keep`: they stay as they are"
        ),
    ] = "remove"


class SkillOut(BaseModel):
    """How often the worker is right, with a 95 % interval."""

    estimate: Annotated[Share, Field(description="The estimate")]
    low: Annotated[Share, Field(description="The lower end of the interval")]
    high: Annotated[Share, Field(description="The upper end of the interval")]


class GoldOut(BaseModel):
    """How the worker did on items whose label is known."""

    asked: Annotated[int, Field(description="Answers on items whose label is known")]
    right: Annotated[int, Field(description="Of those, the right ones")]
    accuracy: Annotated[Share | None, Field(description="right / asked; null if `asked` is 0")]


class BlockedOut(BaseModel):
    """Why a worker is blocked."""

    reason: Annotated[ReasonOut, Field(description="Why the worker was blocked")]
    evidence: Annotated[
        dict[str, Any] | None,
        Field(description="The figures of the test that blocked the worker; null if a requester did"),
    ]
    since: Annotated[datetime, Field(description="When the worker was blocked")]
    votes: Annotated[BlockedVotes, Field(description="What happened to the votes")]
    pending: Annotated[bool, Field(description="The votes are still being recounted")]


class LowInformationOut(BaseModel):
    """Why `next` gives the worker no new work for now; every refit decides again."""

    reason: Annotated[ReasonOut, Field(description="Why the worker gets no new work")]
    information_share: Annotated[
        Number,
        Field(description="The information per cost of an answer, at best, relative to the job's average"),
    ]
    since: Annotated[datetime, Field(description="When a refit first decided so")]


class WorkerOut(BaseModel):
    """A worker and what is known about it."""

    worker: Annotated[str, Field(description="Your own name for the worker")]
    status: Annotated[
        WorkerStatus, Field(description="`low-information` workers get no new work for now; `blocked` ones none at all")
    ]
    skill: Annotated[
        SkillOut | None,
        Field(
            description="By the job's worker model, or by agreement with resolved items if the model has no skill; "
            "null if nothing is known yet"
        ),
    ]
    answers: Annotated[int, Field(description="How many answers the worker has given")]
    scored_answers: Annotated[
        int,
        Field(
            description="Answers that were compared with a label that does not depend on them; with any label if the "
            "job's `ucb` has `own_votes`"
        ),
    ]
    agreed_answers: Annotated[int, Field(description="Of those, the ones that agree with the label")]
    agreement: Annotated[Share | None, Field(description="agreed_answers / scored_answers; null if none is scored")]
    gold: Annotated[GoldOut, Field(description="How the worker did on items whose label is known")]
    median_seconds: Annotated[
        Number | None, Field(description="Seconds from assignment to answer, over the last 25; null without answers")
    ]
    copying_probability: Annotated[
        Share | None,
        Field(
            description="How likely the worker copies from others, by the last refit; null unless the worker model in "
            "force is `copied`"
        ),
    ]
    price: Annotated[AmountOut, Field(description="An answer costs this times the item's cost")]
    trusted: Annotated[bool, Field(description="Answers in audits and on items that the crowd cannot settle are truth")]
    accuracy: Annotated[
        Share | None,
        Field(description="What you stated when you registered the worker; null: nothing. `skill` is what it is now"),
    ]
    accuracy_weight: Annotated[
        Number | None, Field(description="How many checked answers that is worth; null unless `accuracy` is stated")
    ]
    tier: Annotated[str | None, Field(description="The worker's tier; null unless the job's worker model is `tiers`")]
    registered: Annotated[bool, Field(description="A requester has registered the worker")]
    blocked: Annotated[BlockedOut | None, Field(description="Why and since when; null unless the worker is blocked")]
    low_information: Annotated[
        LowInformationOut | None,
        Field(
            description="Why the worker gets no new work for now; null if it gets work. Answers are still accepted; "
            "`unblock` gives the worker work again permanently"
        ),
    ]


class WorkersOut(BaseModel):
    """A page of workers."""

    workers: Annotated[list[WorkerOut], Field(description="In the order that was asked for")]
    next_cursor: NextCursor
