"""Items sent again with the same Idempotency-Key are not added again: the first response is repeated."""

import asyncio

import pytest

KEY = {"Idempotency-Key": "upload 1"}


async def send(job, content: str, kind: str = "application/x-ndjson", key: dict[str, str] | None = None):
    return await job.http.post(
        f"{job.path}/items", content=content, headers={"Content-Type": kind} | (KEY if key is None else key)
    )


async def test_the_first_response_is_repeated(new_job):
    """Even where the items are known by then: without the key it would say `unchanged`."""
    job = await new_job()
    first, again = await send(job, '{"key": "a"}'), await send(job, '{"key": "a"}')
    assert (first.status_code, first.json()) == (201, {"added": 1, "unchanged": 0, "warnings": []})
    assert (again.status_code, again.json()) == (201, {"added": 1, "unchanged": 0, "warnings": []})
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (await send(job, '{"key": "a"}', key={})).json() == {"added": 0, "unchanged": 1, "warnings": []}


@pytest.mark.parametrize(
    ("content", "kind"), [('{"key": "b"}', "application/x-ndjson"), ('{"key": "a"}', "application/json")]
)
async def test_another_request_under_the_same_key_is_refused(new_job, content, kind):
    job = await new_job()
    await send(job, '{"key": "a"}')
    other = await send(job, content, kind)
    assert (other.status_code, other.json()["code"]) == (409, "idempotency-conflict")
    assert (await job.status())["items"]["open"] == 1


async def test_a_refused_request_leaves_its_key_free(new_job):
    job = await new_job()
    assert (await send(job, '{"key": "a", "cost": "-1"}')).status_code == 422
    assert (await send(job, '{"key": "a", "cost": "1"}')).json() == {"added": 1, "unchanged": 0, "warnings": []}


async def test_a_key_belongs_to_one_job(new_job):
    one, other = await new_job(), await new_job()
    assert (await send(one, '{"key": "a"}')).json() == (await send(other, '{"key": "a"}')).json()
    assert (await other.status())["items"]["open"] == 1


async def test_at_the_same_moment_they_are_added_once(new_job):
    job = await new_job()
    lines = "\n".join(f'{{"key": "i{n}"}}' for n in range(500))
    sent = await asyncio.gather(*(send(job, lines) for _ in range(6)))
    assert [response.json() for response in sent] == [{"added": 500, "unchanged": 0, "warnings": []}] * 6
    assert sum("Idempotency-Replayed" in response.headers for response in sent) == 5
    assert (await job.status())["items"]["open"] == 500
