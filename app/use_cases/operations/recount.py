"""Remove the votes of a blocked worker from the counts, or put them back, and judge the items again."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import ItemRow
from app.domain.job import Job
from app.domain.worker import UNKNOWN_WORKER, Voter, Worker
from app.policy.core.belief import Array, ItemContext, Mask
from app.policy.engine import Engine
from app.policy.worker_models.inference.answer_replay import replayed
from app.store.item_decisions import item_rows_of, page_of_opinions
from app.store.jobs import load_job, lock_job, save_ledger, save_sources
from app.store.operations import jobs_to_recount
from app.store.recounts import VoteRow, page_of_votes, save_counted, votes_on_items, withhold
from app.store.workers import load_workers, mark_recounted, workers_to_recount
from app.use_cases.clock import Clock
from app.use_cases.job_locks import JobLocks
from app.use_cases.work.judging import ItemFacts, context_of, with_state
from app.use_cases.work.rejudging import rejudge_rows
from app.use_cases.workers.skills import skill_rows, tier_skills

_PAGE = 1000  # votes, each on another item: a few tenths of a second under the job's lock

Begin = Callable[[], AbstractAsyncContextManager[AsyncConnection]]  # a transaction, of a pool or of one connection


@dataclass(frozen=True)
class RecountHandler:
    """Recounts the votes of workers who were blocked or unblocked, in the background."""

    clock: Clock
    job_locks: JobLocks

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_to_recount(connection)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with connection.begin():
            await load_job(connection, job_id)
            waiting = await workers_to_recount(connection, job_id)
        for worker in waiting:
            await recount_votes_of(partial(_transaction, connection), self.job_locks, job_id, worker, self.clock)
        return bool(waiting)  # items that are judged again may show that more workers guess


@asynccontextmanager
async def _transaction(connection: AsyncConnection) -> AsyncIterator[AsyncConnection]:
    async with connection.begin():
        yield connection


async def recount_votes_of(begin: Begin, job_locks: JobLocks, job_id: UUID, worker: str, clock: Clock) -> None:
    """Remove or put back a worker's votes as the worker's block says, one page per transaction.

    The worker's row is read again for each page, so the worker may be blocked or unblocked in between, and the next
    call finishes what a crash has interrupted. Items are rebuilt from their answers in the order of commit, with the
    present skills. Counted votes give the same result in any order; a vote that is weighted by its worker's skill may
    have a slightly different weight than before.
    """
    after: int | None = 0
    while after is not None:
        async with job_locks.of(job_id), begin() as connection:
            job = await lock_job(connection, job_id)
            after = await _recount_opinions(connection, job, worker, after, clock())
    after = 0
    while after is not None:
        async with job_locks.of(job_id), begin() as connection:
            job = await lock_job(connection, job_id)
            after = await _recount_page(connection, job, worker, after, clock())


async def _recount_opinions(
    connection: AsyncConnection, job: Job, worker: str, after: int, now: datetime
) -> int | None:
    """Let opinions about items count or not, as the block of their source says: one page, like `_recount_page`."""
    if worker not in job.policy.sources:
        return None
    place = job.policy.sources.index(worker)
    source = job.source(place)
    known = (await load_workers(connection, job.job_id, [worker])).get(worker, UNKNOWN_WORKER)
    if known.block is not None and known.block["votes"] == "remove":
        skill: tuple[float, ...] | None = ()
    elif source.blocked:
        skill = None if known.skill is None else tuple(known.skill)
    else:
        return None  # they count, as before
    if source.skill != skill:
        job = job.with_source(place, replace(source, skill=skill))
        await save_sources(connection, job)
    rows = await page_of_opinions(connection, job.job_id, place, without_answers=False, after=after, most=_PAGE)
    if rows:
        job = await rebuild_items(connection, job, [row.item_id for row in rows], now)
        await save_ledger(connection, replace(job, recounts=job.recounts + 1))
    return rows[-1].item_id if len(rows) == _PAGE else None


async def _recount_page(connection: AsyncConnection, job: Job, worker: str, after: int, now: datetime) -> int | None:
    """Recount one page; returns the answer after which the next page starts, or None after the last page."""
    block = (await load_workers(connection, job.job_id, [worker])).get(worker, UNKNOWN_WORKER).block
    removed = block is not None and block["votes"] == "remove"
    discounted = block is not None and block["votes"] == "discount"
    votes = await page_of_votes(
        connection, job.job_id, worker, withheld=None if discounted else not removed, after=after, most=_PAGE
    )
    if not votes:
        await mark_recounted(connection, job.job_id, worker)
        return None
    await withhold(connection, job.job_id, [vote.answer_id for vote in votes], withheld=removed)
    job = await rebuild_items(connection, job, [vote.item_id for vote in votes], now)
    await save_ledger(connection, replace(job, recounts=job.recounts + 1))
    return votes[-1].answer_id


async def rebuild_items(connection: AsyncConnection, job: Job, item_ids: Sequence[int], now: datetime) -> Job:
    """Count and judge items of a locked job again from their answers; returns the job, which the caller must save.

    Closed items are judged too, by all their votes, but items with a known label stay closed.
    """
    rows = await item_rows_of(connection, job.job_id, item_ids)
    votes = await votes_on_items(connection, job.job_id, item_ids)
    workers = await load_workers(connection, job.job_id, {one.voter for one in votes if isinstance(one.voter, str)})
    rebuilt = await asyncio.to_thread(_rebuild, job.engine, rows, votes, workers)
    await save_counted(connection, job.job_id, rebuilt.counted)
    return await rejudge_rows(connection, job, rows, rebuilt.rows, reopens=True, now=now)


@dataclass(frozen=True)
class _RebuiltItems:
    """Items with votes and model states that follow from their answers."""

    rows: Sequence[ItemRow]
    counted: Mapping[int, bool]  # by answer, only where it has changed


def _rebuild(
    engine: Engine, rows: Sequence[ItemRow], votes: Sequence[VoteRow], workers: Mapping[str, Worker]
) -> _RebuiltItems:
    known: dict[Voter, Sequence[float] | Array | None] = dict(tier_skills(engine))
    known |= {name: worker.skill for name, worker in workers.items()}
    voters = [None, *known, *({vote.voter for vote in votes} - known.keys() - {None})]
    worker_of = {voter: number for number, voter in enumerate(voters)}
    item_of = {row.item_id: number for number, row in enumerate(rows)}
    skill = skill_rows(engine, [known.get(voter) for voter in voters], len(voters))
    ballots = engine.policy.ballots(
        [item_of[vote.item_id] for vote in votes],
        [worker_of[vote.voter] for vote in votes],
        [vote.said for vote in votes],
        items=len(rows),
        workers=len(voters),
    )
    state = replayed(engine.model, ballots, context_of(engine, [ItemFacts.of(row) for row in rows]), skill)
    counts = _whose_votes_count(engine, skill)
    counted = {vote.answer_id: bool(counts[worker_of[vote.voter]]) for vote in votes}
    return _RebuiltItems(
        rows=with_state(rows, state),
        counted={vote.answer_id: counted[vote.answer_id] for vote in votes if counted[vote.answer_id] != vote.counted},
    )


def _whose_votes_count(engine: Engine, skill: Array) -> Mask:
    """Whether a vote of each worker counts on a new item, shape (workers,): a model may ignore some workers."""
    model, context = engine.model, ItemContext.plain(len(skill))
    fresh = model.start(context, engine.policy.classes)
    answered = model.after_answer(fresh, context, skill, np.zeros(len(skill), dtype=np.intp))
    return np.asarray(answered.votes.any(axis=1))
