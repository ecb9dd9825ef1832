"""Measure how fast items are imported over HTTP, compared with COPY of the same rows by Postgres.

The service runs in a separate process, as it is deployed. COPY gets prepared rows, in the format that it takes in
fastest, into the same table, emptied, with the same indexes. During the import another client asks for the job's
lock all the time, as `next` does.
"""

import argparse
import asyncio
import tempfile
import time
from pathlib import Path

import asyncpg
import httpx
from harness.job_lock import longest_wait
from harness.serving import MemoryWatch, the_service
from harness.upload import pieces_of

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

COLUMNS = (
    "item_id, key, payload, cost, gold, prior, features, state, votes, model_state, tier, priority, tie_break, "
    "max_open_assignments, open_assignments, label, confidence, progress, reason"
)


def write_items(path: Path, items: int) -> None:
    with path.open("w") as file:
        for number in range(items):
            file.write(f'{{"key": "item-{number}", "payload": {{"url": "https://example.org/{number}.jpg"}}}}\n')


async def imported(address: str, url: str, path: Path) -> tuple[str, float, float]:
    """The job, the seconds that its import took, and the longest wait for the job's lock meanwhile."""
    async with httpx.AsyncClient(base_url=address, timeout=None) as client:  # noqa: S113  as long as it takes
        job = (await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None})).json()["id"]
        done = asyncio.Event()
        waiting = asyncio.create_task(longest_wait(url, job, done))
        started = time.perf_counter()
        headers = {"Content-Type": "application/x-ndjson"}
        response = await client.post(f"/v1/jobs/{job}/items", content=pieces_of(path), headers=headers)
        elapsed = time.perf_counter() - started
        done.set()
        assert response.json()["added"] == sum(1 for _ in path.open("rb")), response.text  # noqa: S101
        return job, elapsed, await waiting


async def copied(url: str, job: str, folder: Path) -> dict[str, float]:
    """Seconds of COPY of the job's finished rows into the emptied table, by format."""
    connection = await asyncpg.connect(url)
    seconds = {}
    await connection.execute(f"CREATE TABLE finished AS SELECT * FROM item WHERE job_id = '{job}' ORDER BY item_id")
    for form in ("text", "binary"):
        path = folder / f"rows.{form}"
        await connection.copy_from_query(f"SELECT job_id, {COLUMNS} FROM finished", output=path, format=form)
        await connection.execute("TRUNCATE item CASCADE")
        started = time.perf_counter()
        columns = ["job_id", *COLUMNS.split(", ")]
        await connection.copy_to_table("item", source=path, columns=columns, format=form)
        seconds[form] = time.perf_counter() - started
    await connection.close()
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=1_000_000)
    items = parser.parse_args().items
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        migrate(url)
        source = Path(name) / "items.ndjson"
        write_items(source, items)
        with the_service(url, Path(name)) as server, MemoryWatch(server.process) as memory:
            job, elapsed, locked = asyncio.run(imported(server.url, url, source))
        seconds = asyncio.run(copied(url, job, Path(name)))
    form = min(seconds, key=seconds.__getitem__)
    print(f"{items} items in {elapsed:.1f} s: {items / elapsed:.0f}/s; COPY ({form}) in {seconds[form]:.1f} s")
    print(f"import rate / COPY rate {seconds[form] / elapsed:.2f} (goal: at least 0.3)")
    print(f"memory of the service grew by {memory.growth:.0f} MiB at most")
    print(f"the job's lock was out of reach for {locked * 1000:.0f} ms at most")


if __name__ == "__main__":
    main()
