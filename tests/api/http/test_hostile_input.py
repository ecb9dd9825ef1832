"""Hostile requests are answered quickly and briefly, and keep no other request waiting.

The service runs in the process of the test. A wait counts with the processor time that this process used meanwhile if
that is less, because on busy cores the clock also counts other processes.
"""

import json
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

JSON = {"Content-Type": "application/json"}
MODELS = ["auto", "anonymous", "weighted", "one-coin", "two-coin", "confusion", "tiers", "spam-filter"]


class Stopwatch:
    """Measures seconds by the clock, or by the processor if this process used less of it."""

    def __init__(self) -> None:
        self._clock, self._processor = time.perf_counter(), time.process_time()

    def seconds(self) -> float:
        return min(time.perf_counter() - self._clock, time.process_time() - self._processor)


@contextmanager
def watched(served: str) -> Iterator[list[float]]:
    """How long each `/healthz` took while something else happened."""
    waits: list[float] = []
    begun, done = threading.Event(), threading.Event()

    def poll() -> None:
        with httpx.Client(base_url=served, timeout=30) as http:
            while not done.is_set():
                watch = Stopwatch()
                assert http.get("/healthz").status_code == 200
                waits.append(watch.seconds())
                begun.set()
                done.wait(0.01)

    thread = threading.Thread(target=poll)
    thread.start()
    assert begun.wait(30)
    try:
        yield waits
    finally:
        done.set()
        thread.join()


def assert_harmless(served: str, method: str, path: str, content: bytes, statuses: set[int]) -> httpx.Response:
    with watched(served) as waits, httpx.Client(base_url=served, timeout=60) as http:
        watch = Stopwatch()
        response = http.request(method, path, content=content, headers=JSON)
        took = watch.seconds()
    assert response.status_code in statuses, response.text[:500]
    assert took < 2
    assert len(response.content) < 100_000
    assert max(waits) < 1
    return response


def lists(megabytes: int) -> bytes:
    return b'{"budget": null, "labels": [' + b"[]," * (megabytes * 350_000) + b"[]]}"


