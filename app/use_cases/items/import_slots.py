"""How many imports of items one process works on at the same time."""

import asyncio

from app.use_cases.job_locks import JobLocks


class ImportSlots:
    """Limit concurrent imports: each holds a database connection for as long as it takes.

    Imports of one job run one after the other. They wait for the job's lock before they take a slot, so that they do
    not keep imports of other jobs waiting.
    """

    def __init__(self, large: int = 2, small: int = 4) -> None:
        self.job_locks = JobLocks()
        self.large = asyncio.Semaphore(large)
        self.small = asyncio.Semaphore(small)
