"""Keep count of the answers that are out, and of what that means for an item's priority."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState
from app.store.items import Item, change_in_flight, load_items, save_standings
from app.store.jobs import Job
from app.use_cases.standing import standings


async def change_copies_out(connection: AsyncConnection, job: Job, changes: Mapping[int, int]) -> None:
    """Add to the number of answers that are out, per item; most allocations do not mind, some then think again."""
    if not job.rules.allocation.heeds_in_flight:
        await change_in_flight(connection, job.job_id, changes)
        return
    loaded = await load_items(connection, job.job_id, keys=(), item_ids=changes.keys())
    changed = [replace(row, in_flight=row.in_flight + changes[row.item_id]) for row in loaded]
    await save_standings(connection, job.job_id, thought_over(job, changed))


def thought_over(job: Job, rows: Sequence[Item]) -> list[Item]:
    """Items as they stand now that other numbers of answers are out; those that are closed stay as they are."""
    known = [row for row in rows if row.standing.state is ItemState.OPEN]
    found = zip(known, standings(job.engine, known), strict=True)
    anew = {row.item_id: replace(row, standing=standing) for row, standing in found}
    return [anew.get(row.item_id, row) for row in rows]
