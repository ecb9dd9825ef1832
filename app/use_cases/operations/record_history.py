"""Record imported answers in the background: a page of items at a time, with their votes counted and judged."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import ItemRow
from app.domain.job import Job
from app.store.history import NewAnswers, end_of_page, record_waiting, release_pairs
from app.store.item_decisions import item_rows_of
from app.store.items import drop_opinions
from app.store.jobs import load_job, lock_job, save_ledger
from app.store.operations import jobs_with_history
from app.store.workers import Tally, save_tallies
from app.use_cases.clock import Clock
from app.use_cases.job_locks import JobLocks
from app.use_cases.operations.recount import rebuild_items
from app.use_cases.work.held_assignments import return_assignments
from app.use_cases.workers.blocking import block_guessers

_PAUSE = 0.001  # seconds between two pages, in which waiting requests get the lock


@dataclass(frozen=True)
class HistoryHandler:
    """Records the answers of imports, in the background: a crash loses nothing but the current page."""

    clock: Clock
    job_locks: JobLocks

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_with_history(connection)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with connection.begin():
            await load_job(connection, job_id)
        after = 0
        while (last := await self._record_page(connection, job_id, after)) is not None:
            after = last
            await asyncio.sleep(_PAUSE)
        return after > 0

    async def _record_page(self, connection: AsyncConnection, job_id: UUID, after: int) -> int | None:
        """Record one page; returns its last item, or None if no answers wait after `after`."""
        async with self.job_locks.of(job_id), connection.begin():
            job = await lock_job(connection, job_id)
            last = await end_of_page(connection, job_id, after)
            if last is None:
                return None
            others = job.answers > job.imported
            new = await record_waiting(connection, job_id, after=after, last=last, answers=job.answers, others=others)
            if new:
                recorded = sum(len(one.items) for one in new)
                job = replace(job, answers=job.answers + recorded, imported=job.imported + recorded)
                await save_ledger(connection, await self._counted(connection, job, new))
            return last

    async def _counted(self, connection: AsyncConnection, job: Job, new: Sequence[NewAnswers]) -> Job:
        """Count new answers of a locked job and judge their items; returns the job, which the caller must save.

        Whoever held one of these items and has answered it elsewhere no longer holds it.
        """
        job_id, now = job.job_id, self.clock()
        item_ids = sorted({item_id for one in new for item_id in one.items})
        if job.assignments:
            items, workers = zip(*((item_id, one.worker) for one in new for item_id in one.items), strict=True)
            job = await return_assignments(connection, job, await release_pairs(connection, job_id, items, workers))
        for one in new:
            for place in job.replaced_by(one.worker):
                await drop_opinions(connection, job_id, place, one.items)
        rows = await item_rows_of(connection, job_id, item_ids)
        scores = await save_tallies(connection, job_id, _tallies(job, new, rows))
        job = await rebuild_items(connection, job, item_ids, now)
        job = await block_guessers(connection, job, scores, now)
        return replace(job, recounts=job.recounts + 1)


def _tallies(job: Job, new: Sequence[NewAnswers], rows: Sequence[ItemRow]) -> list[Tally]:
    """Return what the answers add to each worker's row: how many there are and, on gold, how many are right."""
    truths = {
        row.item_id: row.gold if row.gold_value is None else row.gold_value for row in rows if row.gold is not None
    }
    tallies = []
    for worker, items, said in new:
        checked = [(one, truths[item_id]) for item_id, one in zip(items, said, strict=True) if item_id in truths]
        right = sum(job.policy.agrees(one, truth) for one, truth in checked)
        tallies.append(Tally(worker, answers=len(items), gold_asked=len(checked), gold_right=right))
    return tallies
