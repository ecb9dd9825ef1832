"""Simulated workers over HTTP, for tests of what a job learns from its answers."""

import random

from tests.jobs import LEARNING, JobClient
from tests.waiting import finished

LABELS = ("cat", "dog")
COUNT = LEARNING | {"requirement": {"kind": "count", "labels": 6}, "max_votes_per_label": None}
CROWD = {"good": 0.95, "fine": 0.85, "fair": 0.75, "guess": 0.5, "coin": 0.5, "liar": 0.1}


async def all_answers(job: JobClient, items: int, accuracy: dict[str, float], seed: int = 1) -> dict[str, str]:
    """Let every worker answer every item, with the given accuracy, and return the true labels."""
    rng = random.Random(seed)  # noqa: S311  a crowd is no secret
    truth = {f"i{n}": rng.choice(LABELS) for n in range(1, items + 1)}
    votes = [
        {"item": item, "worker": worker, "label": right if rng.random() < skill else LABELS[right == "cat"]}
        for item, right in truth.items()
        for worker, skill in accuracy.items()
    ]
    for start in range(0, len(votes), 1000):
        response = await job.http.post(f"{job.path}/answers", json={"answers": votes[start : start + 1000]})
        assert response.status_code == 200
    return truth


async def refit(job: JobClient) -> dict:
    """Refit the job and return the finished operation."""
    response = await job.http.post(f"{job.path}/refit")
    assert response.status_code == 202, response.text
    assert response.headers["location"] == f"{job.path}/operations/{response.json()['id']}"
    return await finished(job.http, response.headers["location"])
