"""Items over HTTP."""

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import Database, JobId, Time
from app.api.idempotency import REPLAYED, IdempotencyKey, response_of
from app.api.item_files import Imports, reader_for, spooled
from app.api.item_schemas import ITEMS_EXAMPLE, AnswerSeen, ItemIn, ItemOut, ItemsAdded, ItemsOut, ItemStory
from app.api.problems import documented
from app.api.time_limit import take_your_time
from app.api.wire import ReasonOut
from app.domain import DECISION_OF, ItemState
from app.errors import (
    IdempotencyConflict,
    InvalidInput,
    ItemConflict,
    ItemUnknown,
    JobUnknown,
    LabelUnknown,
    UnsupportedMediaType,
)
from app.store.items import Item
from app.store.jobs import Job
from app.store.responses import Reply
from app.use_cases.add_items import Added, add_items
from app.use_cases.read_items import read_item, read_items

router = APIRouter(prefix="/v1/jobs/{job}/items", tags=["items"])

_ROWS = {"type": "array", "items": ItemIn.model_json_schema(), "minItems": 1, "examples": [ITEMS_EXAMPLE]}
_BODY = {
    "required": True,
    "content": {
        "application/json": {"schema": _ROWS},
        "application/x-ndjson": {
            "schema": {"type": "string", "description": "An item per line, as in the JSON array"},
            "example": "".join(json.dumps(row) + "\n" for row in ITEMS_EXAMPLE),
        },
        "text/csv": {
            "schema": {"type": "string", "description": "An item per row, under a row of names"},
            "example": "key,cost,url\ni1,1,https://example.org/1.jpg\ni2,1,https://example.org/2.jpg\n",
        },
    },
}


@router.post(
    "",
    status_code=201,
    summary="Add items",
    response_model=ItemsAdded,
    responses={
        HTTPStatus.CREATED.value: {"headers": REPLAYED},
        **documented(
            JobUnknown,
            ItemConflict,
            IdempotencyConflict,
            InvalidInput,
            LabelUnknown,
            UnsupportedMediaType,
            body=True,
        ),
    },
    openapi_extra={"requestBody": _BODY},
)
async def post_items(
    job_id: JobId, request: Request, database: Database, clock: Time, key: IdempotencyKey = None
) -> Response:
    """Say what is to be labeled; more can be added at any time.

    All or nothing: one bad item, and none is added. Sending the same items again changes nothing, so a request whose
    answer was lost can be repeated.

    A JSON array, NDJSON (an object per line) or CSV, of any number of items. CSV begins with the names of its columns:
    `key`, and any of `payload` (JSON; what is not JSON is taken as a text), `cost`, `gold`, `features` (a JSON array)
    and `prior` (a JSON object) or `prior.cat`, one column per label. Every other column becomes a field of the payload.
    An empty cell leaves its field out.
    """
    reader = reader_for(request)
    imports: Imports = request.app.state.imports
    async with spooled(request) as spool, imports.turns.of(job_id), imports.large if spool.is_large else imports.small:
        take_your_time(request)
        keyed = None if key is None else spool.digest.keyed(job_id, key, clock())
        return response_of(await add_items(database, job_id, spool.drafts(reader), _told, keyed))


def _told(done: Added) -> Reply:
    body = ItemsAdded(added=done.added, unchanged=done.unchanged)
    return Reply(status=HTTPStatus.CREATED, headers={}, body=body.model_dump_json())


@router.get("", summary="List items", responses=documented(JobUnknown, InvalidInput))
async def get_items(
    job_id: JobId,
    database: Database,
    state: Annotated[ItemState | None, Query(description="Only items in this state")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> ItemsOut:
    """See how items stand, in the order in which they were added: votes, verdict, priority, what is out."""
    page = await read_items(database, job_id, state=state, after=after_number(cursor), most=limit)
    following = None if page.next_after is None else cursor_of(page.next_after)
    return ItemsOut(items=[ItemOut(**_shown(page.job, item)) for item in page.items], next_cursor=following)


@router.get(
    "/{key:path}",  # keys may have slashes
    summary="Tell the story of an item",
    responses=documented(JobUnknown, ItemUnknown, InvalidInput),
)
async def get_item(
    job_id: JobId,
    key: Annotated[str, Path(description="The item's key", json_schema_extra={"example": "i1"})],
    database: Database,
) -> ItemStory:
    """Look here to understand a verdict: every answer with what it led to, how likely each label is, and why."""
    story = await read_item(database, job_id, key)
    labels = story.job.rules.labels
    return ItemStory(
        **_shown(story.job, story.item),
        posterior=dict(zip(labels, story.posterior.tolist(), strict=True)),
        answers=[
            AnswerSeen(
                worker=answer.worker,
                label=labels[answer.label],
                cost=answer.cost,
                late=answer.late,
                counted=answer.counted and not answer.withheld,
                answered_at=answer.answered_at,
                verdict=answer.verdict["decision"],
                reason=ReasonOut(**answer.verdict["reason"]),
            )
            for answer in story.answers
        ],
    )


def _shown(job: Job, item: Item) -> dict[str, Any]:
    """An item's fields on the wire."""
    standing = item.standing
    return {
        "key": item.key,
        "payload": item.payload,
        "cost": item.cost,
        "state": standing.state,
        "votes": dict(zip(job.rules.labels, standing.votes, strict=True)),
        "label": None if standing.label is None else job.rules.labels[standing.label],
        "confidence": standing.confidence,
        "priority": standing.priority,
        "in_flight": item.in_flight,
        "wanted": standing.wanted,
        "verdict": DECISION_OF[standing.state].value,
        "reason": ReasonOut(code=standing.reason.code, message=standing.reason.message),
    }
