"""Find the jobs whose money buys no further answer."""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.store.driver import fetch

# A worker who is not registered has the price 1. Each subquery reads one entry of an index.
MONEY_IS_SPENT = """
    (job.budget IS NOT NULL AND job.items > job.resolved + job.given_up AND job.reserved = 0
        AND job.budget - job.spent
            < (SELECT min(i.cost) FROM item i WHERE i.job_id = job.job_id AND i.state = 'open')
            * least(1, (SELECT min(w.price) FROM worker w WHERE w.job_id = job.job_id AND w.status = 'active'))
        AND NOT EXISTS (SELECT FROM assignment a WHERE a.job_id = job.job_id AND a.state = 'live'))"""
_SPENT = f"SELECT job.job_id FROM job WHERE job.job_id = ANY ($1::uuid[]) AND {MONEY_IS_SPENT}"


async def with_end_of_money(connection: AsyncConnection, job: Job) -> Job:
    """Return the job with `out_of_money` as it is now."""
    return (await all_with_end_of_money(connection, [job]))[0]


async def all_with_end_of_money(connection: AsyncConnection, jobs: Sequence[Job]) -> list[Job]:
    """Return these jobs with `out_of_money` as it is now; jobs that have money or leases are not looked up."""
    unclear = [job.job_id for job in jobs if job.budget is not None and job.open and not job.reserved]
    spent: set[UUID] = set()
    if unclear:
        spent = {row["job_id"] for row in await fetch(connection, _SPENT, unclear)}
    return [replace(job, out_of_money=job.job_id in spent) for job in jobs]
