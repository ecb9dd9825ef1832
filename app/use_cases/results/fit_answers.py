"""Aggregate all answers of a job, off the event loop, and cache the result while the answers stay the same."""

import asyncio
from collections import OrderedDict
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.job import Job
from app.policy.aggregation import AnyAggregation, Consensus
from app.store.job_history import ballots_of, read_history

_CACHED = 8  # fits: not every page of results should fit the whole job
_AT_ONCE = 2  # fits: parameters make many different ones, and pages of results need threads too


class Fits:
    """A cache of recent fits. A fit is a pure function of the answers, so every replica can have its own cache."""

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[UUID, int, int, int, str], asyncio.Task[Consensus]] = OrderedDict()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def consensus(self, database: AsyncEngine, job: Job, aggregation: AnyAggregation) -> Consensus:
        """Fit all answers with this aggregation, or return the cached fit."""
        key = (job.job_id, job.last_item, job.answers, job.recounts, aggregation.model_dump_json())
        if key not in self._cached:
            self._cached[key] = asyncio.create_task(self._fit(database, job.job_id, aggregation))
            while len(self._cached) > _CACHED:
                self._cached.popitem(last=False)
        self._cached.move_to_end(key)
        task = self._cached[key]
        try:
            return await asyncio.shield(task)  # a caller that is cancelled does not cancel the fit for the others
        finally:
            if task.done() and (task.cancelled() or task.exception()):
                self._cached.pop(key, None)

    async def _fit(self, database: AsyncEngine, job_id: UUID, aggregation: AnyAggregation) -> Consensus:
        async with self._slots:
            async with database.connect() as connection:
                history = await read_history(connection, job_id)
            policy = history.job.policy
            return await asyncio.to_thread(lambda: aggregation.fit(policy.on_questions(ballots_of(history))))
