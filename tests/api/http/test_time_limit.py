"""A request that makes no progress is ended and leaves nothing behind: no connection, no lock, no waiting statement."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from sqlalchemy import text

from app.main import create_app, shut_down
from app.settings import Settings
from tests.service import on_a_port
from tests.waiting import eventually, lock_waits

SECONDS = 0.6  # long enough for a request on a busy machine
CONNECTIONS = 5
JOB = {"labels": ["cat", "dog"], "budget": "10"}


@pytest.fixture
async def impatient(database_url: str) -> AsyncIterator[FastAPI]:
    settings = Settings(
        database_url=database_url,
        database_connections=5,
        log_level="error",
        request_seconds=SECONDS,
        sweep_seconds=3600,
    )
    app = create_app(settings)
    yield app
    await shut_down(app)


@pytest.fixture
async def http(impatient: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(impatient)
    async with httpx.AsyncClient(transport=transport, base_url="http://suffice", timeout=30) as client:
        yield client


@asynccontextmanager
async def locked(database, job: dict) -> AsyncIterator[None]:
    """Somebody else holds the job's row."""
    async with database.connect() as connection:
        await connection.execute(text("SELECT 1 FROM job WHERE job_id = :job FOR UPDATE"), {"job": job["id"]})
        yield


async def no_statement_waits(database) -> bool:
    return await lock_waits(database) == 0


async def test_a_request_that_waits_for_a_lock_is_ended(impatient, http, database):
    job = (await http.post("/v1/jobs", json=JOB)).json()
    async with locked(database, job):
        started = time.monotonic()
        response = await http.post(f"/v1/jobs/{job['id']}/pause")
        assert time.monotonic() - started >= SECONDS
        assert (response.status_code, response.json()["code"]) == (503, "too-slow")
        assert response.headers["Retry-After"] == "1"
        assert response.headers["Content-Type"] == "application/problem+json"
        assert response.json()["request_id"] == response.headers["X-Request-ID"]
        assert impatient.state.services.database.pool.checkedout() == 0
        await eventually(lambda: no_statement_waits(database))
    assert (await http.post(f"/v1/jobs/{job['id']}/pause")).json()["state"] == "paused"


async def test_many_at_once_are_ended_and_the_pool_is_whole_again(impatient, http, database):
    """More than there are connections: those who wait for one are ended too."""
    job = (await http.post("/v1/jobs", json=JOB)).json()
    pool = impatient.state.services.database.pool
    for _ in range(2):
        async with locked(database, job):
            asks = (http.post(f"/v1/jobs/{job['id']}/pause") for _ in range(40))
            assert {response.status_code for response in await asyncio.gather(*asks)} == {503}
            assert pool.checkedout() == 0
            await eventually(lambda: no_statement_waits(database))
    async with AsyncExitStack() as all_of_them:
        for _ in range(CONNECTIONS):
            connection = await all_of_them.enter_async_context(impatient.state.services.database.connect())
            assert await connection.scalar(text("SELECT 1")) == 1
    assert (await http.post(f"/v1/jobs/{job['id']}/resume")).status_code == 200


async def test_each_part_of_the_body_gives_new_time(http):
    """Six parts at half the limit each: slower than the limit as a whole, but never without progress."""

    async def slowly():
        whole = b'{"labels": ["cat", "dog"], "budget": "10"}'
        for start in range(0, len(whole), 8):
            await asyncio.sleep(SECONDS / 2)
            yield whole[start : start + 8]

    response = await http.post("/v1/jobs", content=slowly(), headers={"Content-Type": "application/json"})
    assert response.status_code == 201


async def test_a_response_that_has_begun_may_take_its_time(impatient, http):
    @impatient.get("/slow-stream")
    async def slow_stream() -> StreamingResponse:
        async def parts():
            for _ in range(3):
                await asyncio.sleep(SECONDS)
                yield b"x"

        return StreamingResponse(parts())

    assert (await http.get("/slow-stream")).text == "xxx"


async def test_a_timeout_of_somebody_else_is_not_ours(impatient, http):
    @impatient.get("/other-timeout")
    async def other_timeout() -> None:
        raise TimeoutError

    assert (await http.get("/other-timeout")).json()["code"] == "unavailable"


async def test_what_reads_no_body_is_not_told_that_its_body_is_late(impatient, http):
    @impatient.get("/sleep")
    async def sleep() -> None:
        await asyncio.sleep(60)

    @impatient.post("/read-and-wait")
    async def read_and_wait(request: Request) -> None:
        await request.body()
        await request.receive()  # until the client leaves

    assert (await http.get("/sleep")).json()["code"] == "too-slow"
    assert (await http.post("/read-and-wait", content=b"x")).json()["code"] == "too-slow"


@pytest.fixture
def port(impatient: FastAPI):
    """The same service on a real port, in a separate thread with its own event loop."""
    with on_a_port(impatient) as url:
        yield urlsplit(url).port


async def test_a_body_that_stops_coming_is_a_408(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        b'POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{"la'
    )
    answer = (await asyncio.wait_for(reader.read(), 10)).decode()  # to the end: the server hangs up
    writer.close()
    head, _, body = answer.partition("\r\n\r\n")
    assert head.startswith("HTTP/1.1 408 ")
    assert "connection: close" in head.lower()
    assert '"code":"request-timeout"' in body


async def test_clients_that_leave_while_they_wait_leak_nothing(impatient, port, database):
    """All requests that wait for one job hold one connection together; in the end they hold none."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        job = (await client.post("/v1/jobs", json=JOB)).json()
        async with locked(database, job):
            for _ in range(20):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(
                    f"POST /v1/jobs/{job['id']}/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode()
                )
                await writer.drain()
                writer.close()
            pool = impatient.state.services.database.pool
            await eventually(lambda: pool.checkedout() == 1)
            await eventually(lambda: pool.checkedout() == 0)
            await eventually(lambda: no_statement_waits(database))
        assert (await client.post(f"/v1/jobs/{job['id']}/resume")).status_code == 200
