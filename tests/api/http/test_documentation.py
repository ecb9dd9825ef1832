"""The documentation is complete, and its examples run as they stand, in order."""

import json
import re
from collections.abc import Iterator

import httpx
import pytest

from app.store.connection import head_revision

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


async def test_every_operation_says_what_it_is_and_when_to_use_it(openapi):
    found = operations(openapi)
    assert len(found) >= 7
    for path, method, operation in found:
        assert operation["summary"], (path, method)
        assert len(operation["description"]) > 60, (path, method)


async def test_the_examples_succeed_in_the_order_of_the_page(openapi, client):
    """Press Execute from top to bottom: each example, with the id of the job that the first one created."""
    job = "none-yet"
    last = {"delete_item": 1, "delete_job": 2}
    in_order = sorted(operations(openapi), key=lambda operation: last.get(operation[2]["operationId"], 0))
    for path, method, operation in in_order:
        if operation["operationId"] == "set_worker_tier":  # the default worker model has no tiers
            continue
        if operation["tags"] == ["audits"]:  # the example's one answer resolves no item that could be audited
            continue
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        content = body.get("example", next((one["value"] for one in body.get("examples", {}).values()), None))
        given = {one["name"]: one.get("example") for one in operation.get("parameters", []) if one["in"] == "path"}
        response = await client.request(
            method,
            path.format(**given | {"job": job}),
            content=None if content is None else json.dumps(content),
            headers={} if content is None else {"Content-Type": "application/json"},
        )
        assert response.is_success, (path, method, response.text)
        if operation["operationId"] == "create_job":
            job = response.json()["id"]


def nodes(value: object) -> Iterator[dict]:
    if isinstance(value, dict):
        yield value
        for name, inner in value.items():
            if name not in {"example", "examples"}:
                yield from nodes(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from nodes(inner)


async def test_names_are_short_and_clean(openapi):
    names = [operation["operationId"] for _, _, operation in operations(openapi)]
    assert len(set(names)) == len(names)
    assert {"create_job", "add_items", "next_assignments", "send_answers", "list_results"} <= set(names)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+){1,3}", name) for name in names), names
    schemas = openapi["components"]["schemas"]
    assert all(re.fullmatch(r"[A-Z][A-Za-z]+", name) for name in schemas), sorted(schemas)
    titles = [schema["title"] for schema in schemas.values() if "title" in schema]
    assert len(set(titles)) == len(titles)


async def test_people_find_jobs_first(openapi):
    order = [tag["name"] for tag in openapi["tags"]]
    assert order == [
        "jobs",
        "items",
        "work",
        "workers",
        "results",
        "audits",
        "operations",
        "plans",
        "catalog",
        "health",
    ]
    assert all(tag["description"] for tag in openapi["tags"])
    met = list(dict.fromkeys(next(iter(methods.values()))["tags"][0] for methods in openapi["paths"].values()))
    assert met == order


async def test_every_property_and_every_schema_is_described_in_words(openapi):
    for name, schema in openapi["components"]["schemas"].items():
        assert schema.get("description") or "enum" in schema, name
        for field, property_ in schema.get("properties", {}).items():
            assert property_.get("description"), (name, field)
    assert not [node["description"] for node in nodes(openapi) if ">>>" in str(node.get("description", ""))]


async def test_nothing_is_left_as_the_framework_generates_it(openapi):
    for path, method, operation in operations(openapi):
        told = [one["description"] for one in operation["responses"].values()]
        assert "Successful Response" not in told, (path, method)
        for parameter in operation.get("parameters", []):
            assert not {"title", "anyOf"} & parameter["schema"].keys(), (path, method, parameter["name"])
    said = [schema["properties"] for schema in openapi["components"]["schemas"].values() if "properties" in schema]
    assert not {"Why", "The kind", "Since when"} & {one["description"] for fields in said for one in fields.values()}


async def test_nothing_stops_a_client_generator(openapi):
    """As openapi-python-client needs it: no union at the top of a body, no object as a default, no local reference."""
    assert not {"anyOf", "oneOf", "allOf"} & openapi["components"]["schemas"]["JobIn"].keys()
    for node in nodes(openapi):
        assert not isinstance(node.get("default"), dict), node
        assert "$defs" not in str(node.get("$ref", "")), node


async def test_every_error_is_one_shared_problem(openapi):
    shared = openapi["components"]["responses"]
    for path, method, operation in operations(openapi):
        for status, response in operation["responses"].items():
            if status.startswith(("4", "5")):
                named = shared[response["$ref"].rpartition("/")[2]]
                assert list(named["content"]) == ["application/problem+json"], (path, method, status)
                assert "`" in response["description"], (path, method, status)
    assert openapi["components"]["schemas"]["Problem"]["examples"]


async def test_what_any_request_may_meet_is_documented(openapi):
    """Whatever reads a body may find it late or large; whatever asks the database may be told to come again."""
    for path, method, operation in operations(openapi):
        told = operation["responses"]
        assert ("requestBody" in operation) == ({"408", "413"} <= told.keys()), (path, method)
        if path not in {"/healthz", "/v1/catalog"}:
            shared = openapi["components"]["responses"][told["503"]["$ref"].rpartition("/")[2]]
            assert shared["headers"]["Retry-After"]["required"], (path, method)


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
