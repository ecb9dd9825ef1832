"""Plans are computed in separate threads, with a bounded queue."""

import asyncio
from threading import Event

import pytest

from app.errors import TooSlow
from app.use_cases.plans.plan_threads import PlanThreads


async def test_one_too_many_is_told_to_come_again_and_the_others_are_done():
    pool, go = PlanThreads(threads=1, most_waiting=2), Event()
    waiting = [asyncio.create_task(pool.run(go.wait, 10)) for _ in range(3)]
    await asyncio.sleep(0)
    with pytest.raises(TooSlow) as refused:
        await pool.run(int)
    assert refused.value.headers == {"Retry-After": "1"}
    go.set()
    assert await asyncio.gather(*waiting) == [True] * 3
    assert await pool.run(int, "7") == 7


async def test_what_nobody_waits_for_makes_room():
    pool, go = PlanThreads(threads=1, most_waiting=1), Event()
    running = asyncio.create_task(pool.run(go.wait, 10))
    left = asyncio.create_task(pool.run(go.wait, 10))
    await asyncio.sleep(0)
    left.cancel()
    await asyncio.gather(left, return_exceptions=True)
    next_ = asyncio.create_task(pool.run(int, "5"))
    await asyncio.sleep(0)
    assert not next_.done()
    go.set()
    assert await next_ == 5
    assert await running


async def test_errors_come_through():
    with pytest.raises(ValueError, match="invalid literal"):
        await PlanThreads(threads=1, most_waiting=0).run(int, "x")
