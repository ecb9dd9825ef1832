"""Kill the service or its database at any moment: what was acknowledged is there, what was not can be sent again."""

import asyncio
import os
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import psutil

from app.store.connection import create_engine
from app.store.embedded import embedded_postgres
from tests.promises.crowd import Record, assert_kept, wait_for_rest
from tests.promises.wire import ConnectionLost, Reply, Wire
from tests.service import Service
from tests.waiting import eventually

CLIENTS = 16
KILLS = int(os.environ.get("SUFFICE_KILLS", "2"))
JOB = {
    "labels": ["dog", "cat"],
    "budget": "5000",
    "lease_seconds": 2,
    "requirement": {"kind": "count", "labels": 3},
    "allocation": {"kind": "round-robin"},
    "refit": None,
}
QUICK = {"SUFFICE_SWEEP_SECONDS": "0.3", "SUFFICE_LOG_LEVEL": "error"}


def create(url: str) -> dict[str, Any]:
    job = httpx.post(f"{url}/v1/jobs", json=JOB, timeout=60).json()
    rows = [{"key": f"i{n}", "cost": "2.5" if n % 3 else "0.25"} for n in range(1000)]
    assert httpx.post(f"{url}/v1/jobs/{job['id']}/items", json=rows, timeout=60).status_code == 201
    return job


class Labeler:
    """A worker who sends each request again until it is answered."""

    def __init__(self, number: int, url: str, job: dict[str, Any], record: Record) -> None:
        self.rng = random.Random(number)  # noqa: S311  which label is given is no secret
        self.worker, self.wire, self.record = f"w{number}", Wire(url), record
        self.job, self.path = job["id"], f"/v1/jobs/{job['id']}"

    async def work(self, over: asyncio.Event) -> None:
        while not over.is_set():
            given = (await self.insist(f"{self.path}/next", {"worker": self.worker, "count": 2})).body["assignments"]
            for one in given:
                if self.rng.random() < 0.9:  # the rest is left to expire
                    await self.answer(one)
            await asyncio.sleep(0.01)
        self.wire.hang_up()

    async def answer(self, one: dict[str, Any]) -> None:
        label = self.rng.choice(["cat", "cat", "dog"])
        sent = {"item": one["item"], "worker": self.worker, "label": label}
        self.record.note(self.job, sent, (await self.insist(f"{self.path}/answers", sent)).body)

    async def insist(self, path: str, body: object) -> Reply:
        while True:
            try:
                reply = self.record.seen(await self.wire.post(path, body))
            except ConnectionLost:
                self.record.codes["connection lost"] += 1
            else:
                if reply.status != 503:
                    return reply
            await asyncio.sleep(0.05)


@asynccontextmanager
async def labelers(url: str, job: dict[str, Any], record: Record) -> AsyncIterator[None]:
    """Let all clients work until the end of the block."""
    over = asyncio.Event()
    async with asyncio.TaskGroup() as everybody:
        for number in range(CLIENTS):
            everybody.create_task(Labeler(number, url, job, record).work(over))
        yield
        over.set()


async def some_work(record: Record, chance: random.Random) -> None:
    """Wait for some more answers, and then until any moment within a tenth of a second: the next kill comes there."""
    await more_answers(record, chance.randint(10, 40))
    await asyncio.sleep(chance.random() / 10)


async def more_answers(record: Record, number: int) -> None:
    """Wait for so many more recorded answers: no kill without a load, no end without a recovery."""
    before = len(record.accepted)
    await eventually(lambda: len(record.accepted) >= before + number)


def assert_only_answers_and_pauses(record: Record) -> None:
    assert {status for status in record.statuses if status >= 500} <= {503}
    assert record.contradicted == []
    assert record.refused.isdisjoint(record.accepted)


async def test_nothing_acknowledged_is_lost_when_the_service_is_killed(tmp_path, database_url, database):
    """Again and again `kill -9` under load; the clients send again what was not acknowledged, and it counts once."""
    chance = random.Random(1)  # noqa: S311  when to kill is no secret
    settings = QUICK | {"DATABASE_URL": database_url}
    running = await asyncio.to_thread(Service, tmp_path / "kept", **settings)
    port = running.url.rpartition(":")[2]
    record = Record()
    try:
        job = create(running.url)
        async with labelers(running.url, job, record):
            for _ in range(KILLS):
                await some_work(record, chance)
                running.kill()
                running = await asyncio.to_thread(Service, tmp_path / "kept", **settings, SUFFICE_PORT=port)
            await more_answers(record, 20)
        await wait_for_rest(running.url, job)
    finally:
        running.kill()
    assert record.codes["connection lost"] > 0
    assert_only_answers_and_pauses(record)
    await assert_kept(database, job, record)


async def test_nothing_acknowledged_is_lost_when_the_database_is_killed(tmp_path):
    """Again and again `kill -9` of the service's own PostgreSQL under load: a pause for the clients, and no loss."""
    chance = random.Random(2)  # noqa: S311  when to kill is no secret
    data_dir = tmp_path / "kept"
    running = await asyncio.to_thread(Service, data_dir, **QUICK)
    record = Record()
    try:
        job = create(running.url)
        async with labelers(running.url, job, record):
            for _ in range(KILLS):
                await some_work(record, chance)
                psutil.Process(int((data_dir / "postgres" / "postmaster.pid").read_text().split()[0])).kill()
            await more_answers(record, 40)
        await wait_for_rest(running.url, job)
        assert_only_answers_and_pauses(record)
        assert record.statuses[503] + record.codes["connection lost"] > 0
        with embedded_postgres(data_dir) as url:
            database = create_engine(url, 2)
            await assert_kept(database, job, record)
            await database.dispose()
    finally:
        if running.process.poll() is None:
            await asyncio.to_thread(running.stop)
        running.process.stdout.close()
