"""Tell how a job stands."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncEngine

from app.store.jobs import Job, load_job


async def read_job(database: AsyncEngine, job_id: UUID) -> Job:
    async with database.connect() as connection:
        return await load_job(connection, job_id)
