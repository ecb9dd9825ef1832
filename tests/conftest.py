"""A real Postgres for the whole run, and the real application on it."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import httpx
import pytest
import structlog
from fastapi import FastAPI
from hypothesis import settings
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncEngine

from app.main import create_app, create_services, shut_down
from app.settings import Settings
from app.store.connection import create_engine, migrate
from app.store.embedded import embedded_postgres
from tests.clock import Clock
from tests.databases import create_database
from tests.depth import depth
from tests.jobs import PLAIN_VOTES, JobClient
from tests.order import FIRST, TOGETHER
from tests.service import on_a_port

for shared in ("calls", "crowd", "invariants", "model", "replay"):  # their assertions explain themselves, too
    pytest.register_assert_rewrite(f"tests.promises.{shared}")

# Without local variables: to print those of a failed export takes seconds, in which its connection stays open.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

settings.register_profile("suffice", max_examples=depth(25, 100))  # of properties that do not name a number
settings.load_profile("suffice")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))
    for item in items:
        if item.path.name in TOGETHER:
            item.add_marker(pytest.mark.xdist_group(item.path.name))


@pytest.fixture(scope="session")
def database_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with embedded_postgres(tmp_path_factory.mktemp("data")) as url:
        migrate(url)
        asyncio.run(create_database(url, "apart", template=make_url(url).database))  # while nobody is connected
        yield url


@pytest.fixture(scope="session")
async def database(database_url: str) -> AsyncIterator[AsyncEngine]:
    engine = create_engine(database_url, connections=20)
    yield engine
    await engine.dispose()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def routes(database_url: str) -> FastAPI:
    """The application without a test's services. To build its routes takes longer than most tests."""
    return create_app(Settings(database_url=database_url, database_connections=20, log_level="error"))


@pytest.fixture
async def app(routes: FastAPI, clock: Clock) -> AsyncIterator[FastAPI]:
    routes.state.services = create_services(routes.state.services.settings, clock)
    yield routes
    await shut_down(routes)


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://suffice", timeout=30) as client:
        yield client


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
    return make_url(database_url).set(database="apart").render_as_string(hide_password=False)


@pytest.fixture(scope="session")
def served(database_apart: str) -> Iterator[str]:
    """The address of the service on a real port, which may take its time on a busy machine."""
    with on_a_port(create_app(Settings(database_url=database_apart, log_level="error", request_seconds=240))) as url:
        yield url
