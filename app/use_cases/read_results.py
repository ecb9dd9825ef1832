"""Turn votes into labels, a page at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import ItemState, Reason
from app.policy.belief import Belief
from app.store.items import Item, page_of_items
from app.store.jobs import Job, load_job


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


async def read_results(database: AsyncEngine, job_id: UUID, *, state: ItemState | None, after: int, most: int) -> Page:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_items(connection, job_id, state=state, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return Page(_label(job, page), page[-1].item_id if more else None)


def _label(job: Job, items: Sequence[Item]) -> list[Result]:
    if not items:
        return []
    belief = Belief.of([row.standing.votes for row in items])
    winners = job.rules.aggregation.labels(belief)
    posterior = belief.posterior
    return [
        Result(
            item=row.key,
            label=job.rules.labels[winner] if winner >= 0 else None,
            confidence=float(chances[winner] if winner >= 0 else chances.max()),
            state=row.standing.state,
            votes=dict(zip(job.rules.labels, row.standing.votes, strict=True)),
            reason=row.standing.reason,
        )
        for row, winner, chances in zip(items, winners, posterior, strict=True)
    ]
