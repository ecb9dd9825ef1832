"""Races and expiry: many ask at once, and the sums still hold."""

import asyncio
from datetime import timedelta

from app.use_cases.work.held_assignments import sweep
from tests.promises.invariants import broken_invariants


async def labeler(job, worker: str, right: str) -> int:
    """Ask and answer until there is nothing more to do; every fifth answer is wrong."""
    given = 0
    while True:
        ask = await job.next(worker, count=2)
        if ask["status"] != "continue":
            return given
        for one in ask["assignments"]:
            label = right if (int(one["id"]) + given) % 5 else "dog"
            assert (await job.answer(one["item"], worker, label)).status_code == 200
            given += 1


async def test_twenty_workers_at_once_keep_every_promise(new_job, database):
    job = await new_job(costs=["1", "0.25", "2.5"] * 10, budget="60")
    answers = await asyncio.gather(*(labeler(job, f"w{n}", "cat") for n in range(20)))
    status = await job.status()
    assert status["answers"] == sum(answers)
    assert status["answers"] > 30
    assert await broken_invariants(database, job.id) == {}


async def test_asks_answers_and_expiry_at_once_keep_every_promise(new_job, database, clock):
    job = await new_job(items=20, budget="70", lease_seconds=30)

    async def forgetful(worker: str) -> None:
        for turn in range(6):
            ask = await job.next(worker, count=3)
            for one in ask["assignments"][: turn % 3]:
                await job.answer(one["item"], worker, "cat" if turn % 2 else "dog")
            clock.advance(7)

    await asyncio.gather(*(forgetful(f"w{n}") for n in range(10)))
    assert await broken_invariants(database, job.id) == {}


async def test_the_sweep_returns_money_though_nobody_asks(new_job, database, clock):
    job = await new_job(items=3, budget="3", lease_seconds=60)
    await job.next("w1", count=3)
    await sweep(database, clock.now + timedelta(seconds=59))
    assert (await job.status())["reserved"] == "3"
    await sweep(database, clock.now + timedelta(seconds=60))
    assert (await job.status())["reserved"] == "0"
    assert await broken_invariants(database, job.id) == {}
