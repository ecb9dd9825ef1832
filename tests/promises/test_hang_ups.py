"""Clients that do not wait for the answer take nothing with them."""

import asyncio
import random
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from app.main import create_app
from app.settings import Settings
from app.use_cases.release_expired import sweep
from tests.conftest import Clock
from tests.promises.crowd import wait_for_rest
from tests.promises.invariants import broken_invariants
from tests.promises.wire import Wire

IMPATIENT = 200


@pytest.fixture
def served_app(database_url: str) -> Iterator[tuple[str, FastAPI]]:
    """The service on a real port, and its inside."""
    settings = Settings(database_url=database_url, sweep_seconds=0.3, log_level="error")
    app = create_app(settings)
    config = uvicorn.Config(app, port=0, log_config=None, access_log=False, timeout_graceful_shutdown=5)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        threading.Event().wait(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}", app
    server.should_exit = True
    thread.join(20)  # a service that does not end must not keep the test from failing


async def broken_after_sweeping(database: AsyncEngine, job_id: str, clock: Clock) -> dict[str, int]:
    """Another service of the run may be sweeping at this moment, by the real time: then this sweep does nothing."""
    for _ in range(20):
        await sweep(database, clock.now)
        broken = await broken_invariants(database, job_id, at_rest=True)
        if not broken:
            break
        await asyncio.sleep(0.1)
    return broken


async def connections_in_use(app: FastAPI) -> int:
    """After a moment in which whatever still runs may end."""
    for _ in range(200):
        if not app.state.database.pool.checkedout():
            break
        await asyncio.sleep(0.05)
    return app.state.database.pool.checkedout()


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
    assert await connections_in_use(app) == 0
    await wait_for_rest(url, job)
    assert await broken_invariants(database, job["id"], at_rest=True) == {}
    assert (await wire.get(f"/v1/jobs/{job['id']}")).body["answers"] > 0
    assert (await wire.post(f"/v1/jobs/{job['id']}/next", {"worker": "patient"})).status == 200
    wire.hang_up()


async def test_who_is_cancelled_takes_nobody_along(new_job, app, database, clock):
    """A request that is cut off in the middle of its work harms none that is served beside it."""
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
    assert await connections_in_use(app) == 0
    assert await broken_invariants(database, job.id) == {}
    clock.advance(61)
    assert await broken_after_sweeping(database, job.id, clock) == {}
    assert (await job.next("last"))["status"] == "continue"
