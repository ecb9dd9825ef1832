"""With an Idempotency-Key a job is created once, even if the request is sent several times."""

import asyncio

import pytest

JOB = {"labels": ["cat", "dog"], "budget": "10", "name": "once"}
KEY = "Idempotency-Key"


@pytest.fixture
def key(request) -> dict[str, str]:
    """A key of the test's own: those of jobs to be created share one space."""
    return {KEY: request.node.name}


async def test_the_same_request_again_gives_the_same_response(client, key):
    first = await client.post("/v1/jobs", json=JOB, headers=key)
    again = await client.post("/v1/jobs", json=JOB, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.content == first.content
    for name in ("Location", "Content-Type"):
        assert again.headers[name] == first.headers[name]
    assert first.headers["Location"] == f"/v1/jobs/{first.json()['id']}"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.headers["X-Request-ID"] != first.headers["X-Request-ID"]
    assert (await client.get(first.headers["Location"])).json() == first.json()


async def test_without_a_key_every_request_creates_a_job(client):
    first, second = [await client.post("/v1/jobs", json=JOB) for _ in range(2)]
    assert first.json()["id"] != second.json()["id"]


@pytest.mark.parametrize(
    "change", [{"json": JOB | {"budget": "11"}}, {"json": JOB, "headers": {"Content-Type": "application/json; x=1"}}]
)
async def test_the_same_key_with_another_request_is_refused(client, key, change):
    await client.post("/v1/jobs", json=JOB, headers=key)
    refused = await client.post("/v1/jobs", json=change["json"], headers=key | change.get("headers", {}))
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency-conflict")
    assert refused.json()["errors"][0]["pointer"] == KEY


async def test_a_refused_request_may_be_corrected(client, key):
    assert (await client.post("/v1/jobs", json=JOB | {"budget": "-1"}, headers=key)).status_code == 422
    created = await client.post("/v1/jobs", json=JOB, headers=key)
    assert (created.status_code, "Idempotency-Replayed" in created.headers) == (201, False)


async def test_many_at_once_create_one_job(client, key):
    created = await asyncio.gather(*(client.post("/v1/jobs", json=JOB, headers=key) for _ in range(30)))
    assert {response.status_code for response in created} == {201}
    assert len({response.content for response in created}) == 1
    assert sum("Idempotency-Replayed" not in response.headers for response in created) == 1


@pytest.mark.parametrize("bad", ["", "x" * 256, "k\xe4se", "a\tb", "\x7f"])
async def test_a_bad_key_is_refused(client, bad):
    response = await client.post("/v1/jobs", json=JOB, headers=[(KEY.encode(), bad.encode("latin-1"))])
    assert (response.status_code, response.json()["code"]) == (422, "invalid-input")
    assert [error["pointer"] for error in response.json()["errors"]] == [KEY]
    assert "1 to 255 printable ASCII characters" in response.json()["errors"][0]["message"]


@pytest.mark.parametrize("good", ["x", "~" * 255, "a b'\";--", "8e03978e-40d5-43e8-bc93-6894a57f9324"])
async def test_any_printable_key_will_do(client, good):
    assert (await client.post("/v1/jobs", json=JOB, headers={KEY: good})).status_code == 201


async def test_the_header_is_documented(client):
    operation = (await client.get("/openapi.json")).json()["paths"]["/v1/jobs"]["post"]
    [parameter] = operation["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == (KEY, "header", False)
    assert "`idempotency-conflict`" in operation["responses"]["409"]["description"]
    assert operation["responses"]["201"]["content"]["application/json"]["schema"]["$ref"].endswith("/JobOut")
