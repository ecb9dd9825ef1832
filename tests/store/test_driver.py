"""A request that is cancelled in the middle of a statement does not wait for the driver."""

import asyncio
import threading
from uuid import UUID

from sqlalchemy import text

from app.store.connection import create_engine
from app.store.job_history import read_history


async def test_reading_all_answers_can_be_given_up_at_any_moment(new_job, database):
    """Also where every thread is busy: the driver would have one write what it reads, and could not be stopped then."""
    job = await new_job(items=1)
    await job.answer("i1", "w", "cat")
    release = threading.Event()
    busy = [asyncio.get_running_loop().run_in_executor(None, release.wait) for _ in range(100)]
    try:
        async with database.connect() as connection:
            driver = (await connection.get_raw_connection()).driver_connection
            reading = asyncio.create_task(read_history(connection, UUID(job.id)))
            await asyncio.wait([reading], timeout=0.5)
            reading.cancel()
            _, waiting = await asyncio.wait([reading], timeout=5)
            if waiting:
                driver.terminate()
            assert not waiting
    finally:
        release.set()
        await asyncio.gather(*busy)


async def test_connections_plan_for_any_job(database_url):
    """Else a job that is newer than the statistics gets plans for a job without rows (`bench/many_jobs.py`)."""
    engine = create_engine(database_url, 1)
    try:
        async with engine.connect() as connection:
            assert await connection.scalar(text("SHOW plan_cache_mode")) == "force_generic_plan"
    finally:
        await engine.dispose()
