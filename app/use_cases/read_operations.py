"""Tell how long work on a job stands."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.errors import OperationUnknown
from app.store.jobs import load_job
from app.store.operations import Operation, load_operation, page_of_operations
from app.use_cases.answer_ledger import number_in


async def read_operation(database: AsyncEngine, job_id: UUID, name: str) -> Operation:
    number = number_in(name)
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = None if number is None else await load_operation(connection, job_id, number)
    if found is None:
        raise OperationUnknown(f"The job has no operation {name!r}")
    return found


async def list_operations(
    database: AsyncEngine, job_id: UUID, *, before: int, most: int
) -> tuple[list[Operation], int | None]:
    """A page, and the number before which the next one starts; None on the last page."""
    async with database.connect() as connection:
        await load_job(connection, job_id)
        found = await page_of_operations(connection, job_id, before=before, most=most + 1)
    page, more = found[:most], found[most:]
    return page, page[-1].operation_id if more else None
