"""Load the workers whom requests name, and turn away who goes by the name of the job's feature model."""

from collections.abc import Collection
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.domain.worker import UNKNOWN_WORKER, Worker
from app.store.workers import load_workers

_RESERVED = {
    "reason": {"code": "reserved", "message": "the job's feature model has this name in the list of workers"},
    "votes": "keep",
}


async def load_named_workers(connection: AsyncConnection, job: Job, names: Collection[str]) -> dict[str, Worker]:
    """Load these workers. The name of the feature model is as good as blocked: its skill is that of the model alone."""
    found = dict(await load_workers(connection, job.job_id, names))
    model = job.policy.features
    if model is not None and model.source in names:
        found[model.source] = replace(found.get(model.source, UNKNOWN_WORKER), block=_RESERVED)
    return found