ENTRIES = lists(3)[27:-1]  # a list of a million empty lists
SMALL = {"labels": ["a", "b"], "budget": None}
INVALID = {
    "labels that are lists": ("/v1/jobs", lists(3)),
    "requirements that are lists": (
        "/v1/jobs",
        b'{"labels": ["a", "b"], "budget": null, "requirement": {"kind": "all", "of": ' + ENTRIES + b"}}",
    ),
    "unknown fields": ("/v1/jobs", json.dumps({f"unknown {n}": n for n in range(150_000)}).encode()),
    "unknown inner fields": (
        "/v1/jobs",
        json.dumps(SMALL | {"requirement": {"kind": "ratio"} | {str(n): 1 for n in range(250_000)}}).encode(),
    ),
    "negative votes": (
        "/v1/plans/requirement",
        json.dumps({"accuracy": 0.9, "prior": {"kind": "pilot", "votes": [[-1] * 100] * 9000}}).encode(),
    ),
    "deep": ("/v1/jobs", b"[" * 1_000_000),
    "long texts": (
        "/v1/jobs",
        json.dumps({"labels": ["a" * 2_000_000, "b"], "budget": None, "b" * 1_000_000: 1}).encode(),
    ),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_invalid_body_is_refused_at_once(served, case):
    path, content = INVALID[case]
    problem = assert_harmless(served, "POST", path, content, {422}).json()
    assert 1 <= len(problem["errors"]) <= 20


def test_three_hundred_thousand_unknown_keys(served):
    content = json.dumps({f"k{n}": 1 for n in range(300_000)}).encode()
    problem = assert_harmless(served, "POST", "/v1/jobs", content, {413, 422}).json()
    assert problem["code"] in {"too-large", "invalid-input"}


@pytest.mark.parametrize("model", MODELS)
def test_a_thousand_labels_with_any_worker_model(served, model):
    body = {"labels": [f"label {n}" for n in range(1000)], "budget": None, "worker_model": {"kind": model}}
    response = assert_harmless(served, "POST", "/v1/jobs", json.dumps(body).encode(), {201, 422})
    if response.status_code == 201:
        assert_harmless(served, "GET", response.headers["Location"], b"", {200})


@pytest.mark.parametrize("path", ["answers", "next"])
def test_the_hot_path_is_bounded_too(served, path):
    job = httpx.post(f"{served}/v1/jobs", json={"labels": ["a", "b"], "budget": None}, timeout=60).json()["id"]
    for content in (b'{"answers": ' + ENTRIES + b"}", json.dumps({str(n): 1 for n in range(200_000)}).encode()):
        assert_harmless(served, "POST", f"/v1/jobs/{job}/{path}", content, {422})


FIELDS = json.dumps({f"k{n}": 1 for n in range(200_000)}).encode()
ITEMS = {
    "unknown fields": b'[{"key": "i1", ' + FIELDS[1:] + b"]",
    "classes in a prior": b'[{"key": "i1", "prior": ' + FIELDS + b"}]",
    "features that are lists": b'[{"key": "i1", "features": ' + ENTRIES + b"}]",
    "items that are lists": ENTRIES,
    "items without a key": b"[" + b"{}, " * 300_000 + b"{}]",
    "deep": b'[{"key": "i1", "payload": ' + b"[" * 3_000_000,
}


@pytest.mark.parametrize("case", ITEMS)
def test_invalid_items_are_refused_at_once(served, case):
    job = httpx.post(f"{served}/v1/jobs", json={"labels": ["a", "b"], "budget": None}, timeout=60).json()["id"]
    problem = assert_harmless(served, "POST", f"/v1/jobs/{job}/items", ITEMS[case], {422}).json()
    assert 1 <= len(problem["errors"]) <= 20


LISTS = ["", *(f"/{{job}}/{noun}" for noun in ("items", "workers", "assignments", "results", "answers", "operations"))]
CURSORS = {
    "deep": "[" * 1499,
    "early": '["0001-01-01T00:00:00+23:59", "00000000-0000-0000-0000-000000000000"]',
    "short": '["x"]',
}


@pytest.mark.parametrize("path", LISTS)
@pytest.mark.parametrize("text", CURSORS)
async def test_a_cursor_that_no_page_gave_is_refused(new_job, client, path, text):
    job = await new_job()
    cursor = urlsafe_b64encode(CURSORS[text].encode()).decode()
    response = await client.get(f"/v1/jobs{path.format(job=job.id)}", params={"cursor": cursor})
    assert (response.status_code, response.json()["code"]) == (422, "cursor-invalid")


@pytest.mark.parametrize("kind", [[], {}, 3, None])
async def test_a_kind_that_is_no_text_is_refused(client, kind):
    response = await client.post("/v1/plans/forecast", json={"labels": ["a", "b"], "items": {"kind": kind}})
    assert response.status_code == 422


async def test_a_job_without_answers_has_nothing_to_replay(new_job, client):
    for items in (0, 2):
        job = await new_job(items=items)
        response = await client.post(f"{job.path}/replay", json={})
        assert (response.status_code, response.json()["code"]) == (409, "nothing-to-replay")


@pytest.mark.parametrize("path", ["/v1/catalog", "/healthz", "/v1/jobs/{job}", *(f"/v1/jobs{path}" for path in LISTS)])
async def test_an_unknown_query_parameter_is_refused_by_name(new_job, client, path):
    job = await new_job()
    response = await client.get(path.format(job=job.id), params={"limitt": 3})
    problem = response.json()
    assert (response.status_code, problem["code"]) == (422, "unknown-parameter")
    [error] = problem["errors"]
    assert error["pointer"] == "?limitt"
    assert ("did you mean `limit`" in error["message"]) == ("cursor" in error["message"])


async def test_hot_routes_refuse_unknown_parameters_too(new_job, client):
    job = await new_job(items=1)
    response = await client.post(f"{job.path}/next?wrker=w1", json={})
    assert response.json()["code"] == "unknown-parameter"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_label": 3}, "Unknown field; did you mean `max_labels`?"),
        ({"requirement": {"kind": "posterior", "min_probabilty": 0.9}}, "did you mean `min_probability`?"),
        ({"requirement": {"kind": "posterior", "min_probability": 95}}, "; write 95 % as 0.95"),
        ({"labels": ["cat"]}, "Must have at least 2 labels"),
        ({"requirement": {"min_ratio": 4}}, "Must have a `kind`"),
        ({"worker_model": {"kind": "autos"}}, "There is no kind 'autos'; choose one of"),
        ({"worker_model": "auto"}, "Must be an object"),
    ],
)  # fmt: skip
async def test_messages_are_for_people(client, change, message):
    response = await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": "10"} | change)
    [error] = response.json()["errors"]
    assert message in error["message"]


@pytest.mark.parametrize("key", [".", ".."])
async def test_keys_that_no_address_can_name_are_refused(new_job, client, key):
    job = await new_job()
    assert (await client.post(f"{job.path}/items", json=[{"key": key}])).status_code == 422


@pytest.mark.parametrize("name", ["eve\n", "a\tb", "\x7f", "a\x1bb"])
async def test_names_with_control_characters_are_refused(new_job, client, name):
    job = await new_job(items=1)
    assert (await client.post(f"{job.path}/next", json={"worker": name})).status_code == 422
    assert (await client.post(f"{job.path}/items", json=[{"key": name}])).status_code == 422


async def test_the_root_leads_somewhere(client):
    browser = await client.get("/", headers={"Accept": "text/html,application/xhtml+xml"})
    assert (browser.status_code, browser.headers["Location"]) == (307, "/docs")
    assert (await client.get("/")).json()["documentation"] == "/docs"
