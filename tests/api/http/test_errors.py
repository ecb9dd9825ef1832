"""Every failure is a problem that names its code and, where there is one, the field."""

import json

import httpx
import pytest

from app.main import create_app, shut_down
from app.settings import Settings

JOB = {"labels": ["cat", "dog"], "budget": "10"}


def assert_problem(response: httpx.Response, status: int, code: str) -> dict:
    assert response.status_code == status, response.text
    assert response.headers["Content-Type"] == "application/problem+json"
    problem = response.json()
    assert set(problem) == {"type", "title", "status", "detail", "code", "errors", "request_id"}
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"urn:suffice:problem:{code}"
    assert problem["request_id"] == response.headers["X-Request-ID"]
    return problem


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"budget": "-1"}, "#/budget", "at least 0"),
        ({"budget": "lots"}, "#/budget", 'such as "12.50"'),
        ({"budget": "NaN"}, "#/budget", "finite"),
        ({"budget": "0.0000001"}, "#/budget", "at most 6 decimals"),
        ({"budget": True}, "#/budget", ""),
        ({"labels": []}, "#/labels", "at least 2"),
        ({"labels": ["cat"]}, "#/labels", "at least 2"),
        ({"labels": ["cat", "cat"]}, "#/labels", "'cat' is given twice"),
        ({"labels": ["cat", ""]}, "#/labels/1", "Must not be empty"),
        ({"labels": ["cat", "  "]}, "#/labels/1", "blank"),
        ({"labels": ["cat", "a\x00b"]}, "#/labels/1", "NUL"),
        ({"labels": "cat"}, "#/labels", "Must be a list"),
        ({"labels": None}, "#/labels", "Must be a list"),
        ({"labels": ["cat", 3]}, "#/labels/1", "Must be a string"),
        ({"requirement": {"kind": "ratio", "min_ratio": 1}}, "#/requirement/min_ratio", "more than 1"),
        ({"requirement": {"kind": "wish"}}, "#/requirement", "There is no kind 'wish'; choose one of"),
        ({"requirement": {"min_ratio": 4}}, "#/requirement", "Must have a `kind`"),
        (
            {"requirement": {"kind": "ratio", "maximum": 3}},
            "#/requirement/maximum",
            "Unknown field; the known fields are kind, pseudo_votes, min_ratio",
        ),
        (
            {"requirement": {"kind": "all", "of": [{"kind": "count", "labels": 0}]}},
            "#/requirement/of/0/labels",
            "at least 1",
        ),
        ({"min_labels": 5, "max_labels": 4}, "#/max_labels", "at least min_labels (5)"),
        (
            {"min_labels": 20},
            "#/max_votes_per_label",
            "with 14 labels; this requirement needs at least 20",
        ),
        ({"requirement": {"kind": "ratio", "min_ratio": 20}}, "#/max_votes_per_label", "at least 19"),
        ({"max_labels": 2}, "#/max_labels", "at least 3"),
        ({"lease_seconds": 0}, "#/lease_seconds", "at least 1"),
        ({"seed": -1}, "#/seed", "at least 0"),
        ({"name": "\ud800"}, "#/name", "string"),
        ({"surprise": 1}, "#/surprise", "Unknown field; the known fields are answer, labels, requirement"),
    ],
)
async def test_a_bad_job_names_the_field(client, change, pointer, words):
    # httpx would refuse to send half a surrogate pair; an escaped one is what a careless client sends.
    body = json.dumps(JOB | change, ensure_ascii=True)
    response = await client.post("/v1/jobs", content=body, headers={"Content-Type": "application/json"})
    problem = assert_problem(response, 422, "invalid-input")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert words in problem["errors"][0]["message"]
    assert problem["detail"].startswith(pointer)


async def test_missing_fields_are_all_named(client):
    problem = assert_problem(await client.post("/v1/jobs", json={}), 422, "invalid-input")
    assert [error["pointer"] for error in problem["errors"]] == ["#/labels", "#/budget"]


async def test_bad_json_says_where(client):
    headers = {"Content-Type": "application/json"}
    response = await client.post("/v1/jobs", content='{"labels": ["cat" "dog"]}', headers=headers)
    [error] = assert_problem(response, 422, "body-unreadable")["errors"]
    assert error["message"] == "The body is not JSON: Expecting ',' delimiter, at character 18"


