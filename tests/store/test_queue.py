"""Choosing the next item reads the head of an index, whatever the size of the job."""

import asyncio
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text

from app.store.queue import best_open_item, head_of_queue


async def read_ahead(connection, job_id):
    return await head_of_queue(connection, job_id, most=16)


async def look_for_one(connection, job_id):
    prices = {"price": Decimal("1.5"), "affordable": Decimal(20)}
    found = await best_open_item(connection, job_id, worker="w1", besides=[1, 2], **prices)
    return [found]


@pytest.mark.parametrize(("read", "count"), [(read_ahead, 16), (look_for_one, 1)])
async def test_the_queue_is_read_from_its_index(new_job, database, read, count):
    """No sort and no scan of the job: a plan that reads a few items of ten thousand."""
    job = await new_job(items=10_000)
    asked = []
    async with database.begin() as connection:
        await connection.execute(text("ANALYZE item"))
        driver = (await connection.get_raw_connection()).driver_connection
        with driver.query_logger(asked.append):
            found = await read(connection, UUID(job.id))
            await asyncio.sleep(0)  # the logger is called a moment later
        (query,) = [one for one in asked if "FROM item" in one.query]
        plan = "\n".join(row[0] for row in await driver.fetch(f"EXPLAIN ANALYZE {query.query}", *query.args))
    assert len(found) == count
    assert "Index Scan using ix_item_queue" in plan, plan
    assert "Sort" not in plan, plan


async def test_ties_are_broken_by_the_seed_and_not_by_order(new_job):
    """Fresh items are all worth the same: the seed decides, the same way every time."""
    orders = []
    for seed in (1, 1, 2):
        job = await new_job(items=30, seed=seed)
        given = await job.next("w1", count=30)
        orders.append([one["item"] for one in given["assignments"]])
    assert orders[0] == orders[1]
    assert orders[0] != orders[2]
    assert orders[0] != sorted(orders[0], key=lambda key: int(key[1:]))
