"""List who holds, or held, what."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import AssignmentState
from app.store.assignments import HeldLease, page_of_leases
from app.store.jobs import load_job


@dataclass(frozen=True)
class AssignmentPage:
    held: Sequence[HeldLease]
    next_after: int | None  # where the next page starts; None on the last one


async def read_assignments(
    database: AsyncEngine, job_id: UUID, *, state: AssignmentState | None, worker: str | None, after: int, most: int
) -> AssignmentPage:
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = await page_of_leases(connection, job_id, state=state, worker=worker, after=after, most=most + 1)
    page, more = found[:most], found[most:]
    return AssignmentPage(page, page[-1].lease.assignment_id if more else None)
