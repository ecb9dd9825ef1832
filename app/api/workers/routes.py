"""Workers over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from pydantic import Field, TypeAdapter, ValidationError

from app.api.http.common_schemas import FirstErrorOnly, ReasonOut
from app.api.http.middleware import take_your_time
from app.api.http.pagination import Cursor, Limit
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import JobId, ServicesOf
from app.api.workers.schemas import (
    MOST_WORKERS,
    BlockedOut,
    BlockIn,
    GoldOut,
    LowInformationOut,
    PriceIn,
    SkillOut,
    TierIn,
    WorkerIn,
    WorkerOut,
    WorkersOut,
    WorkersRegistered,
)
from app.api.workers.sorting import SortedBy, after_worker, cursor_behind, order_of
from app.domain.worker import WorkerStatus
from app.errors import InvalidInput, JobUnknown, WorkerUnknown, shortened
from app.policy.core.text import Key
from app.use_cases.workers import block_worker as blocking
from app.use_cases.workers import manage_workers
from app.use_cases.workers.manage_workers import Profile, WorkerEntry

router = APIRouter(prefix="/v1/jobs/{job}/workers", tags=["workers"], route_class=ServiceRoute)

_NAMES: TypeAdapter[str] = TypeAdapter(Key)


async def _worker_name(
    worker: Annotated[str, Path(description="The worker's name", json_schema_extra={"example": "expert"})],
) -> str:
    try:
        return _NAMES.validate_python(worker)
    except ValidationError:
        raise WorkerUnknown(f"No worker can have the name {shortened(worker)}") from None


WorkerName = Annotated[str, Depends(_worker_name)]


@router.post("", summary="Register workers", responses=documented(JobUnknown, InvalidInput, body=True))
async def register_workers(
    services: ServicesOf,
    job_id: JobId,
    body: Annotated[
        list[WorkerIn], FirstErrorOnly(), Field(min_length=1, max_length=MOST_WORKERS), Body(title="Workers")
    ],
) -> WorkersRegistered:
    """Say what workers charge and which tier they belong to: an answer costs the item's `cost` times the `price`.

    Workers need not be registered: a worker who is new to the job has the price 1 and belongs to the first tier.
    Registering again sets a new price for future assignments; live ones keep their cost. What is left out stays as it
    is. If a worker is named twice, the last entry counts.
    """
    entries = [WorkerEntry(one.worker, one.price, one.tier, f"#/{position}") for position, one in enumerate(body)]
    async with services.job_locks.of(job_id):
        registered = await manage_workers.register_workers(services.database, job_id, entries)
    return WorkersRegistered(registered=registered)


@router.get("", summary="List workers", responses=documented(JobUnknown, InvalidInput))
async def list_workers(
    services: ServicesOf,
    job_id: JobId,
    sort: SortedBy = "name",
    status: Annotated[WorkerStatus | None, Query(description="Only workers with this status")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> WorkersOut:
    """See who works, how well and how fast, who is blocked, and what each charges.

    `sort=-skill` puts the best first, `sort=agreement` those whose votes agree least with the labels of their items. A
    cursor is valid for the order that gave it.
    """
    after = after_worker(cursor, sort)
    page = await manage_workers.list_workers(
        services.database, job_id, order=order_of(sort), status=status, after=after, most=limit
    )
    following = None if page.next_after is None else cursor_behind(sort, page.next_after)
    return WorkersOut(workers=[_worker_out(one) for one in page.workers], next_cursor=following)


@router.get(
    "/{worker:path}",  # names may have slashes
    summary="Get a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput),
)
async def get_worker(services: ServicesOf, job_id: JobId, worker: WorkerName) -> WorkerOut:
    """Look here before you pay or block a worker: skill with an interval, agreement, gold, speed, and why blocked.

    An answer is scored at most once, against the label of its item, and only if the label would win without it:
    `scored_answers` counts those answers, `agreed_answers` the ones among them that agree with the label.
    """
    return _worker_out(await manage_workers.read_worker(services.database, job_id, worker))


@router.post(
    "/{worker:path}/price",
    summary="Set a worker's price",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def set_worker_price(services: ServicesOf, job_id: JobId, worker: WorkerName, body: PriceIn) -> WorkerOut:
    """Set the price for future assignments; live ones keep their cost. The worker is registered by this."""
    async with services.job_locks.of(job_id):
        entry = WorkerEntry(worker, price=body.price)
        return _worker_out(await manage_workers.change_worker(services.database, job_id, entry))


@router.post(
    "/{worker:path}/tier",
    summary="Set a worker's tier",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def set_worker_tier(services: ServicesOf, job_id: JobId, worker: WorkerName, body: TierIn) -> WorkerOut:
    """For jobs with the worker model `tiers`: future votes are weighted by the new tier, earlier ones keep theirs.

    The worker is registered by this. Other jobs refuse it, because their worker model has no tiers.
    """
    async with services.job_locks.of(job_id):
        entry = WorkerEntry(worker, tier=body.tier)
        return _worker_out(await manage_workers.change_worker(services.database, job_id, entry))


@router.post(
    "/{worker:path}/block",
    summary="Block a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def block_worker(
    services: ServicesOf,
    job_id: JobId,
    worker: WorkerName,
    request: Request,
    body: Annotated[BlockIn | None, Body()] = None,
) -> WorkerOut:
    """Take no more answers from a worker, and say what happens to the votes. The answers stay on record, and paid.

    The worker's assignments are released and their money returns; `next` says `stop`, `worker-blocked`. With `votes`:

    - `remove`: the votes no longer count. Their items are judged again by the other votes, and items that are not good
      enough without them reopen.
    - `discount`: the votes still count, but are weighted by what is known of the worker now, so that a model that knows
      a guesser gives them no weight. Under `anonymous` every vote weighs the same, and nothing changes.
    - `keep`: nothing happens to them.

    Items are recounted in portions, so that others can go on working. The response comes when all is done; sending the
    request again finishes what was interrupted. A worker may be blocked before the first answer.
    """
    asked = body or BlockIn()
    take_your_time(request)
    profile = await blocking.block_worker(
        services.database,
        services.job_locks,
        job_id,
        worker,
        votes=asked.votes,
        message=asked.reason,
        clock=services.clock,
    )
    return _worker_out(profile)


@router.post(
    "/{worker:path}/unblock",
    summary="Unblock a worker",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput),
)
async def unblock_worker(services: ServicesOf, job_id: JobId, worker: WorkerName, request: Request) -> WorkerOut:
    """Give a worker work again, and count the votes that were removed: items are judged as if nothing had happened.

    If votes are weighted by skill, they are weighted by what is known of the worker today. A worker who is not blocked
    stays as it is. The automatic test does not block the worker again until it has as many further votes to judge by. A
    `low-information` worker gets work again, and for good.
    """
    take_your_time(request)
    profile = await blocking.unblock_worker(services.database, services.job_locks, job_id, worker, clock=services.clock)
    return _worker_out(profile)


def _worker_out(profile: Profile) -> WorkerOut:
    row, skill = profile.row, profile.skill
    return WorkerOut(
        worker=row.worker,
        status=row.status,
        skill=None if skill is None else SkillOut(estimate=skill.estimate, low=skill.low, high=skill.high),
        answers=row.answers,
        scored_answers=row.scored_answers,
        agreed_answers=row.agreed_answers,
        agreement=row.agreed_answers / row.scored_answers if row.scored_answers else None,
        gold=GoldOut(
            asked=row.gold_asked,
            right=row.gold_right,
            accuracy=row.gold_right / row.gold_asked if row.gold_asked else None,
        ),
        median_seconds=row.median_seconds,
        copying_probability=row.copying_probability,
        price=row.price,
        tier=profile.tier,
        registered=row.registered,
        blocked=_blocked_out(profile),
        low_information=_low_information_out(profile),
    )


def _blocked_out(profile: Profile) -> BlockedOut | None:
    block = profile.row.block
    if block is None:
        return None
    return BlockedOut(
        reason=ReasonOut(**block["reason"]),
        evidence=block["evidence"],
        since=datetime.fromisoformat(block["since"]),
        votes=block["votes"],
        pending=profile.row.recount,
    )


def _low_information_out(profile: Profile) -> LowInformationOut | None:
    found = profile.row.low_information
    if found is None:
        return None
    return LowInformationOut(
        reason=ReasonOut(**found["reason"]),
        information_share=found["information_share"],
        since=datetime.fromisoformat(found["since"]),
    )
