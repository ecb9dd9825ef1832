"""Block and unblock a worker, and recount the worker's votes."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.worker import Worker
from app.policy.core.decision import Reason
from app.store.jobs import lock_job, save_ledger
from app.store.workers import begin_workers, lift_block, load_workers
from app.use_cases.clock import Clock
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.recount import recount_votes_of
from app.use_cases.workers.blocking import Block, BlockedVotes, block_of, block_workers
from app.use_cases.workers.manage_workers import Profile, profile_of, read_worker

_NO_REASON = "The requester has blocked this worker"


async def block_worker(
    database: AsyncEngine,
    job_locks: JobLocks,
    job_id: UUID,
    worker: str,
    *,
    votes: BlockedVotes,
    message: str | None,
    clock: Clock,
) -> Profile:
    """Block a worker at once, then recount all of the worker's votes page by page before returning.

    Blocking again may change the reason and how votes count; the time and the evidence of the first block stay.
    """
    async with job_locks.of(job_id), database.begin() as connection:
        job = await lock_job(connection, job_id)
        now = clock()
        known = await _known(connection, job_id, worker)
        reason = Reason("requester", message or _NO_REASON)
        block = block_of(reason, votes=votes, since=now, by="requester")
        if known.block is not None:
            block |= _kept(known.block, message)
        await save_ledger(connection, await block_workers(connection, job, {worker: block}))
    await recount_votes_of(database.begin, job_locks, job_id, worker, clock)
    return await read_worker(database, job_id, worker)


async def unblock_worker(
    database: AsyncEngine, job_locks: JobLocks, job_id: UUID, worker: str, *, clock: Clock
) -> Profile:
    """Unblock a worker, or give a low-information worker new work, and put back votes that were removed."""
    async with job_locks.of(job_id), database.begin() as connection:
        job = await lock_job(connection, job_id)
        await profile_of(connection, job, worker)
        await lift_block(connection, job_id, worker)
    await recount_votes_of(database.begin, job_locks, job_id, worker, clock)
    return await read_worker(database, job_id, worker)


async def _known(connection: AsyncConnection, job_id: UUID, worker: str) -> Worker:
    """Load the worker; insert it if it is new to the job."""
    known = await load_workers(connection, job_id, [worker])
    if worker not in known:
        await begin_workers(connection, job_id, [worker])
        return Worker()
    return known[worker]


def _kept(before: Mapping[str, Any], message: str | None) -> Block:
    """The fields of the earlier block that stay when a worker is blocked again."""
    names = ("since", "evidence", "by") if message is not None else ("since", "evidence", "by", "reason")
    return {name: before[name] for name in names}
