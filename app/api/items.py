"""Items over HTTP."""

from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query

from app.api.cursors import Cursor, Limit, after_number, cursor_of
from app.api.dependencies import Database, JobId
from app.api.problems import documented
from app.api.schemas import (
    ITEMS_EXAMPLE,
    MOST_ITEMS,
    AnswerSeen,
    ItemIn,
    ItemOut,
    ItemsAdded,
    ItemsOut,
    ItemStory,
    ReasonOut,
)
from app.domain import DECISION_OF, ItemState
from app.errors import InvalidInput, ItemConflict, ItemUnknown, JobUnknown, LabelUnknown, TooLarge, Unavailable
from app.store.items import Item
from app.store.jobs import Job
from app.use_cases.add_items import ItemDraft, add_items
from app.use_cases.read_items import read_item, read_items

router = APIRouter(prefix="/v1/jobs/{job}/items", tags=["items"])


@router.post(
    "",
    status_code=201,
    summary="Add items",
    responses=documented(JobUnknown, InvalidInput, LabelUnknown, ItemConflict, TooLarge, Unavailable),
)
async def post_items(
    job_id: JobId,
    body: Annotated[list[ItemIn], Body(min_length=1, max_length=MOST_ITEMS, examples=[ITEMS_EXAMPLE])],
    database: Database,
) -> ItemsAdded:
    """Say what is to be labeled; more can be added at any time.

    All or nothing: one bad item, and none is added. Sending the same items again changes nothing, so a request whose
    answer was lost can be repeated.
    """
    drafts = [ItemDraft(**dict(item)) for item in body]
    done = await add_items(database, job_id, drafts)
    return ItemsAdded(added=done.added, unchanged=done.unchanged)


@router.get("", summary="List items", responses=documented(JobUnknown, InvalidInput, Unavailable))
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
    responses=documented(JobUnknown, ItemUnknown, InvalidInput, Unavailable),
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
                counted=answer.counted,
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
