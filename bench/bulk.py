"""Measure answers in bulk: requests of 1,000 answers, against an endpoint that does nothing with the same models.

A crowd of 100 workers answers 5,000 items, three or four times each. The figures are answers per second, the processor
time per answer of the service and of Postgres, and the ratio to a bare FastAPI application that validates the same
requests and serializes the same responses, in the same run.
"""

import argparse
import json
import random
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil
from harness.load import Measured, drive, request
from harness.serving import Server, serving, the_service

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

WORKERS, ITEMS, PER_REQUEST = 100, 5_000, 1_000
ACCURACY = 0.8
CONNECTIONS = 2  # one request is read while the other is decided
COUNTED = {
    "requirement": {"kind": "ratio"},
    "worker_model": {"kind": "anonymous"},
    "aggregation": {"kind": "majority"},
}
JOBS: dict[str, dict[str, Any]] = {
    "default, no refit": {"refit": None},
    "default": {},
    "anonymous, ratio": COUNTED,
}
IDLE = """
from fastapi import FastAPI
from app.api.work.schemas import AnswersOut, OneOrManyAnswers

app = FastAPI()
ANSWERS = {answers!r}

@app.post("/v1/jobs/{{job}}/answers")
async def post_answers(job: str, body: OneOrManyAnswers) -> AnswersOut:
    return AnswersOut.model_validate(ANSWERS)
"""


@dataclass(frozen=True)
class Round:
    """What one pass over a job's answers took."""

    sent: Measured
    answers: int
    refused: int
    service_seconds: float
    postgres_seconds: float

    @property
    def rate(self) -> float:
        return self.answers / self.sent.seconds


def crowd(seed: int) -> list[dict[str, str]]:
    """The answers of a crowd, in random order: each worker answers an item at most once."""
    chosen = random.Random(seed)  # noqa: S311
    answers = []
    for item in range(ITEMS):
        truth = chosen.choice(["cat", "dog"])
        for worker in chosen.sample(range(WORKERS), chosen.choice([3, 4])):
            wrong = chosen.random() > ACCURACY
            label = ("dog" if truth == "cat" else "cat") if wrong else truth
            answers.append({"item": f"i{item}", "worker": f"w{worker}", "label": label})
    chosen.shuffle(answers)
    return answers[: len(answers) // PER_REQUEST * PER_REQUEST]


def new_job(service: Server, settings: dict[str, Any]) -> str:
    with httpx.Client(base_url=service.url, timeout=600, trust_env=False) as client:
        body = {"labels": ["cat", "dog"], "budget": None} | settings
        created = client.post("/v1/jobs", json=body)
        created.raise_for_status()
        job = str(created.json()["id"])
        client.post(f"/v1/jobs/{job}/items", json=[{"key": f"i{n}"} for n in range(ITEMS)]).raise_for_status()
        return job


def requests(port: int, job: str, answers: list[dict[str, str]]) -> list[bytes]:
    parts = (answers[start : start + PER_REQUEST] for start in range(0, len(answers), PER_REQUEST))
    return [request(port, f"/v1/jobs/{job}/answers", json.dumps({"answers": part}).encode()) for part in parts]


def seconds_of(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def postgres_seconds(postmaster: psutil.Process) -> float:
    """Of the server and all its processes, those that have ended too."""
    ended = postmaster.cpu_times()
    running = sum(seconds_of(child) for child in postmaster.children(recursive=True))
    return running + seconds_of(postmaster) + float(ended.children_user + ended.children_system)


def measure(service: Server, postmaster: psutil.Process, job: str, answers: list[dict[str, str]]) -> Round:
    before = seconds_of(service.process), postgres_seconds(postmaster)
    sent = drive(service.port, requests(service.port, job, answers), CONNECTIONS)
    used = seconds_of(service.process) - before[0], postgres_seconds(postmaster) - before[1]
    results = [result for body in sent.bodies for result in json.loads(body)["results"]]
    refused = sum(not result["accepted"] for result in results)
    return Round(sent, len(results), refused, *used)


def idle_app(folder: Path, service: Server, answers: list[dict[str, str]]) -> None:
    """The application that does nothing, with the results that the service gave to a thousand answers."""
    job = new_job(service, COUNTED)
    (sent,) = drive(service.port, requests(service.port, job, answers[:PER_REQUEST]), 1).bodies
    (folder / "idle.py").write_text(IDLE.format(answers=json.loads(sent)))


def report(name: str, ours: list[Round], nothing: list[Measured]) -> None:
    rates = [len(one.latencies) * PER_REQUEST / one.seconds for one in nothing]
    ratio = median(one.rate / rate for one, rate in zip(ours, rates, strict=True))
    answers = ours[0].answers
    print(
        f"{name:20} {median(one.rate for one in ours):7,.0f} answers/s"
        f"  service {median(one.service_seconds for one in ours) / answers * 1e6:5.1f} us"
        f"  postgres {median(one.postgres_seconds for one in ours) / answers * 1e6:5.1f} us"
        f"  nothing {median(rates):7,.0f}/s  ratio {ratio:.2f}"
        f"  refused {ours[0].refused / answers:.0%}  p50 {median(one.sent.percentile(0.5) for one in ours):5.0f} ms",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        folder = Path(name)
        (pid_file,) = (folder / "data").rglob("postmaster.pid")
        postmaster = psutil.Process(int(pid_file.read_text().split()[0]))
        migrate(url)
        with the_service(url, folder) as service:
            idle_app(folder, service, crowd(0))
            with serving("idle:app", folder) as idle:
                for kind in chosen.jobs:
                    ours, nothing = [], []
                    for seed in range(chosen.rounds + 1):
                        answers, job = crowd(seed), new_job(service, JOBS[kind])
                        ours.append(measure(service, postmaster, job, answers))
                        nothing.append(drive(idle.port, requests(idle.port, job, answers), CONNECTIONS))
                    report(kind, ours[1:], nothing[1:])  # the first round warms up


main()
