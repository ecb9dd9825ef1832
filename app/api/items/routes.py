"""Items over HTTP."""

import json
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from app.api.http.common_schemas import ReasonOut
from app.api.http.idempotency import REPLAYED, IdempotencyKey, response_of
from app.api.http.middleware import lift_time_limit
from app.api.http.pagination import Cursor, Limit, after_number, cursor_of
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import JobId, ServicesOf
from app.api.items.parsed_items import ITEMS
from app.api.items.schemas import ItemAnswerOut, ItemChanges, ItemHistory, ItemOut, ItemsAdded, ItemsOut
from app.api.items.uploads import reader_for, spooled
from app.domain.item import DECISION_OF, Item, ItemState
from app.domain.job import Job
from app.domain.stored_response import StoredResponse
from app.errors import (
    AnswerKindWrong,
    IdempotencyConflict,
    InvalidInput,
    ItemAssigned,
    ItemConflict,
    ItemHasAnswers,
    ItemUnknown,
    JobUnknown,
    LabelUnknown,
    UnsupportedMediaType,
)
from app.use_cases.items import add_items as item_import
from app.use_cases.items import change_item as changing
from app.use_cases.items.read_items import read_item, read_items
from app.use_cases.work.answer_content import estimate_of, result_of

router = APIRouter(prefix="/v1/jobs/{job}/items", tags=["items"], route_class=ServiceRoute)

ItemPath = Annotated[str, Path(description="The item's key", json_schema_extra={"example": "i1"})]

_ROWS = [
    {"key": "i1", "payload": {"url": "https://example.org/1.jpg"}},
    {"key": "i2", "payload": {"url": "https://example.org/2.jpg"}},
]
_BODY = {
    "required": True,
    "content": {
        "application/json": {
            "schema": {
                "type": "array",
                "items": {"$ref": "#/components/schemas/ItemIn"},
                "minItems": 1,
                "title": "Items",
            },
        },
        "application/x-ndjson": {
            "schema": {"type": "string", "description": "One JSON object per line, as in the JSON array"},
            "example": "".join(json.dumps(row) + "\n" for row in _ROWS),
        },
        "text/csv": {
            "schema": {"type": "string", "description": "One item per row, below a header row"},
            "example": "key,url\ni1,https://example.org/1.jpg\ni2,https://example.org/2.jpg\n",
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
            AnswerKindWrong,
            UnsupportedMediaType,
            body=True,
        ),
    },
    openapi_extra={"requestBody": _BODY},
)
async def add_items(services: ServicesOf, job_id: JobId, request: Request, key: IdempotencyKey = None) -> Response:
    """Add the items that need labels. You can add more at any time.

    All or nothing: if one item is wrong, none is added. Sending the same items again changes nothing, so a request
    whose response was lost can be repeated.

    The body is a JSON array, NDJSON (an object per line) or CSV, of any number of items. The first row of CSV has the
    column names: `key`, and any of `payload` (JSON; other text is a string), `cost`, `gold`, `features` (a JSON
    array) and `prior` (a JSON object) or `prior.cat`, one column per label. Every other column becomes a field of the
    payload. An empty cell means that the field is left out.
    """
    reader, slots = reader_for(request), services.import_slots
    async with (
        spooled(request, services.settings.max_item_bytes) as spool,
        slots.job_locks.of(job_id),
        slots.large if spool.is_large else slots.small,
    ):
        lift_time_limit(request)
        keyed = None if key is None else spool.digest.keyed(job_id, key, services.clock())
        return response_of(
            await item_import.add_items(services.database, job_id, spool.drafts(reader, ITEMS), _response, keyed)
        )


def _response(done: item_import.Added) -> StoredResponse:
    warnings = [ReasonOut(**warning.as_json()) for warning in done.warnings]
    body = ItemsAdded(added=done.added, unchanged=done.unchanged, warnings=warnings)
    return StoredResponse(status=HTTPStatus.CREATED, headers={}, body=body.model_dump_json())