async def test_a_forgotten_content_type_is_explained(client):
    response = await client.post("/v1/jobs", content='{"labels": ["cat", "dog"], "budget": 1}')
    [error] = assert_problem(response, 422, "invalid-input")["errors"]
    assert "Content-Type: application/json" in error["message"]


async def test_paths_and_methods_that_are_not_there(client):
    assert_problem(await client.get("/v1/nothing"), 404, "not-found")
    wrong = await client.put("/v1/jobs", json=JOB)
    assert_problem(wrong, 405, "method-not-allowed")
    assert wrong.headers["Allow"] == "POST"


@pytest.mark.parametrize("job", ["nonsense", "5f0c1b62-0000-4000-8000-000000000000", "%00", "ä"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("POST", "/items", [{"key": "a"}]),
        ("POST", "/next", {}),
        ("POST", "/answers", {"item": "a", "worker": "w", "label": "cat"}),
        ("GET", "/results", None),
    ],
)
async def test_an_unknown_job_is_404_everywhere(client, job, method, path, body):
    assert_problem(await client.request(method, f"/v1/jobs/{job}{path}", json=body), 404, "job-unknown")


@pytest.mark.parametrize(
    ("rows", "code", "pointer"),
    [
        ([], "invalid-input", "#"),
        ({"key": "a"}, "invalid-input", "#"),
        ([{"payload": 1}], "invalid-input", "#/0/key"),
        ([{"key": "a"}, {"key": ""}], "invalid-input", "#/1/key"),
        ([{"key": "a", "cost": "0"}], "invalid-input", "#/0/cost"),
        ([{"key": "a", "cost": "-3"}], "invalid-input", "#/0/cost"),
        ([{"key": "a", "payload": {"text": "a\x00b"}}], "invalid-input", "#/0/payload"),
        ([{"key": "a", "gold": "bird"}], "label-unknown", "#/0/gold"),
        ([{"key": "a", "prior": {"cat": 0.5, "bird": 0.5}}], "label-unknown", "#/0/prior"),
        ([{"key": "a", "prior": {"cat": 0.9, "dog": 0.9}}], "invalid-input", "#/0/prior"),
        ([{"key": "a", "features": ["x"]}], "invalid-input", "#/0/features/0"),
    ],
)
async def test_bad_items_name_the_field_and_add_nothing(new_job, client, rows, code, pointer):
    job = await new_job()
    problem = assert_problem(await client.post(f"{job.path}/items", json=rows), 422, code)
    assert problem["errors"][0]["pointer"] == pointer
    assert (await job.status())["items"]["open"] == 0


@pytest.mark.parametrize("content", [b'{"labels": "\xff"}', b'{"budget": ' + b"9" * 5000 + b"}", b"[" * 200_000])
async def test_a_body_that_cannot_be_read_is_no_bug_of_ours(client, content):
    headers = {"Content-Type": "application/json"}
    problem = assert_problem(await client.post("/v1/jobs", content=content, headers=headers), 422, "body-unreadable")
    assert problem["errors"][0]["pointer"] == "#"


@pytest.mark.parametrize("zero", ["0e999999", "0e-999999", "0E+999999999", "-0"])
async def test_zero_is_zero_however_it_is_written(client, zero):
    created = await client.post("/v1/jobs", json=JOB | {"budget": zero})
    assert created.status_code == 201
    assert created.json()["budget"] == "0"


@pytest.mark.parametrize("depth", [5, 50, 250, 400])
async def test_requirements_are_not_nested_without_end(client, depth):
    requirement = {"kind": "ratio"}
    for _ in range(depth):
        requirement = {"kind": "all", "of": [requirement]}
    response = await client.post("/v1/jobs", json=JOB | {"requirement": requirement})
    assert_problem(response, 422, "invalid-input")


async def test_nan_in_a_payload_is_refused(new_job, client):
    """JSON has no NaN, though Python's parser lets it pass; Postgres does not."""
    job = await new_job()
    headers = {"Content-Type": "application/json"}
    response = await client.post(f"{job.path}/items", content='[{"key": "a", "payload": NaN}]', headers=headers)
    assert_problem(response, 422, "invalid-input")


