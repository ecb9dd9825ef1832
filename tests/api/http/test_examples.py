"""The examples of the OpenAPI document are what the service takes and gives.

SUFFICE_RECORD_EXAMPLES=1 records them again; look at the difference before you commit it.
"""

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from jsonschema_rs import Draft202012Validator  # comes with schemathesis

from app.api.http.openapi import _EXAMPLES, examples, finish, operations
from app.main import create_app, shut_down
from app.settings import Settings
from tests.api.http import tour

RECORD = os.environ.get("SUFFICE_RECORD_EXAMPLES") == "1"
MONDAY = datetime(2026, 1, 5, 9, tzinfo=UTC)


@pytest.fixture
async def recorded(database_url):
    app = create_app(Settings(database_url=database_url, log_level="error"), lambda: MONDAY)
    found: dict[str, dict] = {}
    job = ""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice", timeout=60) as client:
        async for kind, stop, response in tour.visited(client):
            assert response.is_success, (stop.operation, response.text)
            if stop.operation == "create_job":
                job = response.json()["id"]
            example = tour.example(stop, response, job)
            if kind is None:
                found[stop.operation] = example
            else:
                found[stop.operation].setdefault("kinds", {})[kind] = example
    await shut_down(app)
    found["list_jobs"]["response"]["jobs"] = found["list_jobs"]["response"]["jobs"][:1]
    return found


async def test_every_request_succeeds_and_its_response_has_the_fields_of_the_example(recorded):
    if RECORD:
        Path(_EXAMPLES).write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")  # noqa: ASYNC240  by hand only
        examples.cache_clear()
    for operation, found in recorded.items():
        assert found.get("request") == examples()[operation].get("request"), operation
        for kind, one in found.get("kinds", {}).items():
            known = examples()[operation]["kinds"][kind]
            assert one.get("request") == known.get("request"), (operation, kind)
            assert tour.shape(one["response"]) == tour.shape(known["response"]), (operation, kind)
        if operation not in {"list_jobs", "list_operations", "get_operation"}:  # which depend on others' work and time
            assert tour.shape(found.get("response")) == tour.shape(examples()[operation].get("response")), operation


def test_every_operation_has_an_example():
    document = create_app(Settings(database_url="postgresql://nowhere")).openapi()
    for operation in operations(document):
        name = operation["operationId"]
        if "requestBody" in operation:
            for media, content in operation["requestBody"]["content"].items():
                assert content.keys() & {"example", "examples"}, (name, media)
        for status, response in operation["responses"].items():
            for media, content in response.get("content", {}).items():
                if status.startswith("2") and "format" not in content["schema"]:
                    assert content.keys() & {"example", "examples"}, (name, media)


def test_every_example_is_valid_by_its_schema():
    """A field that is still read under an old name is not in the document, so no example may use it."""
    document = create_app(Settings(database_url="postgresql://nowhere")).openapi()
    invalid, checked = {}, 0
    for operation in operations(document):
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for media, content in [each for body in bodies for each in body.get("content", {}).items()]:
            shown = [content["example"]] if "example" in content else []
            shown += [one["value"] for one in content.get("examples", {}).values()]
            if media != "application/json" or not shown:
                continue
            validator = Draft202012Validator(content["schema"] | {"components": document["components"]})
            checked += len(shown)
            if wrong := [each.message for one in shown for each in validator.iter_errors(one)]:
                invalid[operation["operationId"]] = wrong
    assert checked > 50
    assert invalid == {}


def test_finishing_needs_every_status_to_have_a_name():
    with pytest.raises(KeyError):
        finish(
            {
                "paths": {
                    "/": {"get": {"operationId": "x", "tags": ["jobs"], "responses": {"418": {"description": ""}}}}
                },
                "components": {"schemas": {"Problem": {}}},
            }
        )
