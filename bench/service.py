"""Compare `/next` and `/answers` with an endpoint that does nothing, for jobs of different sizes.

Each round sends the same requests over 64 connections to the service and to a bare FastAPI application with the same
request and response models. The figures are ratios of the two throughputs, taken in turns.
"""

import argparse
import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import httpx
from harness.load import Measured, drive, request
from harness.serving import Server, serving, the_service

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

CONNECTIONS = 64
REQUESTS = 3000  # a round; as many labels as a thousand items need when all agree
IDLE = """
from fastapi import FastAPI
from app.api.work.schemas import AnswerOut, AnswersOut, OneOrManyAnswers
from app.api.work.schemas import NextIn, NextOut

app = FastAPI()
NEXT = {next!r}
ANSWER = {answer!r}

@app.post("/v1/jobs/{{job}}/next")
async def post_next(job: str, body: NextIn | None = None) -> NextOut:
    return NextOut.model_validate(NEXT)

@app.post("/v1/jobs/{{job}}/answers")
async def post_answers(job: str, body: OneOrManyAnswers) -> AnswerOut | AnswersOut:
    return AnswerOut.model_validate(ANSWER)
"""


@dataclass
class Work:
    """A job of some size, and the names of workers who have not asked yet."""

    service: Server
    items: int
    job: str = ""
    leased: int = 0
    asked: int = 0
    rounds: dict[str, list[Measured]] = field(default_factory=dict)

    def ready(self) -> None:
        """A job with room for one more round."""
        if self.job and self.leased + REQUESTS <= 3 * self.items:
            return
        with httpx.Client(base_url=self.service.url, timeout=600, trust_env=False) as client:
            body = {"labels": ["cat", "dog"], "budget": None, "lease_seconds": 36000}
            self.job = client.post("/v1/jobs", json=body).json()["id"]
            self.leased = 0
            lines = (
                b'{"key": "i%d", "payload": {"url": "https://example.org/%d.jpg"}}' % (n, n) for n in range(self.items)
            )
            kind = {"Content-Type": "application/x-ndjson"}
            added = client.post(f"/v1/jobs/{self.job}/items", content=b"\n".join(lines), headers=kind)
            added.raise_for_status()

    def asks(self) -> list[bytes]:
        self.asked += REQUESTS
        self.leased += REQUESTS
        bodies = (f'{{"worker": "w{n}"}}'.encode() for n in range(self.asked - REQUESTS, self.asked))
        return [request(self.service.port, f"/v1/jobs/{self.job}/next", body) for body in bodies]

    def answers(self, given: list[bytes]) -> list[bytes]:
        ids = [json.loads(body)["assignments"][0]["id"] for body in given]
        bodies = (json.dumps({"assignment": one, "label": "cat" if int(one) % 5 else "dog"}).encode() for one in ids)
        return [request(self.service.port, f"/v1/jobs/{self.job}/answers", body) for body in bodies]


def rounds(work: Work, idle: Server, count: int) -> None:
    for _ in range(count):
        work.ready()
        asks = work.asks()
        leased = measure(work, "/next", work.service, asks)
        measure(work, "/next, doing nothing", idle, asks)
        answers = work.answers(leased.bodies)
        measure(work, "/answers", work.service, answers)
        measure(work, "/answers, doing nothing", idle, answers)


def measure(work: Work, name: str, server: Server, requests: list[bytes]) -> Measured:
    done = drive(server.port, requests, CONNECTIONS)
    if done.refused:
        raise SystemExit(f"{done.refused} of {len(requests)} requests to {name} were refused: {done.bodies[0]!r}")
    work.rounds.setdefault(name, []).append(done)
    return done


def report(work: Work) -> dict[str, float]:
    rates = {}
    for name in ("/next", "/answers"):
        ours, theirs = work.rounds[name], work.rounds[f"{name}, doing nothing"]
        ratio = median(one.rate / other.rate for one, other in zip(ours, theirs, strict=True))
        rates[name] = median(one.rate for one in ours)
        nothing = median(one.rate for one in theirs)
        print(
            f"{work.items:>9,} items  {name:9} {rates[name]:6.0f}/s  nothing {nothing:6.0f}/s"
            f"  ratio {ratio:.2f}  p50 {median(one.percentile(0.5) for one in ours):5.1f} ms"
            f"  p99 {median(one.percentile(0.99) for one in ours):5.1f} ms",
            flush=True,
        )
    return rates


def idle_app(folder: Path, service: Server) -> None:
    """The application that does nothing, with answers that the service gave."""
    with httpx.Client(base_url=service.url, trust_env=False) as client:
        job = client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None}).json()["id"]
        client.post(f"/v1/jobs/{job}/items", json=[{"key": "i1", "payload": {"url": "https://example.org/1.jpg"}}])
        lease = client.post(f"/v1/jobs/{job}/next", json={"worker": "w1"}).json()
        body = {"assignment": lease["assignments"][0]["id"], "label": "cat"}
        answer = client.post(f"/v1/jobs/{job}/answers", json=body).json()
    (folder / "idle.py").write_text(IDLE.format(next=lease, answer=answer))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        migrate(url)
        folder = Path(name)
        with the_service(url, folder) as service:
            idle_app(folder, service)
            with serving("idle:app", folder) as idle:
                rates = {}
                for items in chosen.items:
                    work = Work(service, items)
                    rounds(work, idle, 1)  # to warm up
                    work.rounds.clear()
                    rounds(work, idle, chosen.rounds)
                    rates[items] = report(work)
    smallest, largest = min(rates), max(rates)
    for path, rate in rates[largest].items():
        print(f"{path}: {largest:,} items run at {rate / rates[smallest][path]:.2f} of the rate of {smallest:,}")


main()