@pytest.mark.parametrize(
    ("answer", "status", "code", "pointer"),
    [
        ({"item": "i1", "worker": "w1", "label": "bird"}, 422, "label-unknown", "#/label"),
        ({"item": "i1", "worker": "w1"}, 422, "invalid-input", "#/label"),
        ({"item": "i1", "label": "cat"}, 422, "invalid-input", "#"),
        ({"label": "cat"}, 422, "invalid-input", "#"),
        ({"answers": []}, 422, "invalid-input", "#/answers"),
        ({"answers": [{"label": 3}]}, 422, "invalid-input", "#/answers/0/label"),
        ({"item": "i9", "worker": "w1", "label": "cat"}, 404, "item-unknown", "#/item"),
        ({"assignment": "7", "label": "cat"}, 404, "assignment-unknown", "#/assignment"),
        ({"assignment": "-1", "label": "cat"}, 404, "assignment-unknown", "#/assignment"),
        ({"assignment": "9" * 60, "label": "cat"}, 404, "assignment-unknown", "#/assignment"),
        ({"assignment": "²", "label": "cat"}, 404, "assignment-unknown", "#/assignment"),
    ],
)
async def test_a_bad_answer_is_refused_with_a_reason(new_job, client, answer, status, code, pointer):
    job = await new_job(items=1)
    problem = assert_problem(await client.post(f"{job.path}/answers", json=answer), status, code)
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert (await job.status())["answers"] == 0


async def test_an_assignment_of_somebody_else_is_not_mixed_up(new_job, client):
    job = await new_job(items=1)
    [assignment] = (await job.next("w1"))["assignments"]
    body = {"assignment": assignment["id"], "worker": "w2", "label": "cat"}
    problem = assert_problem(await client.post(f"{job.path}/answers", json=body), 422, "invalid-input")
    assert problem["errors"] == [{"pointer": "#/worker", "message": "Must be 'w1', or left out"}]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"limit": 0}, "?limit"),
        ({"state": "lost"}, "?state"),
        ({"cursor": "!"}, "?cursor"),
        ({"cursor": "é"}, "?cursor"),
    ],
)
async def test_bad_queries_name_the_parameter(new_job, client, query, pointer):
    job = await new_job()
    problem = assert_problem(
        await client.get(f"{job.path}/results", params=query),
        422,
        "cursor-invalid" if "cursor" in query else "invalid-input",
    )
    assert problem["errors"][0]["pointer"] == pointer


async def test_a_body_that_is_too_large_is_refused(database_url):
    """Also where it comes in pieces and no header says how long it will be."""
    app = create_app(Settings(database_url=database_url, max_body_bytes=2000, log_level="error"))

    async def pieces():
        for _ in range(30):
            yield b" " * 100

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice") as client:
        headers = {"Content-Type": "application/json"}
        for content in (b" " * 2001, pieces()):
            assert_problem(await client.post("/v1/jobs", content=content, headers=headers), 413, "too-large")
        body = json.dumps(JOB).encode().rjust(2000)
        assert (await client.post("/v1/jobs", content=body, headers=headers)).status_code == 201
    await shut_down(app)


async def test_a_bug_of_ours_is_a_500_with_the_request_id(database_url):
    app = create_app(Settings(database_url=database_url, log_level="error"))

    @app.get("/boom")
    async def boom() -> None:
        raise RuntimeError("secret detail")

    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice") as client:
        response = await client.get("/boom", headers={"X-Request-ID": "mine-1"})
    await shut_down(app)
    problem = assert_problem(response, 500, "internal-error")
    assert problem["request_id"] == "mine-1"
    assert "secret" not in response.text


async def test_a_harmful_request_id_is_replaced(client):
    response = await client.get("/healthz", headers={"X-Request-ID": 'x" injected'})
    assert response.headers["X-Request-ID"].isalnum()


async def test_a_key_that_cannot_be_is_unknown(new_job):
    job = await new_job(items=1)
    response = await job.http.get(f"{job.path}/items/%00")
    assert (response.status_code, response.json()["code"]) == (404, "item-unknown")
