"""Workers: what they charge, and what their answers have taught about them."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from sqlalchemy import Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.tables import worker


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of a job; one who is not registered costs what the item costs."""

    skill: Sequence[float] | None = None
    price: Decimal = Decimal(1)


STRANGER = Worker()


async def load_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> dict[str, Worker]:
    """Those of these workers of whom something is known."""
    if not names:
        return {}
    wanted = worker.c.worker == func.any(bindparam("workers", list(names), ARRAY(Text)))
    query = select(worker.c.worker, worker.c.skill, worker.c.price).where(worker.c.job_id == job_id, wanted)
    return {row.worker: Worker(row.skill, row.price) for row in await connection.execute(query)}


async def save_skills(connection: AsyncConnection, job_id: UUID, skills: Mapping[str, Sequence[float]]) -> None:
    if not skills:
        return
    rows = [{"job_id": job_id, "worker": name, "skill": list(skill)} for name, skill in skills.items()]
    statement = insert(worker)
    statement = statement.on_conflict_do_update(
        index_elements=["job_id", "worker"], set_={"skill": statement.excluded.skill}
    )
    await connection.execute(statement, rows)
