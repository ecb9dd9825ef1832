"""Clients that do not wait for the answer take nothing with them."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from app.main import create_app
from app.settings import Settings
from app.use_cases.work.held_assignments import sweep
from tests.clock import Clock
from tests.promises.crowd import wait_for_rest
from tests.promises.invariants import broken_invariants
from tests.promises.wire import Wire
from tests.service import on_a_port
from tests.waiting import eventually

IMPATIENT = 200


@pytest.fixture
def served_app(database_url: str) -> Iterator[tuple[str, FastAPI]]:
    """The service on a real port, and its inside."""
    settings = Settings(database_url=database_url, sweep_seconds=0.3, log_level="error")
    app = create_app(settings)
    with on_a_port(app) as url:
        yield url, app


async def all_is_kept_after_a_sweep(database: AsyncEngine, job_id: str, clock: Clock) -> bool:
    """Sweep and check. While another service of this run sweeps, by the real time, this sweep does nothing."""
    await sweep(database, clock.now)
    return await broken_invariants(database, job_id, at_rest=True) == {}


async def all_connections_come_back(app: FastAPI) -> None:
    """Wait until whatever still runs has ended."""
    await eventually(lambda: app.state.services.database.pool.checkedout() == 0)


def some_request(chance: random.Random, job: str, worker: str) -> tuple[str, dict]:
    if chance.random() < 0.5:
        return f"/v1/jobs/{job}/next", {"worker": worker, "count": 2}
    answer = {"item": f"i{chance.randint(1, 40)}", "worker": worker, "label": chance.choice(["cat", "dog"])}
    return f"/v1/jobs/{job}/answers", answer


async def test_who_hangs_up_leaves_nothing_behind(served_app, database):
    """No connection stays in use, no lease outlives its time, and the next request is served."""
    url, app = served_app
    chance = random.Random(3)  # noqa: S311  when to hang up is no secret
    wire = Wire(url)
    fields = {"labels": ["cat", "dog"], "budget": "90", "lease_seconds": 1}
    job = (await wire.post("/v1/jobs", fields)).body
    await wire.post(f"/v1/jobs/{job['id']}/items", [{"key": f"i{n}"} for n in range(1, 41)])

    async def hang_up_on(number: int) -> None:
        impatient = Wire(url)
        await asyncio.sleep(chance.random())
        await impatient.send("POST", *some_request(chance, job["id"], f"w{number}"))
        await asyncio.sleep(chance.random() / 20)
        impatient.hang_up()

    await asyncio.gather(*(hang_up_on(number) for number in range(IMPATIENT)))
    await all_connections_come_back(app)
    await wait_for_rest(url, job)
    assert await broken_invariants(database, job["id"], at_rest=True) == {}
    assert (await wire.get(f"/v1/jobs/{job['id']}")).body["answers"] > 0
    assert (await wire.post(f"/v1/jobs/{job['id']}/next", {"worker": "patient"})).status == 200
    wire.hang_up()


async def test_who_is_cancelled_takes_nobody_along(new_job, app, database, clock):
    """A request that is cut off in the middle of its work harms no other request that is served at the same time."""
    chance = random.Random(4)  # noqa: S311  when to cancel is no secret
    job = await new_job(items=40, budget="150", lease_seconds=60)

    async def impatient(number: int) -> None:
        path, body = some_request(chance, job.id, f"w{number}")
        await asyncio.sleep(chance.random())
        with suppress(TimeoutError):
            async with asyncio.timeout(chance.random() / 20):
                await job.http.post(path, json=body)

    async def patient(number: int) -> set[int]:
        statuses = set()
        for _ in range(5):
            path, body = some_request(chance, job.id, f"p{number}")
            statuses.add((await job.http.post(path, json=body)).status_code)
            await asyncio.sleep(chance.random() / 5)
        return statuses

    everybody = [impatient(number) for number in range(IMPATIENT)]
    async with asyncio.timeout(60):  # who waits for ever was taken along too
        _, *statuses = await asyncio.gather(asyncio.gather(*everybody), *(patient(number) for number in range(10)))
    assert set().union(*statuses) <= {200, 409}
    await all_connections_come_back(app)
    assert await broken_invariants(database, job.id) == {}
    clock.advance(61)
    await eventually(lambda: all_is_kept_after_a_sweep(database, job.id, clock))
    assert (await job.next("last"))["status"] == "continue"
