"""Kill the service in the middle of an import of recorded answers: nothing is half done, what is kept is finished."""

import asyncio
import random
from uuid import UUID

import httpx
import pytest
from sqlalchemy import text

from tests.depth import depth
from tests.promises.invariants import broken_invariants
from tests.service import Service
from tests.waiting import eventually

ITEMS, WORKERS = 2000, 10
QUICK = {"SUFFICE_SWEEP_SECONDS": "0.3", "SUFFICE_LOG_LEVEL": "error"}
JOB = {
    "labels": ["cat", "dog"],
    "budget": "1",
    "requirement": {"kind": "count", "labels": WORKERS},
    "max_votes_per_label": None,
    "refit": None,
}
FILE = "item,worker,label\n" + "".join(
    f"i{item},w{worker},{'cat' if (item + worker) % 3 else 'dog'}\n"
    for worker in range(WORKERS)
    for item in range(ITEMS)
)


def create(url: str) -> str:
    job = httpx.post(f"{url}/v1/jobs", json=JOB, timeout=60).json()["id"]
    rows = [{"key": f"i{number}"} for number in range(ITEMS)]
    assert httpx.post(f"{url}/v1/jobs/{job}/items", json=rows, timeout=60).status_code == 201
    return job


async def numbers(database, job: str) -> tuple[int, int]:
    """How many answers are recorded, and how many wait for it."""
    query = text("""
        SELECT (SELECT count(*) FROM answer WHERE job_id = :job),
            (SELECT coalesce(sum(cardinality(workers)), 0) FROM imported_answers WHERE job_id = :job)""")
    async with database.connect() as connection:
        recorded, waiting = (await connection.execute(query, {"job": UUID(job)})).one()
    return recorded, int(waiting)


@pytest.mark.parametrize("seed", [1, 2][: depth(1, 2)])
async def test_an_import_is_all_or_nothing_when_the_service_is_killed(tmp_path, database_url, database, seed):
    """Killed while the file arrives, is checked, and is recorded; the file is sent again until it is acknowledged."""
    chance = random.Random(seed)  # noqa: S311  when to kill is no secret
    settings = QUICK | {"DATABASE_URL": database_url}
    running = await asyncio.to_thread(Service, tmp_path / "kept", **settings)
    port = running.url.rpartition(":")[2]
    job = await asyncio.to_thread(create, running.url)
    path, total = f"{running.url}/v1/jobs/{job}/answers", ITEMS * WORKERS

    async def send() -> bool:
        try:
            async with httpx.AsyncClient(timeout=60) as client:
                sent = await client.post(path, content=FILE, headers={"Content-Type": "text/csv"})
        except httpx.TransportError:
            return False
        assert sent.status_code == 201, sent.text
        return True

    async def restart() -> Service:
        running.kill()
        return await asyncio.to_thread(Service, tmp_path / "kept", **settings, SUFFICE_PORT=port)

    try:
        acknowledged = False
        for _ in range(3):
            sending = asyncio.create_task(send())
            await asyncio.sleep(chance.random() * 0.6)
            running = await restart()
            acknowledged |= await sending
            recorded, waiting = await numbers(database, job)
            assert recorded + waiting in ({total} if acknowledged else {0, total})
            assert await broken_invariants(database, job) == {}
        assert acknowledged or await send()
        await eventually(lambda: some_recorded(database, job))
        running = await restart()  # between two pages, or in one

        async def all_recorded() -> bool:
            return await numbers(database, job) == (total, 0)

        await eventually(all_recorded)
        assert await broken_invariants(database, job, at_rest=True) == {}
        shown = await asyncio.to_thread(httpx.get, f"{running.url}/v1/jobs/{job}", timeout=60)
        assert shown.json()["state"] == "done"
    finally:
        running.kill()


async def some_recorded(database, job: str) -> bool:
    return (await numbers(database, job))[0] > 0


async def test_a_sender_who_hangs_up_leaves_nothing(tmp_path, database_url, database):
    running = await asyncio.to_thread(Service, tmp_path / "kept", **QUICK, DATABASE_URL=database_url)
    try:
        job = await asyncio.to_thread(create, running.url)
        _, writer = await asyncio.open_connection("127.0.0.1", int(running.url.rpartition(":")[2]))
        fields = "Host: x\r\nContent-Type: text/csv\r\nContent-Length: 999999"
        head = f"POST /v1/jobs/{job}/answers HTTP/1.1\r\n{fields}\r\n\r\n"
        writer.write((head + FILE[:200_000]).encode())
        await writer.drain()
        writer.close()
        async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
            sent = {"item": "i0", "worker": "a", "label": "dog"}
            await client.post(f"/v1/jobs/{job}/answers", json=sent)
        assert await numbers(database, job) == (1, 0)
    finally:
        running.kill()
