"""Block a worker, or let one in again, and see to the votes."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain import Reason
from app.store.jobs import lock_job, save_ledger
from app.store.workers import Worker, begin_workers, lift_block, load_workers
from app.use_cases.clock import Clock
from app.use_cases.manage_workers import Profile, profile_of, read_worker
from app.use_cases.recount_votes import recount_votes_of
from app.use_cases.shut_out import Block, Votes, block_of, shut_out
from app.use_cases.turns import Turns

_NO_REASON = "A requester has blocked this worker"


async def block_worker(
    database: AsyncEngine,
    turns: Turns,
    job_id: UUID,
    worker: str,
    *,
    votes: Votes,
    message: str | None,
    clock: Clock,
) -> Profile:
    """At once as far as new work goes; the votes are dealt with page by page, and all are when this returns.

    Blocking again may change the reason and what becomes of the votes; since when, and on what evidence, stays.
    """
    async with turns.of(job_id), database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()
        known = await _known(connection, job_id, worker)
        reason = Reason("requester", message or _NO_REASON)
        block = block_of(reason, votes=votes, since=now, by="requester")
        if known.block is not None:
            block |= _kept(known.block, message)
        await save_ledger(connection, await shut_out(connection, job, {worker: block}))
    await recount_votes_of(database.begin, turns, job_id, worker, clock)
    return await read_worker(database, job_id, worker)


async def unblock_worker(database: AsyncEngine, turns: Turns, job_id: UUID, worker: str, *, clock: Clock) -> Profile:
    """Let a worker in and put back the votes that were removed; also those that an earlier call did not get to."""
    async with turns.of(job_id), database.begin() as connection:
        job = await lock_job(connection, job_id)
        await profile_of(connection, job, worker)
        await lift_block(connection, job_id, worker)
    await recount_votes_of(database.begin, turns, job_id, worker, clock)
    return await read_worker(database, job_id, worker)


async def _known(connection: AsyncConnection, job_id: UUID, worker: str) -> Worker:
    """The worker, of whom the job knows from now on."""
    known = await load_workers(connection, job_id, [worker])
    if worker not in known:
        await begin_workers(connection, job_id, [worker])
        return Worker()
    return known[worker]


def _kept(before: Mapping[str, Any], message: str | None) -> Block:
    """What stays when a worker is blocked who was blocked before."""
    names = ("since", "evidence", "by") if message is not None else ("since", "evidence", "by", "reason")
    return {name: before[name] for name in names}
