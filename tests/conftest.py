"""A real Postgres for the whole run, and the real application on it."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from app.main import create_app, shut_down
from app.settings import Settings
from app.store.database import create_engine, migrate
from app.store.embedded import embedded_postgres

for shared in ("calls", "crowd", "invariants", "model", "replay"):  # their assertions explain themselves, too
    pytest.register_assert_rewrite(f"tests.promises.{shared}")


LONG_WAITS = ("test_command.py", "test_docs_in_browser.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What mostly waits begins first: others compute meanwhile, and nobody waits for it in the end."""
    items.sort(key=lambda item: item.path.name not in LONG_WAITS)


class Clock:
    """Time that a test moves forward by hand.

    It starts in the far future: a service that a test starts on the same database sweeps by the real time, and must not
    take these leases for expired.
    """

    def __init__(self) -> None:
        self.now = datetime(2100, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded_postgres(tmp_path_factory.mktemp("data")) as url:
        migrate(url)
        yield url


@pytest.fixture(scope="session")
async def database(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(database_url, connections=20)
    yield engine
    await engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def app(database_url: str, clock: Clock) -> AsyncIterator[FastAPI]:
    app = create_app(Settings(database_url=database_url, database_connections=20, log_level="error"), clock)
    yield app
    await shut_down(app)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://suffice", timeout=30) as client:
        yield client


PLAIN_VOTES = {
    "requirement": {"kind": "ratio"},
    "worker_model": {"kind": "anonymous"},
    "aggregation": {"kind": "majority"},
}
LEARNING = {"requirement": {"kind": "posterior"}, "worker_model": {"kind": "auto"}, "aggregation": {"kind": "model"}}


class JobClient:
    """One job over HTTP, with the shortest words for what tests do most."""

    def __init__(self, http: httpx.AsyncClient, job: dict) -> None:
        self.http = http
        self.id = job["id"]
        self.path = f"/v1/jobs/{self.id}"

    async def next(self, worker: str | None = None, count: int = 1) -> dict:
        body = {"count": count} | ({"worker": worker} if worker else {})
        response = await self.http.post(f"{self.path}/next", json=body)
        assert response.status_code == 200, response.text
        return response.json()

    async def answer(self, item: str, worker: str, label: str) -> httpx.Response:
        return await self.http.post(f"{self.path}/answers", json={"item": item, "worker": worker, "label": label})

    async def status(self) -> dict:
        return (await self.http.get(self.path)).json()

    async def results(self, **query: object) -> list[dict]:
        response = await self.http.get(f"{self.path}/results", params=query)
        assert response.status_code == 200, response.text
        return response.json()["results"]


@pytest.fixture
def new_job(client: httpx.AsyncClient):
    """Create a job with so many items, and whatever else a test cares about: by default one that only counts votes."""

    async def create(items: int = 0, costs: list[str] | None = None, **fields: object) -> JobClient:
        body = {"labels": ["cat", "dog"], "budget": None} | PLAIN_VOTES | fields
        response = await client.post("/v1/jobs", json=body)
        assert response.status_code == 201, response.text
        job = JobClient(client, response.json())
        costs = costs or ["1"] * items
        rows = [{"key": f"i{n}", "payload": {"n": n}, "cost": cost} for n, cost in enumerate(costs, start=1)]
        if rows:
            added = await client.post(f"{job.path}/items", json=rows)
            assert added.status_code == 201, added.text
        return job

    return create


@pytest.fixture(scope="session")
def project() -> Path:
    return Path(__file__).parent.parent


@pytest.fixture(scope="session")
def database_apart(database_url: str) -> str:
    """For a service that sweeps by the real time: one replica sweeps a database, and tests want to be that one."""
    asyncio.run(create_database(database_url, "apart"))
    url = make_url(database_url).set(database="apart").render_as_string(hide_password=False)
    migrate(url)
    return url


async def create_database(beside: str, name: str) -> None:
    connection = await asyncpg.connect(beside)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()


@pytest.fixture(scope="session")
def served(database_apart: str) -> Iterator[str]:
    """The address of the service on a real port."""
    app = create_app(Settings(database_url=database_apart, log_level="error"))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


async def finished(http: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """An operation once it is done or has failed. It may be the work of a process that gives way to all others."""
    for _ in range(1200):
        operation = (await http.get(path)).json()
        if operation["state"] in {"done", "failed"}:
            return operation
        await asyncio.sleep(0.05)
    raise AssertionError(operation)
