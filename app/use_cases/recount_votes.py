"""Take the votes of a worker out of the counts, or put them back, and judge again what they stood on."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.policy.aggregation import Ballots
from app.policy.belief import Array, Facts, Mask
from app.policy.engine import Engine
from app.policy.workers.replayed import replayed
from app.store.jobs import Job, load_job, lock_job, save_ledger
from app.store.recounts import VoteRow, page_of_votes, save_counted, votes_on_items, withhold
from app.store.standings import Place, places_of
from app.store.workers import STRANGER, Worker, load_workers, mark_recounted, workers_to_recount
from app.use_cases.clock import Clock
from app.use_cases.judge_again import judge_anew
from app.use_cases.standing import Known, facts_of, with_state
from app.use_cases.turns import Turns

_PAGE = 1000  # votes of the worker, each on an item of its own: some tenths of a second under the job's lock


Begin = Callable[[], AbstractAsyncContextManager[AsyncConnection]]  # a transaction, of a pool or of one connection


async def recount_votes_of(begin: Begin, turns: Turns, job_id: UUID, worker: str, clock: Clock) -> None:
    """Bring the counts in step with what was decided about this worker's votes, a page per transaction.

    What is to be done is read from the worker's row each time, so that a block and its lifting may overtake each other,
    and what a crash has left undone is found by the next call. Items are rebuilt from their answers in the order of
    commit, with what is known of each worker now: votes come out the same in any order; where a vote weighs by its
    worker's skill at the time, its weight may differ a little from the one it had.
    """
    after: int | None = 0
    while after is not None:
        async with turns.of(job_id), begin() as connection:
            job = await lock_job(connection, job_id)
            after = await _recount_page(connection, job, worker, after, clock())


async def recount_pending(begin: Begin, turns: Turns, job_id: UUID, clock: Clock) -> None:
    """Deal with the votes of all who were blocked or let in again and whose votes nobody has dealt with yet.

    Items that are judged again may tell of further guessers: theirs are dealt with, too.
    """
    while waiting := await _waiting(begin, job_id):
        for worker in waiting:
            await recount_votes_of(begin, turns, job_id, worker, clock)


async def _waiting(begin: Begin, job_id: UUID) -> list[str]:
    async with begin() as connection:
        await load_job(connection, job_id)
        return await workers_to_recount(connection, job_id)


async def _recount_page(connection: AsyncConnection, job: Job, worker: str, after: int, now: datetime) -> int | None:
    """Gives the answer behind which the next page starts; None when all is done."""
    block = (await load_workers(connection, job.job_id, [worker])).get(worker, STRANGER).block
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
    """Count and judge items of a locked job anew from their answers; gives the job with its counters, yet to be saved.

    Closed items are judged, too, by all votes that they have; but those whose label is known stay closed.
    """
    places = await places_of(connection, job.job_id, item_ids)
    votes = await votes_on_items(connection, job.job_id, item_ids)
    names = {vote.worker for vote in votes if vote.worker is not None}
    retold = await asyncio.to_thread(
        _retold, job.engine, places, votes, await load_workers(connection, job.job_id, names)
    )
    await save_counted(connection, job.job_id, retold.counted)
    return await judge_anew(connection, job, places, retold.places, closed_too=True, now=now)


@dataclass(frozen=True)
class _Retold:
    """Items with the votes and the evidence that their answers amount to."""

    places: Sequence[Place]
    counted: Mapping[int, bool]  # by answer, those that have changed


def _retold(
    engine: Engine, places: Sequence[Place], votes: Sequence[VoteRow], workers: Mapping[str, Worker]
) -> _Retold:
    names = [None, *workers, *({vote.worker for vote in votes} - workers.keys() - {None})]
    row_of = {name: row for row, name in enumerate(names)}
    position = {place.item_id: row for row, place in enumerate(places)}
    skill = _skills(engine, [workers.get(name or "", STRANGER) for name in names])
    ballots = Ballots.of(
        [position[vote.item_id] for vote in votes],
        [row_of[vote.worker] for vote in votes],
        [vote.label for vote in votes],
        items=len(places),
        workers=len(names),
        classes=len(engine.rules.labels),
    )
    state = replayed(engine.model, ballots, facts_of(engine, [Known.of(place) for place in places]), skill)
    counts = _whose_votes_count(engine, skill)
    counted = {vote.answer_id: bool(counts[row_of[vote.worker]]) for vote in votes}
    return _Retold(
        places=with_state(places, state),
        counted={vote.answer_id: counted[vote.answer_id] for vote in votes if counted[vote.answer_id] != vote.counted},
    )


def _skills(engine: Engine, workers: Sequence[Worker]) -> Array:
    newcomer = engine.newcomer()
    return np.array([newcomer if worker.skill is None else worker.skill for worker in workers])


def _whose_votes_count(engine: Engine, skill: Array) -> Mask:
    """Whether a vote of each worker would count on a fresh item, shape (workers,): a model may leave some out."""
    model, facts = engine.model, Facts.plain(len(skill))
    fresh = model.start(facts, len(engine.rules.labels))
    answered = model.answered(fresh, facts, skill, np.zeros(len(skill), dtype=np.intp))
    return np.asarray(answered.votes.any(axis=1))
