"""Limit how many imports of items one process runs at the same time."""

import asyncio

from app.use_cases.job_locks import JobLocks


class ImportSlots:
    """Limit concurrent imports, because each holds a database connection until it ends.

    Imports into one job run one after the other. They wait for the job's lock before they take a slot, so that imports
    into other jobs do not wait for them.
    """

    def __init__(self, large: int = 2, small: int = 4) -> None:
        self.job_locks = JobLocks()
        self.large = asyncio.Semaphore(large)
        self.small = asyncio.Semaphore(small)
