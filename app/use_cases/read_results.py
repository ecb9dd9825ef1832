"""Turn answers into labels, a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import ItemState, Reason
from app.policy.aggregation import AnyAggregation, Majority
from app.policy.belief import Array, Belief
from app.policy.shares import NOBODY, Index
from app.store.items import Item, page_of_items
from app.store.jobs import Job, load_job
from app.use_cases.fit_answers import Fits


@dataclass(frozen=True)
class Result:
    item: str
    label: str | None
    confidence: float
    state: ItemState
    votes: dict[str, int]
    reason: Reason


@dataclass(frozen=True)
class Page:
    results: Sequence[Result]
    next_after: int | None  # where the next page starts; None on the last one


async def read_results(
    database: AsyncEngine,
    fits: Fits,
    job_id: UUID,
    *,
    aggregation: AnyAggregation | None,
    state: ItemState | None,
    after: int,
    most: int,
) -> Page:
    """Label a page of items, by the job's own aggregation unless another is asked for."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_items(connection, job_id, state=state, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    if not page:
        return Page([], None)
    chosen = aggregation or job.rules.aggregation
    if isinstance(chosen, Majority):
        labels, chances = _by_votes(page)
    else:
        consensus = await fits.consensus(database, job, chosen)
        rows = [row.item_id - 1 for row in page]
        labels, chances = consensus.labels()[rows], consensus.posterior[rows]
    results = _results(job, page, labels, chances)
    if aggregation is None and isinstance(chosen, Majority):
        results = [_as_told(job, row, result) for row, result in zip(page, results, strict=True)]
    return Page(results, page[-1].item_id if more else None)


def _as_told(job: Job, row: Item, result: Result) -> Result:
    """A resolved item keeps the label that its verdict gave, which may know more than the votes."""
    if row.standing.label is None:
        return result
    return replace(result, label=job.rules.labels[row.standing.label], confidence=row.standing.confidence)


def _by_votes(page: Sequence[Item]) -> tuple[Index, Array]:
    belief = Belief.of([row.standing.votes for row in page])
    return Majority().labels(belief), belief.posterior


def _results(job: Job, page: Sequence[Item], labels: Index, chances: Array) -> list[Result]:
    return [
        Result(
            item=row.key,
            label=None if label == NOBODY else job.rules.labels[label],
            confidence=_confidence(row, label, chance),
            state=row.standing.state,
            votes=dict(zip(job.rules.labels, row.standing.votes, strict=True)),
            reason=row.standing.reason,
        )
        for row, label, chance in zip(page, labels, chances, strict=True)
    ]


def _confidence(row: Item, label: np.intp, chance: Array) -> float:
    """How likely the label is right; without any vote, no better than a guess."""
    if label != NOBODY:
        return float(chance[label])
    return float(chance.max()) if any(row.standing.votes) else 1 / len(chance)
