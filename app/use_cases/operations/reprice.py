"""Judge the open items of a job by a new expected price, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.item_decisions import page_of_item_rows
from app.store.jobs import lock_job, save_ledger
from app.store.operations import jobs_to_reprice
from app.use_cases.clock import Clock
from app.use_cases.job_locks import JobLocks
from app.use_cases.work.rejudging import rejudge_rows

_PAGE = 1000  # items: a few tenths of a second under the job's lock


@dataclass(frozen=True)
class RepriceHandler:
    """Judges open items by a new expected price, in the background: a crash loses nothing but the current page."""

    clock: Clock
    job_locks: JobLocks

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_to_reprice(connection)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        worked = False
        while await self._judge_page(connection, job_id):
            worked = True
        return worked

    async def _judge_page(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with self.job_locks.of(job_id), connection.begin():
            job = await lock_job(connection, job_id)
            if job.repriced_to is None:
                return False
            rows = await page_of_item_rows(connection, job_id, open_only=True, after=job.repriced_to, most=_PAGE)
            job = await rejudge_rows(connection, job, rows, rows, reopens=False, now=self.clock())
            await save_ledger(connection, replace(job, repriced_to=rows[-1].item_id if len(rows) == _PAGE else None))
            return True
