"""Workers over HTTP."""

from typing import Annotated

from fastapi import APIRouter, Body

from app.api.cursors import Cursor, Limit, after_name, cursor_of
from app.api.dependencies import Database, InTurn, JobId
from app.api.problems import documented
from app.api.schemas import MOST_WORKERS, WORKERS_EXAMPLE, WorkerIn, WorkerOut, WorkersOut, WorkersRegistered
from app.errors import InvalidInput, JobUnknown
from app.use_cases.manage_workers import list_workers, register_workers

router = APIRouter(prefix="/v1/jobs/{job}/workers", tags=["workers"])


@router.post("", summary="Register workers", responses=documented(JobUnknown, InvalidInput, body=True))
async def post_workers(
    job_id: JobId,
    body: Annotated[list[WorkerIn], Body(min_length=1, max_length=MOST_WORKERS, examples=[WORKERS_EXAMPLE])],
    database: Database,
    turns: InTurn,
) -> WorkersRegistered:
    """Say what workers charge: an answer costs the item's `cost` times the worker's `price`.

    Nobody needs to be registered: a worker who just comes has the price 1. Registering again sets a new price for the
    leases to come; those that are out keep their cost. Where a worker stands here twice, the last price counts.
    """
    prices = {one.worker: one.price for one in body}
    async with turns.of(job_id):
        await register_workers(database, job_id, prices)
    return WorkersRegistered(registered=len(prices))


@router.get("", summary="List workers", responses=documented(JobUnknown, InvalidInput))
async def get_workers(job_id: JobId, database: Database, cursor: Cursor = None, limit: Limit = 100) -> WorkersOut:
    """See who is registered or has been learned about, by name, with what they charge."""
    page = await list_workers(database, job_id, after=after_name(cursor), most=limit)
    following = None if page.next_after is None else cursor_of(page.next_after)
    workers = [WorkerOut(worker=name, price=worker.price) for name, worker in page.workers]
    return WorkersOut(workers=workers, next_cursor=following)
