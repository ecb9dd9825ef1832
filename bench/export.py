"""Measure a full export: NDJSON, CSV and Parquet of a job over HTTP, compared with COPY of the same columns."""

import argparse
import asyncio
import http.client
import tempfile
import time
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
from harness.serving import MemoryWatch, the_service

from app.policy.job_policy import JobPolicy
from app.policy.worker_models import Anonymous
from app.store.connection import migrate
from app.store.embedded import embedded_postgres

FORMS = {"NDJSON": "application/x-ndjson", "CSV": "text/csv", "Parquet": "application/vnd.apache.parquet"}
MEGABYTE = 1 << 20

JOB = """
    INSERT INTO job (job_id, policy, lease_seconds, items, last_item, resolved, created_at)
    VALUES ($1, $2, 600, $3::bigint, $3::bigint, $3::bigint / 2, now())
"""
ITEMS = """
    INSERT INTO item (job_id, item_id, key, payload, cost, state, votes, priority, tie_break, max_open_assignments,
                      label, confidence, progress, reason)
    SELECT $1, n, 'images/' || n || '.jpg', json_build_object('url', 'https://example.org/images/' || n || '.jpg'), 1,
           CASE n % 2 WHEN 0 THEN 'resolved' ELSE 'open' END,
           CASE n % 2 WHEN 0 THEN ARRAY[8 + n % 5, n % 2] ELSE ARRAY[n % 5, n % 3] END, 0.1, n, n % 2,
           CASE n % 2 WHEN 0 THEN 0 END, 0.9 + n % 97 / 1000.0, 0.5,
           jsonb_build_object('code', 'ratio', 'message', n % 5 || ' votes to ' || n % 3 || ', at least 4 to 1')
    FROM generate_series(1, $2::bigint) n
"""
SAME_COLUMNS = """
    SELECT key, label, confidence, state, votes, reason ->> 'code', reason ->> 'message'
    FROM item WHERE job_id = $1 ORDER BY item_id
"""


async def fill(url: str, items: int) -> UUID:
    connection = await asyncpg.connect(url)
    job, policy = uuid4(), JobPolicy(labels=("cat", "dog"), worker_model=Anonymous())  # items have no model state
    await connection.execute(JOB, job, policy.model_dump_json(), items)
    await connection.execute(ITEMS, job, items)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
    return job


async def seconds_of_copy(url: str, job: UUID) -> float:
    async def discard(_: bytes) -> None: ...

    connection = await asyncpg.connect(url)
    started = time.perf_counter()
    await connection.copy_from_query(SAME_COLUMNS, job, output=discard)
    elapsed = time.perf_counter() - started
    await connection.close()
    return elapsed


def read_all(port: int, job: UUID, media: str) -> tuple[float, int]:
    """Seconds and bytes of an export."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    started, size = time.perf_counter(), 0
    connection.request("GET", f"/v1/jobs/{job}/results", headers={"Accept": media})
    response = connection.getresponse()
    assert response.status == 200, response.read()  # noqa: S101  else nothing is measured
    while chunk := response.read1(1 << 16):
        size += len(chunk)
    connection.close()
    return time.perf_counter() - started, size


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--items", type=int, default=1_000_000)
    items = arguments.parse_args().items
    with tempfile.TemporaryDirectory() as folder, embedded_postgres(Path(folder) / "data") as url:
        migrate(url)
        small, large = asyncio.run(fill(url, 1000)), asyncio.run(fill(url, items))
        with the_service(url, Path(folder)) as server:
            for name, media in FORMS.items():
                read_all(server.port, small, media)  # warm up: code that is loaded once is not part of an export
                copying = asyncio.run(seconds_of_copy(url, large))
                with MemoryWatch(server.process) as memory:
                    seconds, size = read_all(server.port, large, media)
                print(
                    f"{name:8} {items:9,} rows  {seconds:6.2f} s  {items / seconds:8,.0f} rows/s  "
                    f"{size / MEGABYTE:6.1f} MiB  {seconds / copying:5.2f} times COPY ({copying:.2f} s)  "
                    f"memory {memory.before / MEGABYTE:.0f} MiB, at most {memory.growth:+.1f}"
                )


main()
