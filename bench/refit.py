"""Measure how requests slow down while a million answers are refitted.

A job gets its answers directly by SQL, then a crowd asks and answers over HTTP: first without a refit, then while the
job is refitted. The figures are ratios of the two, and what SQL says of answers afterwards.
"""

import argparse
import asyncio
import json
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import httpx
from harness.load import Measured, drive, request
from harness.serving import Server, the_service

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

CONNECTIONS = 16
REQUESTS = 800  # a round
WORKERS = 5_000
PER_ITEM = 5
FILL = (
    # Truths are even or odd; worker w is right with .6 to .95.
    """INSERT INTO answer (job_id, answer_id, item_id, worker, label, cost, late, counted, verdict, answered_at)
       SELECT $1, (i - 1) * $3 + k + 1, i, 'c' || w,
              CASE WHEN random() < 0.6 + 0.35 * w / $4 THEN i % 2 ELSE 1 - i % 2 END, 1, false, true,
              '{"decision": "continue", "reason": {"code": "x", "message": "x"}, "label": null, "confidence": 0.5}',
              now()
       FROM generate_series(1, $2::bigint) i, generate_series(0, $3::bigint - 1) k,
            LATERAL (SELECT (i * 7919 + k * 104729) % $4 AS w) crowd""",
    """UPDATE item SET votes = found.votes FROM (
           SELECT item_id,
                  ARRAY[count(*) FILTER (WHERE label = 0), count(*) FILTER (WHERE label = 1)]::integer[] AS votes
           FROM answer WHERE job_id = $1 GROUP BY item_id) AS found
       WHERE item.job_id = $1 AND item.item_id = found.item_id""",
    """INSERT INTO worker (job_id, worker, answers) SELECT $1, worker, count(*) FROM answer WHERE job_id = $1
       GROUP BY worker""",
    """UPDATE job SET answers = (SELECT count(*) FROM answer WHERE job_id = $1), spent = (SELECT count(*) FROM answer
       WHERE job_id = $1) WHERE job_id = $1""",
)
LOST = """
    SELECT count(*) FROM item i WHERE job_id = $1 AND (SELECT sum(v) FROM unnest(votes) v) <>
        (SELECT count(*) FROM answer a WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND counted)"""


@dataclass
class Crowd:
    service: Server
    job: str
    asked: int = 0
    answered: int = 0

    def round(self) -> tuple[Measured, Measured]:
        """New workers ask, and answer their assignments."""
        workers = range(self.asked, self.asked + REQUESTS)
        self.asked += REQUESTS
        asks = [self._request("next", {"worker": f"n{n}"}) for n in workers]
        leased = drive(self.service.port, asks, CONNECTIONS)
        given = [json.loads(body)["assignments"][0] for body in leased.bodies]
        answers = [self._request("answers", {"assignment": one["id"], "label": "cat"}) for one in given]
        sent = drive(self.service.port, answers, CONNECTIONS)
        self.answered += len(sent.latencies) - sent.refused
        return leased, sent

    def _request(self, name: str, body: dict[str, object]) -> bytes:
        return request(self.service.port, f"/v1/jobs/{self.job}/{name}", json.dumps(body).encode())


def create(client: httpx.Client, items: int) -> str:
    body = {"labels": ["cat", "dog"], "budget": None, "refit": None, "lease_seconds": 36000}
    body["requirement"] = {"kind": "count", "labels": PER_ITEM + 3}
    job: str = client.post("/v1/jobs", json=body).json()["id"]
    lines = b"\n".join(b'{"key": "i%d"}' % n for n in range(items))
    kind = {"Content-Type": "application/x-ndjson"}
    client.post(f"/v1/jobs/{job}/items", content=lines, headers=kind).raise_for_status()
    return job


async def fill(url: str, job: str, items: int) -> None:
    connection = await asyncpg.connect(url)
    sizes = {0: (items, PER_ITEM, WORKERS)}
    for place, statement in enumerate(FILL):
        await connection.execute(statement, job, *sizes.get(place, ()), timeout=600)
    await connection.execute("ANALYZE")
    await connection.close()


async def count(url: str, query: str, job: str) -> int:
    connection = await asyncpg.connect(url)
    found: int = await connection.fetchval(query, job, timeout=600)
    await connection.close()
    return found


def both(rounds: list[tuple[Measured, Measured]], which: int) -> Measured:
    return Measured(
        seconds=sum(one[which].seconds for one in rounds),
        latencies=[latency for one in rounds for latency in one[which].latencies],
        refused=sum(one[which].refused for one in rounds),
    )


def report(name: str, alone: Measured, beside: Measured) -> None:
    print(
        f"{name:9} alone p50 {alone.percentile(0.5):5.1f} p99 {alone.percentile(0.99):6.1f} ms   "
        f"during the refit p50 {beside.percentile(0.5):5.1f} p99 {beside.percentile(0.99):6.1f} ms   "
        f"p99 ratio {beside.percentile(0.99) / alone.percentile(0.99):.2f}   "
        f"{len(beside.latencies):,} requests, {beside.refused} refused",
        flush=True,
    )


def run(url: str, service: Server, answers: int) -> None:
    with httpx.Client(base_url=service.url, timeout=600, trust_env=False) as client:
        job = create(client, answers // PER_ITEM)
        asyncio.run(fill(url, job, answers // PER_ITEM))
        crowd = Crowd(service, job)
        crowd.round()  # to warm up
        alone = [crowd.round() for _ in range(4)]
        started = time.perf_counter()
        watch = client.post(f"/v1/jobs/{job}/refit").headers["location"]
        beside = []
        while (operation := client.get(watch).json())["state"] not in {"done", "failed"}:
            beside.append(crowd.round())
        seconds = time.perf_counter() - started
    print(
        f"{answers:,} answers, {answers // PER_ITEM:,} items, {WORKERS:,} workers: "
        f"refit {operation['state']} in {seconds:.1f} s"
    )
    print(f"  {operation['outcome']}")
    for place, name in enumerate(("/next", "/answers")):
        report(name, both(alone, place), both(beside, place))
    lost = asyncio.run(count(url, LOST, job))
    kept = asyncio.run(count(url, "SELECT count(*) FROM answer WHERE job_id = $1", job))
    print(f"items whose votes are not those of their answers: {lost}; answers lost: {answers + crowd.answered - kept}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=1_000_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        migrate(url)
        with the_service(url, Path(name)) as service:
            run(url, service, chosen.answers)


main()