@router.get(
    "",
    summary="List items",
    responses=documented(JobUnknown, InvalidInput, LabelUnknown, AnswerKindWrong),
    response_model_exclude_unset=True,
)
async def list_items(
    services: ServicesOf,
    job_id: JobId,
    state: Annotated[ItemState | None, Query(description="Only items in this state")] = None,
    label: Annotated[str | None, Query(max_length=200, description="Only items with this final label")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> ItemsOut:
    """See the state of items, in the order in which they were added: votes, verdict, priority, open assignments.

    A cursor continues the list with the filters that you send with it: send the same ones for all pages.
    """
    after = after_number(cursor)
    page = await read_items(services.database, job_id, state=state, label=label, after=after, most=limit)
    following = None if page.next_after is None else cursor_of(page.next_after)
    return ItemsOut(items=[ItemOut(**_item_fields(page.job, item)) for item in page.items], next_cursor=following)


@router.get(
    "/{key:path}",  # keys may have slashes
    summary="Get an item with its answers",
    responses=documented(JobUnknown, ItemUnknown, InvalidInput),
    response_model_exclude_unset=True,
)
async def get_item(
    services: ServicesOf,
    job_id: JobId,
    key: ItemPath,
) -> ItemHistory:
    """Understand a verdict: every answer and its effect, how likely each label is, and the reason."""
    story = await read_item(services.database, job_id, key)
    kind, labels = story.job.policy.answer, story.job.policy.labels
    return ItemHistory(
        **_item_fields(story.job, story.item),
        posterior=dict(zip(labels, story.chances, strict=True)),
        answers=[
            ItemAnswerOut(
                worker=answer.worker,
                **{"label": None} | {kind.field: kind.content(answer.said, labels)},
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


@router.patch(
    "/{key:path}",
    summary="Change an item",
    responses=documented(
        *(JobUnknown, ItemUnknown, ItemHasAnswers, ItemAssigned, LabelUnknown, AnswerKindWrong, InvalidInput), body=True
    ),
    response_model_exclude_unset=True,
)
async def change_item(services: ServicesOf, job_id: JobId, key: ItemPath, body: ItemChanges) -> ItemOut:
    """Correct an item before its first answer: a forgotten cost, a wrong payload, gold, a prior.

    Fields that you leave out stay as they are; `null` removes what the item had. The key cannot be changed.
    All counters of the job are then as if the item had been added like this. An item with answers is refused with
    `item-has-answers`, and one that a worker holds at the moment with `item-assigned`: the worker sees what was sent.
    """
    changes = {name: getattr(body, name) for name in body.model_fields_set}
    async with services.job_locks.of(job_id):
        changed = await changing.change_item(services.database, job_id, key, changes, services.clock)
    return ItemOut(**_item_fields(changed.job, changed.item))


@router.delete(
    "/{key:path}",
    status_code=204,
    summary="Delete an item",
    responses=documented(JobUnknown, ItemUnknown, ItemHasAnswers, ItemAssigned, InvalidInput),
)
async def delete_item(services: ServicesOf, job_id: JobId, key: ItemPath) -> None:
    """Delete an item that was added by mistake, before its first answer.

    An item with answers is refused with `item-has-answers`: they are paid, and workers were judged by them. One that a
    worker holds at the moment is refused with `item-assigned`. Deleting it again answers 404 `item-unknown`: if a
    response was lost, that means the same as 204. The key can then be added again.
    """
    async with services.import_slots.job_locks.of(job_id), services.job_locks.of(job_id):
        await changing.delete_item(services.database, job_id, key, services.clock)


def _item_fields(job: Job, item: Item) -> dict[str, Any]:
    decision, kind = item.decision, job.policy.answer
    return {
        "key": item.key,
        "payload": item.payload,
        "cost": item.cost,
        "state": decision.state,
        "votes": dict(zip(job.policy.labels, kind.votes(decision.votes), strict=True)),
        **{"label": None} | result_of(job, decision.label, estimate_of(job, decision.label, decision)),
        "confidence": decision.confidence,
        "priority": decision.priority,
        "open_assignments": item.open_assignments,
        "max_open_assignments": decision.max_open_assignments,
        "verdict": DECISION_OF[decision.state].value,
        "reason": ReasonOut(code=decision.reason.code, message=decision.reason.message),
    }
