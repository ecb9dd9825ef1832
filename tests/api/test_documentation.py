"""The documentation is complete, and its examples run as they stand, in order."""

import json

import httpx
import pytest

from app.store.database import head_revision

METHODS = {"get", "post", "put", "patch", "delete"}


@pytest.fixture
async def openapi(client: httpx.AsyncClient) -> dict:
    return (await client.get("/openapi.json")).json()


def operations(openapi: dict) -> list[tuple[str, str, dict]]:
    return [
        (path, method, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


def body_example(openapi: dict, operation: dict) -> object:
    """What Swagger UI would put into the box."""
    media = operation["requestBody"]["content"]["application/json"]
    schema = media["schema"]
    for choice in [media, schema, *schema.get("oneOf", []), *schema.get("anyOf", [])]:
        named = openapi["components"]["schemas"].get(choice.get("$ref", "").rpartition("/")[2], choice)
        if named.get("examples"):
            return named["examples"][0]
    raise AssertionError(f"no example for {operation['summary']}")


async def test_every_operation_says_what_it_is_and_when_to_use_it(openapi):
    found = operations(openapi)
    assert len(found) >= 7
    for path, method, operation in found:
        assert operation["summary"], (path, method)
        assert len(operation["description"]) > 60, (path, method)


async def test_the_examples_succeed_in_order(openapi, client):
    """Create, add, ask, answer, read: each with its example and the id that the first one gave."""
    job = None
    done = []
    in_order = sorted(operations(openapi), key=lambda operation: operation[1] == "delete")  # which comes last
    for path, method, operation in in_order:
        content = json.dumps(body_example(openapi, operation)) if "requestBody" in operation else None
        response = await client.request(
            method,
            path.replace("{job}", job or "none-yet")
            .replace("{key}", "i1")
            .replace("{assignment}", "1")
            .replace("{operation}", "1")
            .replace("{worker}", "expert"),
            content=content,
            headers={"Content-Type": "application/json"} if content else {},
        )
        assert response.is_success, (path, method, response.text)
        job = job or response.json().get("id")  # plans come first, and are of no job
        done.append((method, path))
    assert ("post", "/v1/jobs/{job}/answers") in done


async def test_every_error_is_documented_as_a_problem(openapi):
    for path, method, operation in operations(openapi):
        for status, response in operation["responses"].items():
            if status.startswith(("4", "5")):
                assert list(response["content"]) == ["application/problem+json"], (path, method, status)


async def test_what_any_request_may_meet_is_documented(openapi):
    """Whatever reads a body may find it late or large; whatever asks the database may be told to come again."""
    for path, method, operation in operations(openapi):
        told = operation["responses"]
        assert ("requestBody" in operation) == ({"408", "413"} <= told.keys()), (path, method)
        if path not in {"/healthz", "/v1/catalog"}:
            assert told["503"]["headers"]["Retry-After"]["required"], (path, method)


@pytest.mark.parametrize("page", ["/docs", "/redoc"])
async def test_the_pages_load_nothing_from_elsewhere(client, page):
    html = (await client.get(page)).text
    assert "/docs-assets/" in html
    assert not [part for part in html.split('"') if part.startswith(("http://", "https://", "//"))]


@pytest.mark.parametrize("asset", ["swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js"])
async def test_the_assets_are_served_here(client, asset):
    response = await client.get(f"/docs-assets/{asset}")
    assert response.status_code == 200
    assert len(response.content) > 10_000


async def test_health(client):
    assert (await client.get("/healthz")).json() == {"status": "ok"}
    assert (await client.get("/readyz")).json() == {"status": "ready", "revision": head_revision()}
