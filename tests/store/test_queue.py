"""Choosing the next item reads the head of an index, whatever the size of the job."""

import asyncio
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy import text

from app.store.queue import best_open_items, head_of_queue, who_finds_room


async def read_ahead(connection, job_id):
    return await head_of_queue(connection, job_id, most=16)


async def look_for_one(connection, job_id):
    prices = {"price": Decimal("1.5"), "affordable": Decimal(20)}
    return await best_open_items(connection, job_id, worker="w1", besides=[1, 2], most=1, **prices)


async def look_who_waits(connection, job_id):
    return await who_finds_room(connection, job_id, dict.fromkeys(["w1", "w2", None], Decimal(1)), None)


@pytest.mark.parametrize(("read", "count"), [(read_ahead, 16), (look_for_one, 1), (look_who_waits, 3)])
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
    assert "using ix_item_queue" in plan, plan
    for bad in ("Sort", "Seq Scan on item", "Anti Join", "Materialize", "hashed SubPlan"):
        assert bad not in plan, plan


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


async def test_who_has_answered_much_finds_the_rest_quickly(new_job, database):
    """What a worker has answered is looked up item by item: twice as much takes twice as long, not four times."""
    job = await new_job(items=4000, requirement={"kind": "count", "labels": 3})
    for start in range(0, 3990, 1000):
        numbers = range(start + 1, min(start + 1000, 3990) + 1)
        answers = [{"item": f"i{n}", "worker": "model", "label": "cat"} for n in numbers]
        assert (await job.http.post(f"{job.path}/answers", json={"answers": answers})).status_code == 200
    async with database.begin() as connection:
        await connection.execute(text("SET LOCAL statement_timeout = 2000"))  # the join took many times as long
        assert await best_open_items(
            connection, UUID(job.id), worker="model", price=Decimal(1), affordable=None, besides=[], most=1
        )
        assert await who_finds_room(connection, UUID(job.id), {"model": Decimal(1)}, None) == {"model"}
