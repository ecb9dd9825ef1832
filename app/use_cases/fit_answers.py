"""Fit all answers of a job at once, off the event loop, and remember the fit while the answers stay the same."""

import asyncio
from collections import OrderedDict, defaultdict
from itertools import count
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.policy.aggregation import AnyAggregation, Ballots, Consensus
from app.store.answers import ballots_of
from app.store.items import gold_labels
from app.store.jobs import Job

_KEPT = 8  # fits; a page of results should not cost a fit of the whole job


class Fits:
    """Fits of recent requests. A fit is a pure function of the answers, so every replica may keep its own."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[UUID, int, int, int, str], asyncio.Task[Consensus]] = OrderedDict()

    async def consensus(self, database: AsyncEngine, job: Job, aggregation: AnyAggregation) -> Consensus:
        key = (job.job_id, job.items, job.answers, job.recounts, aggregation.model_dump_json())
        if key not in self._kept:
            self._kept[key] = asyncio.create_task(_fit(database, job, aggregation))
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        task = self._kept[key]
        try:
            return await asyncio.shield(task)  # a caller who leaves does not stop the fit for the others
        finally:
            if task.done() and (task.cancelled() or task.exception()):
                self._kept.pop(key, None)


async def _fit(database: AsyncEngine, job: Job, aggregation: AnyAggregation) -> Consensus:
    async with database.connect() as connection:
        rows = await ballots_of(connection, job.job_id)
        gold = await gold_labels(connection, job.job_id)
    return await asyncio.to_thread(_fit_rows, rows, gold, job, aggregation)


def _fit_rows(
    rows: list[tuple[int, str | None, int]], gold: dict[int, int], job: Job, aggregation: AnyAggregation
) -> Consensus:
    # Nobody knows whether two unnamed answers are of one person, so each is a worker of its own.
    workers: defaultdict[object, int] = defaultdict(count().__next__)
    who = [workers[name if name is not None else position] for position, (_, name, _) in enumerate(rows)]
    known = np.full(job.items, -1)
    known[[item_id - 1 for item_id in gold]] = list(gold.values())
    ballots = Ballots.of(
        [item_id - 1 for item_id, _, _ in rows],
        who,
        [label for _, _, label in rows],
        items=job.items,
        classes=len(job.rules.labels),
        gold=known,
    )
    return aggregation.fit(ballots)
