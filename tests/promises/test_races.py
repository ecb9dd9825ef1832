"""Sixty-four clients and two services at once: every promise holds at every moment and afterwards.

`SUFFICE_RACE_REQUESTS` says how many requests to make in all: CI makes more than people wait for.
"""

import asyncio
import os
import time
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

import httpx
import pytest

from tests.promises.crowd import Client, Record, assert_kept, wait_for_rest
from tests.promises.wire import Wire
from tests.service import service

REQUESTS = int(os.environ.get("SUFFICE_RACE_REQUESTS", "1500"))
CLIENTS = 64
SIZE = max(30, REQUESTS // 20)  # items per job: so many that the work lasts nearly to the end
COSTS = ["2.5", "0.25", "1", "0.1"]

JOBS = {
    "tight": {
        "labels": ["dog", "cat"],
        "budget": str(SIZE * 2),
        "requirement": {"kind": "count", "labels": 3},
        "allocation": {"kind": "round-robin"},
        "refit": None,
    },
    "unlimited": {
        "labels": ["dog", "cat"],
        "budget": None,
        "requirement": {"kind": "ratio", "min_ratio": 4},
        "worker_model": {"kind": "anonymous"},
        "refit": None,
    },
    "many classes": {
        "labels": ["ant", "bee", "cow", "dog", "eel", "fox"],
        "budget": str(SIZE * 6),
        "requirement": {"kind": "posterior", "min_probability": 0.9},
        "worker_model": {"kind": "confusion"},  # with six classes a tenth of what one-coin takes to judge an item
        "max_labels": 12,
        "refit": None,
    },
    "several labels": {
        "answer": {"kind": "choices"},
        "labels": ["dog", "cat", "cow"],
        "budget": str(SIZE * 4),
        "requirement": {"kind": "posterior", "min_probability": 0.9},
        "refit": None,
    },
    "labels in order": {
        "answer": {"kind": "ordinal", "label": "median"},
        "labels": ["bad", "fair", "good"],
        "budget": str(SIZE * 4),
        "refit": None,
    },
    "numbers": {
        "answer": {"kind": "number", "low": 0, "high": 100},
        "budget": str(SIZE * 3),
        "refit": None,
    },
    "learning": {
        "labels": ["dog", "cat"],
        "budget": str(SIZE * 4),
        "refit": {"first": 200},
        "auto_gold": {"min_confidence": 0.97},
        "max_votes_per_label": 6,
    },
}


@pytest.fixture
def services(tmp_path, database_url):
    """Two processes that share a database and nothing else."""
    with ExitStack() as stack:
        settings = {"DATABASE_URL": database_url, "SUFFICE_SWEEP_SECONDS": "0.3", "SUFFICE_LOG_LEVEL": "warning"}
        yield [stack.enter_context(service(tmp_path / name, **settings)).url for name in ("one", "two")]


def create(url: str, fields: dict[str, Any]) -> dict[str, Any]:
    job = httpx.post(f"{url}/v1/jobs", json=fields | {"lease_seconds": 1}, timeout=60).json()
    rows = [{"key": f"i{n}", "cost": COSTS[n % len(COSTS)]} for n in range(1, SIZE + 1)]
    assert httpx.post(f"{url}/v1/jobs/{job['id']}/items", json=rows, timeout=60).status_code == 201
    prices = [{"worker": f"w{n}", "price": price} for n, price in enumerate(["0.001", "0.5", "3", "0"], start=1)]
    assert httpx.post(f"{url}/v1/jobs/{job['id']}/workers", json=prices, timeout=60).status_code == 200
    return job | {"size": SIZE}


async def watch(url: str, jobs: list[dict[str, Any]], record: Record) -> int:
    """Read the jobs all the while: never is more promised than there is."""
    wire, readings = Wire(url), 0
    while record.left > 0:
        for job in jobs:
            said = (await wire.get(f"/v1/jobs/{job['id']}")).body
            promised = Decimal(said["spent"]) + Decimal(said["reserved"])
            assert said["budget"] is None or promised <= Decimal(said["budget"])
            readings += 1
        await asyncio.sleep(0.05)
    wire.hang_up()
    return readings


async def test_a_crowd_on_two_services_breaks_no_promise(services, database):
    """No budget passed, nobody asked twice, nothing asked that could not matter, nothing lost, nothing but answers."""
    jobs = [create(services[0], fields) for fields in JOBS.values()]
    record = Record(left=REQUESTS)
    clients = [Client(number, services[number % 2], jobs, record) for number in range(CLIENTS)]
    started = time.monotonic()
    async with asyncio.TaskGroup() as everybody:
        watching = everybody.create_task(watch(services[0], jobs, record))
        for client in clients:
            everybody.create_task(client.work())
    seconds = time.monotonic() - started
    print(f"{REQUESTS / seconds:.0f} requests/s, {watching.result()} readings, {dict(record.codes)}")  # noqa: T201
    assert {status for status in record.statuses if status >= 500} == set()
    assert watching.result() > 0
    for job in jobs:
        await wait_for_rest(services[0], job)
        history = await assert_kept(database, job, record)
        assert record.first_time[job["id"]] == len(history.answers) > 0
    assert {"assigned", "answer: answer-conflict", "late"} <= record.codes.keys()
