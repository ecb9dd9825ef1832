"""Fit all answers of a job at once, off the event loop, and remember the fit while the answers stay the same."""

import asyncio
from collections import OrderedDict
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.policy.aggregation import AnyAggregation, Consensus
from app.store.history import ballots_of, read_history
from app.store.jobs import Job

_KEPT = 8  # fits; a page of results should not cost a fit of the whole job


class Fits:
    """Fits of recent requests. A fit is a pure function of the answers, so every replica may keep its own."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[UUID, int, int, int, str], asyncio.Task[Consensus]] = OrderedDict()

    async def consensus(self, database: AsyncEngine, job: Job, aggregation: AnyAggregation) -> Consensus:
        key = (job.job_id, job.items, job.answers, job.recounts, aggregation.model_dump_json())
        if key not in self._kept:
            self._kept[key] = asyncio.create_task(_fit(database, job.job_id, aggregation))
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        task = self._kept[key]
        try:
            return await asyncio.shield(task)  # a caller who leaves does not stop the fit for the others
        finally:
            if task.done() and (task.cancelled() or task.exception()):
                self._kept.pop(key, None)


async def _fit(database: AsyncEngine, job_id: UUID, aggregation: AnyAggregation) -> Consensus:
    async with database.connect() as connection:
        history = await read_history(connection, job_id)
    return await asyncio.to_thread(lambda: aggregation.fit(ballots_of(history)))
