"""One lock per job, for requests that change a whole job: they wait here before they take a connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary


class JobLocks:
    """One lock per job, within this process.

    These requests would also wait for each other in the database, but there each one holds a connection: ten requests
    that wait for one job would block all other jobs.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = (
            WeakValueDictionary()
        )  # a lock is deleted after its last use

    @asynccontextmanager
    async def of(self, job_id: UUID) -> AsyncIterator[None]:
        """Hold the lock of a job."""
        lock = self._locks.setdefault(job_id, asyncio.Lock())
        async with lock:
            yield
