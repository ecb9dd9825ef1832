"""Tell how items stand, and the whole story of one."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import ItemState
from app.errors import ItemUnknown
from app.policy.belief import Array
from app.store.answers import Answer, answers_on_items
from app.store.items import Item, load_items, page_of_items
from app.store.jobs import Job, load_job
from app.use_cases.standing import Known, facts_of, state_of


@dataclass(frozen=True)
class ItemPage:
    job: Job
    items: Sequence[Item]
    next_after: int | None  # where the next page starts; None on the last one


@dataclass(frozen=True)
class Story:
    job: Job
    item: Item
    posterior: Array  # (classes,)
    answers: Sequence[Answer]


async def read_items(
    database: AsyncEngine, job_id: UUID, *, state: ItemState | None, after: int, most: int
) -> ItemPage:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = await page_of_items(connection, job_id, state=state, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return ItemPage(job, page, page[-1].item_id if more else None)


async def read_item(database: AsyncEngine, job_id: UUID, key: str) -> Story:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        found = [] if "\x00" in key else await load_items(connection, job_id, keys=[key], item_ids=())
        if not found:
            raise ItemUnknown(f"The job has no item {key!r}")
        answers = await answers_on_items(connection, job_id, [found[0].item_id])
    engine = job.engine
    prospect = engine.prospect(state_of([found[0].standing]), facts_of(engine, [Known.of(found[0])]))
    return Story(job, found[0], prospect.now.posterior[0], answers)
