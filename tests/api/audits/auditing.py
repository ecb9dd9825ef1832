"""Audits over HTTP, with the shortest words for what their tests do most."""

import httpx

from tests.jobs import JobClient

RESOLVE = {"requirement": {"kind": "count", "labels": 1}, "min_labels": 1}


async def labeled(new_job, items: int, *, wrong: int = 0, **fields: object) -> JobClient:
    """A job whose items are all resolved: the true label is cat, and the last `wrong` items say dog."""
    job = await new_job(items, **RESOLVE | fields)
    answers = [
        {"item": f"i{n}", "worker": "crowd", "label": "dog" if n > items - wrong else "cat"}
        for n in range(1, items + 1)
    ]
    for start in range(0, items, 1000):
        sent = await job.http.post(f"{job.path}/answers", json={"answers": answers[start : start + 1000]})
        assert all(one["accepted"] for one in sent.json()["results"]), sent.text
    return job


async def begin(job: JobClient, **fields: object) -> dict:
    response = await job.http.post(f"{job.path}/audits", json=fields)
    assert response.status_code == 201, response.text
    assert response.headers["Location"] == f"{job.path}/audits/{response.json()['id']}"
    return response.json()


async def pending(job: JobClient, audit: str = "1", **query: object) -> list[dict]:
    response = await job.http.get(f"{job.path}/audits/{audit}/items", params=query)
    assert response.status_code == 200, response.text
    return response.json()["items"]


async def check(job: JobClient, items: list[dict], audit: str = "1", label: str = "cat") -> httpx.Response:
    body = [{"item": one["item"], "label": label} for one in items]
    return await job.http.post(f"{job.path}/audits/{audit}/answers", json=body)


async def trust(job: JobClient, *workers: str, price: str = "1") -> None:
    body = [{"worker": name, "trusted": True, "price": price} for name in workers]
    assert (await job.http.post(f"{job.path}/workers", json=body)).status_code == 200
