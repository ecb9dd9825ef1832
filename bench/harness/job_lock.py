"""How long others wait for a job's lock while something works on the job."""

import asyncio
import time

import asyncpg

_LOCK = "SELECT FROM job WHERE job_id = $1 FOR NO KEY UPDATE"


async def longest_wait(url: str, job: str, done: asyncio.Event) -> float:
    """The longest wait for the job's lock, in seconds."""
    connection = await asyncpg.connect(url)
    longest = 0.0
    while not done.is_set():
        started = time.perf_counter()
        async with connection.transaction():
            await connection.execute(_LOCK, job)
        longest = max(longest, time.perf_counter() - started)
        await asyncio.sleep(0.005)
    await connection.close()
    return longest
