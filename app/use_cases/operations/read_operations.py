"""Read a job's operations."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.operation import Operation
from app.errors import OperationUnknown
from app.store.jobs import load_job
from app.store.operations import load_operation, page_of_operations
from app.use_cases.work.ledger import number_in


async def read_operation(database: AsyncEngine, job_id: UUID, name: str) -> Operation:
    """Load one operation with its progress and, once it has ended, its outcome."""
    number = number_in(name)
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = None if number is None else await load_operation(connection, job_id, number)
    if found is None:
        raise OperationUnknown(f"The job has no operation {name!r}. GET /v1/jobs/{job_id}/operations lists them.")
    return found


async def list_operations(
    database: AsyncEngine, job_id: UUID, *, before: int, most: int
) -> tuple[list[Operation], int | None]:
    """Load a page of operations, newest first, and the number before which the next page starts; None on the last."""
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = await page_of_operations(connection, job_id, before=before, most=most + 1)
    page, more = found[:most], found[most:]
    return page, page[-1].operation_id if more else None
