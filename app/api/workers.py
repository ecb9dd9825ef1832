"""Workers over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from pydantic import TypeAdapter, ValidationError

from app.api.cursors import Cursor, Limit
from app.api.dependencies import Database, InTurn, JobId, Time
from app.api.problems import documented
from app.api.time_limit import take_your_time
from app.api.wire import ReasonOut
from app.api.worker_order import SortedBy, after_worker, cursor_behind, order_of
from app.api.worker_schemas import (
    MOST_WORKERS,
    WORKERS_EXAMPLE,
    BlockedOut,
    BlockIn,
    GoldOut,
    PriceIn,
    SkillOut,
    TierIn,
    TurnedAwayOut,
    WorkerIn,
    WorkerOut,
    WorkersOut,
    WorkersRegistered,
)
from app.errors import InvalidInput, JobUnknown, WorkerUnknown
from app.policy.text import Key
from app.store.worker_pages import WorkerStatus
from app.use_cases.block_worker import block_worker, unblock_worker
from app.use_cases.manage_workers import Entry, Profile, change_worker, list_workers, read_worker, register_workers

router = APIRouter(prefix="/v1/jobs/{job}/workers", tags=["workers"])

_NAMES: TypeAdapter[str] = TypeAdapter(Key)


async def _worker(
    worker: Annotated[str, Path(description="The worker's name", json_schema_extra={"example": "expert"})],
) -> str:
    try:
        return _NAMES.validate_python(worker)
    except ValidationError:
        raise WorkerUnknown(f"No worker can have the name {worker!r}") from None


Name = Annotated[str, Depends(_worker)]


@router.post("", summary="Register workers", responses=documented(JobUnknown, InvalidInput, body=True))
async def post_workers(
    job_id: JobId,
    body: Annotated[list[WorkerIn], Body(min_length=1, max_length=MOST_WORKERS, examples=[WORKERS_EXAMPLE])],
    database: Database,
    turns: InTurn,
) -> WorkersRegistered:
    """Say what workers charge, and which tier they belong to: an answer costs the item's `cost` times the `price`.

    Nobody needs to be registered: a worker who just comes has the price 1 and belongs to the first tier. Registering
    again sets a new price for the leases to come; those that are out keep their cost. What is left out stays as it is.
    Where a worker stands here twice, the last entry counts.
    """
    entries = [Entry(one.worker, one.price, one.tier, f"#/{position}") for position, one in enumerate(body)]
    async with turns.of(job_id):
        return WorkersRegistered(registered=await register_workers(database, job_id, entries))


@router.get("", summary="List workers", responses=documented(JobUnknown, InvalidInput))
async def get_workers(
    job_id: JobId,
    database: Database,
    sort: SortedBy = "name",
    status: Annotated[WorkerStatus | None, Query(description="Only workers with this status")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> WorkersOut:
    """See who works, how well and how fast, who is blocked and what each charges.

    `sort=-skill` puts the best first, `sort=agreement` those whose votes agree least with the labels of their items. A
    cursor goes with the order that gave it.
    """
    after = after_worker(cursor, sort)
    page = await list_workers(database, job_id, order=order_of(sort), status=status, after=after, most=limit)
    following = None if page.next_after is None else cursor_behind(sort, page.next_after)
    return WorkersOut(workers=[_shown(one) for one in page.workers], next_cursor=following)


@router.get(
    "/{worker:path}",  # names may have slashes
    summary="Tell what is known of a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput),
)
async def get_worker(job_id: JobId, worker: Name, database: Database) -> WorkerOut:
    """Look here before you pay or block somebody: skill with an interval, agreement, gold, speed, and why blocked.

    A vote is held to the label of its item only where the label would lead without it, and once: `decided` counts
    those votes, `agreed` the ones among them that said the same.
    """
    return _shown(await read_worker(database, job_id, worker))


@router.post(
    "/{worker:path}/price",
    summary="Set what a worker charges",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def post_price(job_id: JobId, worker: Name, body: PriceIn, database: Database, turns: InTurn) -> WorkerOut:
    """For the leases to come; those that are out keep their cost. Who was not registered is from now on."""
    async with turns.of(job_id):
        return _shown(await change_worker(database, job_id, Entry(worker, price=body.price)))


@router.post(
    "/{worker:path}/tier",
    summary="Put a worker into a tier",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def post_tier(job_id: JobId, worker: Name, body: TierIn, database: Database, turns: InTurn) -> WorkerOut:
    """For jobs with the worker model `tiers`: votes weigh by it from now on; those that came keep their weight.

    Who was not registered is from now on. Any other job refuses it: its model has no tiers.
    """
    async with turns.of(job_id):
        return _shown(await change_worker(database, job_id, Entry(worker, tier=body.tier)))


@router.post(
    "/{worker:path}/block",
    summary="Block a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def post_block(
    job_id: JobId,
    worker: Name,
    request: Request,
    database: Database,
    turns: InTurn,
    clock: Time,
    body: Annotated[BlockIn | None, Body()] = None,
) -> WorkerOut:
    """Take no more answers from a worker, and say what becomes of the votes. The answers stay on record, and paid.

    What the worker holds is released and its money returns; `next` says `stop`, `worker-blocked`. With `votes`:

    - `remove`: they are taken out of all counts. Every item that they stood on is judged again by the other votes, and
      one that is not good enough without them reopens.
    - `discount`: they stay counted, but those items are weighed anew by what is known of each worker now, so that a
      model that knows a guesser gives the votes no weight. Under `anonymous` every vote weighs the same, and nothing
      changes.
    - `keep`: nothing happens to them.

    Items are recounted in portions, so that others go on working; the answer comes when all is done, and sending the
    request again finishes what was cut short. A worker may be blocked before the first answer.
    """
    wish = body or BlockIn()
    take_your_time(request)
    return _shown(
        await block_worker(database, turns, job_id, worker, votes=wish.votes, message=wish.reason, clock=clock)
    )


@router.post(
    "/{worker:path}/unblock",
    summary="Unblock a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput),
)
async def post_unblock(
    job_id: JobId, worker: Name, request: Request, database: Database, turns: InTurn, clock: Time
) -> WorkerOut:
    """Let a worker in again, and count the votes that were removed: items are judged as if nothing had happened.

    Where a vote weighs by what is known of its worker, it now weighs by what is known today. A worker who is not
    blocked stays as it is. The automatic test leaves the worker alone until it has as many further votes to go by. Who
    was turned away by a refit is let in as well, and for good.
    """
    take_your_time(request)
    return _shown(await unblock_worker(database, turns, job_id, worker, clock=clock))


def _shown(profile: Profile) -> WorkerOut:
    row, skill, block, away = profile.row, profile.skill, profile.row.block, profile.row.away
    return WorkerOut(
        worker=row.worker,
        status=row.status,
        skill=None if skill is None else SkillOut(estimate=skill.estimate, low=skill.low, high=skill.high),
        answers=row.answers,
        decided=row.decided,
        agreed=row.agreed,
        agreement=row.agreed / row.decided if row.decided else None,
        gold=GoldOut(
            asked=row.gold_asked,
            right=row.gold_right,
            accuracy=row.gold_right / row.gold_asked if row.gold_asked else None,
        ),
        median_seconds=row.median_seconds,
        copies=row.copies,
        price=row.price,
        tier=profile.tier,
        registered=row.registered,
        blocked=None
        if block is None
        else BlockedOut(
            reason=ReasonOut(**block["reason"]),
            evidence=block["evidence"],
            since=datetime.fromisoformat(block["since"]),
            votes=block["votes"],
            pending=row.recount,
        ),
        turned_away=None
        if away is None
        else TurnedAwayOut(
            reason=ReasonOut(**away["reason"]), worth=away["worth"], since=datetime.fromisoformat(away["since"])
        ),
    )
