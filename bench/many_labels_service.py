"""Compare a job of many labels with one of two: import, `/next`, `/answers`, and 1,000 answers in one request.

Both jobs are in one service. 16 callers send single answers; the ratios are to the job of two labels in the same run.
"""

import argparse
import json
import random
import tempfile
import time
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from harness.load import drive, request
from harness.serving import Server, the_service

from app.store.connection import migrate
from app.store.embedded import embedded_postgres

CALLERS = 16
IN_ONE = 1000  # answers of the large request


def measure(server: Server, labels: int, policy: dict[str, Any], items: int, answers: int) -> dict[str, float]:
    """Seconds and milliseconds for a job with so many labels."""
    names = [f"label {number}" for number in range(labels)]
    draw, found = random.Random(1), dict[str, float]()  # noqa: S311  not a secret
    with httpx.Client(base_url=server.url, timeout=600, trust_env=False) as client:
        created = client.post("/v1/jobs", json={"labels": names, "budget": None, "lease_seconds": 36000, **policy})
        created.raise_for_status()
        job = created.json()["id"]
        lines = b"\n".join(b'{"key": "i%d"}' % number for number in range(items))
        began = time.perf_counter()
        added = client.post(f"/v1/jobs/{job}/items", content=lines, headers={"Content-Type": "application/x-ndjson"})
        added.raise_for_status()
        found[f"import of {items:,} items, s"] = time.perf_counter() - began

        path = f"/v1/jobs/{job}/answers"
        workers = [f"w{number}" for number in range(50)]
        pairs = ((item, worker) for item in range(items) for worker in draw.sample(workers, 3))

        def answer(item: int, worker: str) -> dict[str, str]:
            label = names[item % labels] if draw.random() < 0.7 else draw.choice(names)
            return {"item": f"i{item}", "worker": worker, "label": label}

        bodies = [json.dumps(answer(item, worker)).encode() for item, worker in islice(pairs, answers)]
        sent = drive(server.port, [request(server.port, path, body) for body in bodies], CALLERS)
        found["/answers p50, ms"], found["/answers p99, ms"] = sent.percentile(0.5), sent.percentile(0.99)
        asks = [request(server.port, f"/v1/jobs/{job}/next", b'{"worker": "w%d"}' % (n % 50)) for n in range(answers)]
        asked = drive(server.port, asks, CALLERS)
        found["/next p50, ms"], found["/next p99, ms"] = asked.percentile(0.5), asked.percentile(0.99)
        many = [answer(item, worker) for item, worker in islice(pairs, IN_ONE)]
        began = time.perf_counter()
        client.post(path, json={"answers": many}).raise_for_status()
        found[f"{IN_ONE:,} answers in one request, s"] = time.perf_counter() - began
        if sent.refused > answers / 2:
            raise SystemExit(f"{sent.refused} of {answers} answers were refused: {sent.bodies[-1]!r}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--labels", type=int, default=200)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--policy", type=json.loads, default={}, help="further fields of the job")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, embedded_postgres(Path(name) / "data") as url:
        migrate(url)
        with the_service(url, Path(name)) as server:
            few, many = (
                measure(server, labels, arguments.policy, arguments.items, arguments.answers)
                for labels in (2, arguments.labels)
            )
    print(f"{'':36} 2 labels {arguments.labels:4} labels  ratio")
    for what, took in many.items():
        print(f"{what:36} {few[what]:8.2f} {took:11.2f} {took / few[what]:6.1f}")


if __name__ == "__main__":
    main()
