"""Register workers with what they charge, and list them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.jobs import load_job, lock_job
from app.store.workers import Worker, page_of_workers, save_prices


@dataclass(frozen=True)
class WorkerPage:
    workers: Sequence[tuple[str, Worker]]
    next_after: str | None  # where the next page starts; None on the last one


async def register_workers(database: AsyncEngine, job_id: UUID, prices: Mapping[str, Decimal]) -> None:
    """Set what workers charge from now on; leases that are out keep their cost."""
    async with database.begin() as connection:
        await lock_job(connection, job_id)
        await save_prices(connection, job_id, prices)


async def list_workers(database: AsyncEngine, job_id: UUID, *, after: str, most: int) -> WorkerPage:
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = await page_of_workers(connection, job_id, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return WorkerPage(page, page[-1][0] if more else None)
