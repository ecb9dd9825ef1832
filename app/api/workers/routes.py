"""Workers over HTTP."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Body, Depends, Path, Query, Request
from pydantic import Field, TypeAdapter, ValidationError

from app.api.http.common_schemas import FirstErrorOnly, ReasonOut
from app.api.http.middleware import lift_time_limit
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
        raise WorkerUnknown(f"{shortened(worker)} is not a valid name of a worker") from None


WorkerName = Annotated[str, Depends(_worker_name)]


@router.post("", summary="Register workers", responses=documented(JobUnknown, InvalidInput, body=True))
async def register_workers(
    services: ServicesOf,
    job_id: JobId,
    body: Annotated[
        list[WorkerIn], FirstErrorOnly(), Field(min_length=1, max_length=MOST_WORKERS), Body(title="Workers")
    ],
) -> WorkersRegistered:
    """Set the price and the tier of workers: an answer costs the item's `cost` times the `price`.

    Workers need not be registered: a worker who is new to the job has the price 1 and belongs to the first tier.
    Registering again sets a new price for future assignments; live ones keep their cost. Fields that are left out stay
    unchanged. If a worker is named twice, the last entry counts.

    `accuracy` is what you know about a worker beforehand, such as .98 for an expert: it is worth as much as
    `accuracy_weight` checked answers, takes effect at once, and stays in every refit. What the worker's answers have
    shown so far is kept; their votes get the new weight at the next refit.
    """
    entries = [
        WorkerEntry(
            one.worker, one.price, one.tier, one.trusted, one.accuracy, one.accuracy_weight, pointer=f"#/{position}"
        )
        for position, one in enumerate(body)
    ]
    async with services.job_locks.of(job_id):
        registered = await manage_workers.register_workers(services.database, job_id, entries, services.clock())
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

    `sort=-skill` puts the best workers first; `sort=agreement` puts those first whose votes agree least with the final
    labels. A cursor is valid only for the same `sort`.
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
    """Read this before you pay or block a worker: skill with an interval, agreement, gold, speed, reason of a block.

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
    """Set the price for future assignments; live ones keep their cost. This also registers the worker."""
    async with services.job_locks.of(job_id):
        entry = WorkerEntry(worker, price=body.price)
        return _worker_out(await manage_workers.change_worker(services.database, job_id, entry, services.clock()))


@router.post(
    "/{worker:path}/tier",
    summary="Set a worker's tier",
    responses=documented(JobUnknown, WorkerUnknown, InvalidInput, body=True),
)
async def set_worker_tier(services: ServicesOf, job_id: JobId, worker: WorkerName, body: TierIn) -> WorkerOut:
    """For jobs with the worker model `tiers`: future votes are weighted by the new tier, earlier ones keep theirs.

    This also registers the worker. Other jobs refuse the request, because their worker model has no tiers.
    """
    async with services.job_locks.of(job_id):
        entry = WorkerEntry(worker, tier=body.tier)
        return _worker_out(await manage_workers.change_worker(services.database, job_id, entry, services.clock()))


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
    """Accept no more answers from a worker, and choose what happens to the votes. The answers stay recorded and paid.

    The worker's assignments are released, which frees their money; `next` says `stop`, `worker-blocked`. `votes` is:

    - `remove`: the votes no longer count. Their items are judged again by the other votes, and items that are not good
      enough without them reopen.
    - `discount`: the votes still count, but with the weight that the worker's present skill gives them; the votes of a
      worker who guesses get no weight. Under `anonymous` all votes weigh the same, so nothing changes.
    - `keep`: the votes stay as they are.

    Items are recounted in batches, so that other requests can go on. The response comes when all items are recounted;
    if the request is interrupted, send it again. A worker can be blocked before the first answer.
    """
    asked = body or BlockIn()
    lift_time_limit(request)
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
    """Give a worker work again, and count the removed votes again: items are judged as if there had been no block.

    If votes are weighted by skill, they get the weight of the worker's present skill. If the worker is not blocked,
    nothing changes. The automatic test does not block the worker again before `min_answers` further answers are scored.
    A `low-information` worker gets work again, permanently.
    """
    lift_time_limit(request)
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
        trusted=row.trusted,
        accuracy=row.stated_accuracy,
        accuracy_weight=row.stated_weight,
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
