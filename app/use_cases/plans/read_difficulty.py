"""Read the votes that show how hard a job's questions are."""

from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.policy.planning.difficulty import DifficultyVotes
from app.store.jobs import load_job
from app.store.vote_counts import two_strongest_classes


async def read_votes(database: AsyncEngine, job_id: UUID) -> DifficultyVotes:
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
        counts = await two_strongest_classes(connection, job_id, job.last_item)
    first, second, items = np.array(counts, dtype=np.int64).reshape(-1, 3).T
    return DifficultyVotes.of(first, second, items)
