"""Is the process alive, and can it work?"""

from typing import Literal

from fastapi import APIRouter
from pydantic import BaseModel

from app.api.dependencies import Database
from app.api.problems import documented
from app.errors import Unavailable
from app.store.database import current_revision, head_revision

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: Literal["ok"] = "ok"


class Readiness(BaseModel):
    status: Literal["ready"] = "ready"
    revision: str | None


@router.get("/healthz", summary="Is the process alive?")
async def healthz() -> Health:
    """For a supervisor: restart the process if this does not answer. It touches nothing else."""
    return Health()


@router.get("/readyz", summary="Can it take requests?", responses=documented())
async def readyz(database: Database) -> Readiness:
    """For a load balancer: send requests only while this answers 200. It checks the database and its migrations."""
    found, expected = await current_revision(database), head_revision()
    if found != expected:
        raise Unavailable(f"The database is at revision {found}, the code needs {expected}: run `suffice migrate`")
    return Readiness(revision=found)
