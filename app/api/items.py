"""Items over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Body

from app.api.dependencies import Database, JobId
from app.api.problems import documented
from app.api.schemas import ITEMS_EXAMPLE, MOST_ITEMS, ItemIn, ItemsAdded
from app.errors import InvalidInput, ItemConflict, JobUnknown, LabelUnknown, Unavailable
from app.use_cases.add_items import ItemDraft, add_items

router = APIRouter(prefix="/v1/jobs/{job}/items", tags=["items"])


@router.post(
    "",
    status_code=201,
    summary="Add items",
    responses=documented(JobUnknown, InvalidInput, LabelUnknown, ItemConflict, Unavailable),
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
