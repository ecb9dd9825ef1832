"""Measure how fast recorded answers move over, compared with COPY of the same rows by Postgres.

The service runs in a separate process, as it is deployed. COPY gets the finished rows of the answers, in text, into the
same table, emptied, with the same indexes. After the import is committed, its answers are recorded page by page, and
one refit judges all items; meanwhile another client asks for the job's lock all the time, as `next` does.
"""

import argparse
import asyncio
import random
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

COLUMNS = "job_id, answer_id, item_id, worker, label, cost, late, counted, verdict, answered_at"
OFTEN = 0.05
FITTED = 0.3  # the progress of a refit that has fitted the answers and begins to judge items


def write_answers(path: Path, answers: int, items: int, workers: int) -> None:
    """Every worker answers items at random, right in 80 % of the cases, in the order of time."""
    rng = random.Random(1)  # noqa: S311  a crowd is no secret
    per_item = answers // items
    given = [(item, worker) for item in range(items) for worker in rng.sample(range(workers), per_item)]
    rng.shuffle(given)
    with path.open("w") as file:
        file.write("item,worker,label\n")
        for item, worker in given:
            right = item % 2 if rng.random() < 0.8 else 1 - item % 2
            file.write(f"i{item},w{worker},{('cat', 'dog')[right]}\n")


async def moved(address: str, url: str, path: Path, items: int) -> tuple[str, dict[str, float]]:
    """The job, and seconds until the import is committed, recorded, fitted and judged."""
    async with httpx.AsyncClient(base_url=address, timeout=None) as client:  # noqa: S113  as long as it takes
        job = (await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None})).json()["id"]
        rows = "".join(f'{{"key": "i{number}"}}\n' for number in range(items))
        ndjson = {"Content-Type": "application/x-ndjson"}
        (await client.post(f"/v1/jobs/{job}/items", content=rows, headers=ndjson)).raise_for_status()
        done = asyncio.Event()
        waiting = asyncio.create_task(longest_wait(url, job, done))
        seconds, started = {}, time.perf_counter()
        response = await client.post(
            f"/v1/jobs/{job}/answers", content=pieces_of(path), headers={"Content-Type": "text/csv"}
        )
        response.raise_for_status()
        seconds["committed"] = time.perf_counter() - started
        operation = f"/v1/jobs/{job}/operations/{response.json()['operation']}"
        while (found := (await client.get(operation)).json())["state"] not in {"done", "failed"}:
            if found["state"] == "running":
                seconds.setdefault("recorded", time.perf_counter() - started)
            if found["progress"] >= FITTED:
                seconds.setdefault("fitted", time.perf_counter() - started)
            await asyncio.sleep(OFTEN)
        assert found["state"] == "done", found  # noqa: S101
        seconds["judged"] = time.perf_counter() - started
        done.set()
        seconds["longest wait for the job's lock"] = await waiting
        return job, seconds


async def copied(url: str, job: str, folder: Path) -> float:
    """Seconds of COPY of the job's finished answers into the emptied table."""
    connection = await asyncpg.connect(url)
    path = folder / "rows"
    query = f"SELECT {COLUMNS} FROM answer WHERE job_id = '{job}' ORDER BY answer_id"
    await connection.copy_from_query(query, output=path)
    await connection.execute("TRUNCATE answer")
    started = time.perf_counter()
    await connection.copy_to_table("answer", source=path, columns=COLUMNS.split(", "))
    elapsed = time.perf_counter() - started
    await connection.close()
    return elapsed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--items", type=int, default=50_000)
    parser.add_argument("--workers", type=int, default=500)
    options = parser.parse_args()
    for answers in options.answers:
        with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
            migrate(url)
            source = Path(name) / "answers.csv"
            write_answers(source, answers, options.items, options.workers)
            with the_service(url, Path(name)) as server, MemoryWatch(server.process) as memory:
                job, seconds = asyncio.run(moved(server.url, url, source, options.items))
            plain = asyncio.run(copied(url, job, Path(name)))
        print(f"{answers:,} answers on {options.items:,} items; COPY of the same rows: {plain:.1f} s")
        for what, elapsed in seconds.items():
            print(f"  {what}: {elapsed:.2f} s, {elapsed / plain:.2f} times COPY")
        print(f"  memory of the service grew by {memory.growth:.0f} MiB at most")


if __name__ == "__main__":
    main()
