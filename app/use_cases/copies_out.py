"""Keep count of the answers that are out, and of what that means for an item's priority."""

from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState
from app.store.items import Item, change_in_flight, load_items, save_standings
from app.store.jobs import Job
from app.use_cases.standing import Known, judge_one, state_of


async def change_copies_out(connection: AsyncConnection, job: Job, changes: Mapping[int, int]) -> None:
    """Add to the number of answers that are out, per item; most allocations do not mind, some then think again."""
    if not job.rules.allocation.heeds_in_flight:
        await change_in_flight(connection, job.job_id, changes)
        return
    loaded = await load_items(connection, job.job_id, keys=(), item_ids=changes.keys())
    await save_standings(connection, job.job_id, [_thought_over(job, row, changes[row.item_id]) for row in loaded])


def _thought_over(job: Job, row: Item, change: int) -> Item:
    row = replace(row, in_flight=row.in_flight + change)
    if row.standing.state is not ItemState.OPEN:
        return row
    standing, _ = judge_one(job.engine, state_of(row.standing), Known.of(row))
    return replace(row, standing=standing)
