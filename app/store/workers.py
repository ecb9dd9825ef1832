"""Workers: what their answers have taught about them."""

from collections.abc import Collection, Mapping, Sequence
from uuid import UUID

from sqlalchemy import Text, bindparam, func, select
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.tables import worker


async def load_skills(
    connection: AsyncConnection, job_id: UUID, workers: Collection[str]
) -> dict[str, Sequence[float]]:
    """The skills of those workers who have one."""
    wanted = worker.c.worker == func.any(bindparam("workers", list(workers), ARRAY(Text)))
    rows = await connection.execute(select(worker.c.worker, worker.c.skill).where(worker.c.job_id == job_id, wanted))
    return {row.worker: row.skill for row in rows}


async def save_skills(connection: AsyncConnection, job_id: UUID, skills: Mapping[str, Sequence[float]]) -> None:
    if not skills:
        return
    rows = [{"job_id": job_id, "worker": name, "skill": list(skill)} for name, skill in skills.items()]
    statement = insert(worker).values(rows)
    await connection.execute(
        statement.on_conflict_do_update(index_elements=["job_id", "worker"], set_={"skill": statement.excluded.skill})
    )
