"""Let those who change a job as a whole come one by one, before they take a connection."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID
from weakref import WeakValueDictionary


class Turns:
    """One at a time per job and process.

    They would wait for each other in the database anyway; but there each holds a connection, and ten who wait for one
    job would keep everybody from all others.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()  # gone with the last who waits

    @asynccontextmanager
    async def of(self, job_id: UUID) -> AsyncIterator[None]:
        lock = self._locks.setdefault(job_id, asyncio.Lock())
        async with lock:
            yield
