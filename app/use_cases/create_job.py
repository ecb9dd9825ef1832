"""Open a job: from now on items can be added and workers can ask."""

from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.policy.rules import Rules
from app.store.jobs import Job, insert_job


async def create_job(
    connection: AsyncConnection,
    *,
    job_id: UUID,
    name: str | None,
    rules: Rules,
    budget: Decimal | None,
    lease_duration: timedelta,
    now: datetime,
) -> Job:
    new = Job(
        job_id=job_id,
        name=name,
        rules=rules,
        budget=budget,
        lease_duration=lease_duration,
        refit_at=rules.first_refit,
        created_at=now,
    )
    await insert_job(connection, new)
    return new
