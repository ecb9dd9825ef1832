"""The whole set of results as NDJSON, CSV and Parquet says what the JSON pages say, row by row."""

import asyncio
import csv
import io
import json
import time
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from arro3.io import read_parquet
from fastapi import FastAPI
from sqlalchemy import text

from app.api.http.negotiation import preferred_media
from app.use_cases.results.read_results import ROWS
from tests.waiting import eventually

NDJSON, CSV, PARQUET = "application/x-ndjson", "text/csv", "application/vnd.apache.parquet"
FOUR = ["application/json", NDJSON, CSV, PARQUET]
ODD_KEYS = [
    "plain",
    "with,comma",
    'with "quotes"',
    "two\u2028lines",
    "carriage\u0085return",
    "both\u2029",
    " spaces ",
    "=1+1",
    "@sum",
    "-1",
    "Ångström 猫 🐈",
    "no-break\u00a0space",
    "'",
    "null",
]


async def add(job, keys: list[str]) -> None:
    added = await job.http.post(f"{job.path}/items", json=[{"key": key, "payload": {"of": key}} for key in keys])
    assert added.status_code == 201, added.text


@pytest.fixture
async def job(new_job):
    """More than two pages of items: resolved, given up, tied and open ones, with keys of all kinds."""
    labels = ["cat", "dog, big", 'a "bird"']
    job = await new_job(labels=labels, requirement={"kind": "ratio", "min_ratio": 4}, max_labels=3)
    await add(job, ODD_KEYS + [f"i{number}" for number in range(2 * ROWS + 3)])
    votes = {"plain": [0, 0, 0], "with,comma": [0, 1, 2], "two\u2028lines": [0, 1], "=1+1": [1], "i4000": [2, 2, 2]}
    for key, positions in votes.items():
        for number, position in enumerate(positions):
            assert (await job.answer(key, f"w{number}", labels[position])).is_success
    return job


async def export(job, media: str, **query: object) -> httpx.Response:
    response = await job.http.get(f"{job.path}/results", params=query, headers={"Accept": media})
    assert response.status_code == 200, response.text
    assert response.headers["Content-Type"].partition(";")[0] == media
    assert response.headers["Vary"] == "Accept"
    return response


async def rows(job, media: str, **query: object) -> list[dict]:
    """What an export says, in the form of the JSON page."""
    response = await export(job, media, **query)
    if media == NDJSON:
        assert response.text.endswith("\n")
        return [json.loads(line) for line in response.text.split("\n")[:-1]]
    if media == CSV:
        return [as_on_the_page(row) for row in csv.DictReader(io.StringIO(response.text, newline=""))]
    table = read_parquet(io.BytesIO(response.content)).read_all()
    names = table.column_names
    columns = [table[name].to_pylist() for name in names]
    return [as_on_the_page(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]


def as_on_the_page(row: dict) -> dict:
    return {
        "item": row["item"],
        "label": row["label"] or None,
        "confidence": float(row["confidence"]),
        "state": row["state"],
        "votes": {name.removeprefix("votes."): int(row[name]) for name in row if name.startswith("votes.")},
        "reason": {"code": row["reason_code"], "message": row["reason"]},
    }


async def all_pages(job, **query: object) -> list[dict]:
    found, cursor = [], None
    while True:
        asked = query | {"limit": 1000} | ({"cursor": cursor} if cursor else {})
        page = (await job.http.get(f"{job.path}/results", params=asked)).json()
        found += page["results"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_an_export_is_the_pages_row_by_row(job):
    of_states = [{"state": state} for state in ("resolved", "given_up", "open")]
    for query in ({}, *of_states, {"aggregation": "majority"}, {"aggregation": "dawid-skene"}):
        expected = await all_pages(job, **query)
        assert expected
        for media in (NDJSON, CSV, PARQUET):
            assert await rows(job, media, **query) == expected, (media, query)


async def test_the_job_has_what_this_file_speaks_of(job):
    """More than two pages, every state, a tie, and every odd key."""
    results = {row["item"]: row for row in await rows(job, NDJSON)}
    assert len(results) > 2 * ROWS
    assert set(ODD_KEYS) <= set(results)
    assert {row["state"] for row in results.values()} == {"open", "resolved", "given_up"}
    assert (results["two\u2028lines"]["label"], results["two\u2028lines"]["state"]) == (None, "open")
    assert results["with,comma"]["state"] == "given_up"
    assert results["i4000"]["label"] == 'a "bird"'


async def test_ndjson_is_byte_for_byte_what_the_page_has(new_job):
    job = await new_job(items=3)
    await job.answer("i1", "w", "cat")
    lines = (await export(job, NDJSON)).content.splitlines()
    page = (await job.http.get(f"{job.path}/results")).content
    assert page.startswith(b'{"results":[' + b",".join(lines) + b"]")


@pytest.mark.parametrize("media", [NDJSON, CSV, PARQUET])
async def test_a_job_without_items_has_an_empty_table(new_job, media):
    assert await all_pages(await new_job()) == []
    assert (await rows(await new_job(), media) if media != NDJSON else []) == []
    assert (await export(await new_job(), NDJSON)).content == b""


async def test_csv_and_parquet_come_as_files(new_job):
    job = await new_job(items=1)
    for media, suffix in ((CSV, "csv"), (PARQUET, "parquet")):
        headers = (await export(job, media)).headers
        assert headers["Content-Disposition"] == f'attachment; filename="results-{job.id}.{suffix}"'
    assert (await export(job, CSV)).headers["Content-Type"] == "text/csv; charset=utf-8; header=present"


async def test_csv_has_its_columns_in_order(new_job):
    job = await new_job(items=1, labels=["cat", "a,b"])
    header, row, end = (await export(job, CSV)).text.split("\r\n")
    assert header == 'item,label,confidence,state,reason_code,reason,votes.cat,"votes.a,b"'
    assert row.startswith("i1,,0.5,open,")
    assert end == ""


async def test_a_parquet_file_is_read_by_others(job):
    """By pyarrow, where it is installed."""
    reader = pytest.importorskip("pyarrow.parquet")
    table = reader.read_table(io.BytesIO((await export(job, PARQUET)).content))
    assert [as_on_the_page(row) for row in table.to_pylist()] == await all_pages(job)
    assert str(table.schema.field("votes.cat").type) == "int64"


async def test_cursor_and_limit_mean_what_they_mean_on_pages(new_job):
    """Without a limit, an export contains all rows."""
    job = await new_job(items=250)
    page = (await job.http.get(f"{job.path}/results", params={"limit": 120})).json()
    behind = await rows(job, NDJSON, cursor=page["next_cursor"])
    assert [row["item"] for row in behind] == [f"i{number}" for number in range(121, 251)]
    assert len(await rows(job, CSV, limit=7)) == 7
    assert len(await rows(job, PARQUET, limit=7, cursor=page["next_cursor"])) == 7
    bad = await job.http.get(f"{job.path}/results", params={"cursor": "nonsense"}, headers={"Accept": CSV})
    assert (bad.status_code, bad.json()["code"]) == (422, "cursor-invalid")


@pytest.mark.parametrize("media", [NDJSON, CSV, PARQUET])
async def test_an_unknown_job_is_a_problem_in_every_form(client, media):
    for name in ("nothing", "00000000-0000-0000-0000-000000000000"):
        response = await client.get(f"/v1/jobs/{name}/results", headers={"Accept": media})
        assert (response.status_code, response.json()["code"]) == (404, "job-unknown")
        assert response.headers["Content-Type"] == "application/problem+json"


async def test_nothing_acceptable_names_the_four(new_job):
    job = await new_job(items=1)
    for accept in ("text/html", "image/*", "application/json;q=0", "nonsense"):
        response = await job.http.get(f"{job.path}/results", headers={"Accept": accept})
        assert (response.status_code, response.json()["code"]) == (406, "not-acceptable"), accept
        assert all(media in response.json()["detail"] for media in FOUR)
        assert response.headers["Vary"] == "Accept"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        ("", "application/json"),
        ("*/*", "application/json"),
        ("application/*", "application/json"),
        ("text/*", CSV),
        ("TEXT/CSV", CSV),
        ("text/csv; charset=utf-8", CSV),
        ("text/csv;q=0.5, application/json;q=0.4", CSV),
        ("text/csv;q=0.5, application/json", "application/json"),
        ("text/csv, */*", CSV),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/json"),
        ("application/json;q=0, */*;q=0.1", NDJSON),
        ("text/csv;q=0, text/*", None),
        ("text/csv;q=0.001", CSV),
        ("text/csv;q=2", None),
        ("text/html, , text/csv ;Q=1.0", CSV),
        ("application/vnd.apache.parquet,application/x-ndjson;q=0.9", PARQUET),
        ("text/html", None),
        ("nonsense", None),
    ],
)
def test_the_best_of_what_is_accepted_is_chosen(accept, chosen):
    assert preferred_media(accept, FOUR) == chosen


async def test_the_other_names_of_ndjson_are_given_back(new_job):
    job = await new_job(items=2)
    for name in ("application/ndjson", "application/jsonl"):
        assert len((await export(job, name)).text.splitlines()) == 2


async def test_the_four_forms_and_their_refusal_are_documented(client):
    responses = (await client.get("/openapi.json")).json()["paths"]["/v1/jobs/{job}/results"]["get"]["responses"]
    assert set(responses["200"]["content"]) == set(FOUR)
    assert responses["200"]["content"]["application/json"]["schema"]["$ref"].endswith("/ResultsOut")
    assert "not-acceptable" in responses["406"]["description"]


# --- while it runs


@pytest.fixture
async def address(app: FastAPI) -> AsyncIterator[str]:
    """The app of this test on a real port: only there can a client leave in the middle."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="off"))
    serving = asyncio.create_task(server.serve())
    await eventually(lambda: server.started)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    await serving


MANY = text("""
    INSERT INTO item (job_id, item_id, key, cost, votes, priority, tie_break, max_open_assignments, confidence,
                      progress, reason)
    SELECT job_id, n, repeat('long', 40) || n, cost, votes, priority, n, max_open_assignments, confidence,
           progress, reason
    FROM item, generate_series(2, 50000) n WHERE job_id = :job
""")


@pytest.fixture
async def large_job(new_job, database):
    """Too large for the buffers between the service and a client that does not read."""
    job = await new_job(items=1)
    async with database.begin() as connection:
        await connection.execute(MANY, {"job": job.id})
        await connection.execute(
            text("UPDATE job SET items = 50000, last_item = 50000 WHERE job_id = :job"), {"job": job.id}
        )
    return job


@pytest.mark.parametrize("media", [NDJSON, CSV, PARQUET])
async def test_others_are_served_meanwhile(large_job, client, media):
    """The rows are worked on in threads, and the event loop is not held for long.

    Measured by processor time, because on busy cores the clock also counts other processes.
    """
    loop, everything, held = time.thread_time(), time.process_time(), []
    exporting = asyncio.create_task(export(large_job, media))
    while not exporting.done():
        started = time.thread_time()
        assert (await client.get("/healthz")).is_success
        await asyncio.sleep(0.001)
        held.append(time.thread_time() - started)
    loop, everything = time.thread_time() - loop, time.process_time() - everything
    assert len((await exporting).content) > 50_000
    assert everything - loop > everything / 10
    assert len(held) > 10
    assert sorted(held)[-4] < 0.1  # the longest are garbage collections


@pytest.mark.parametrize("media", [NDJSON, CSV, PARQUET])
async def test_a_client_that_leaves_stops_the_work(large_job, app, address, media):
    pool = app.state.services.database.pool
    async with (
        httpx.AsyncClient(base_url=address) as http,
        http.stream("GET", f"{large_job.path}/results", headers={"Accept": media}) as response,
    ):
        assert response.status_code == 200
        if media != PARQUET:
            await anext(response.aiter_bytes())
    others = {task for task in asyncio.all_tasks() if "RequestResponseCycle" in repr(task)}
    await eventually(lambda: all(task.done() for task in others))
    await eventually(lambda: pool.checkedout() == 0)


async def test_one_who_does_not_read_holds_no_connection(large_job, app, address):
    async with (
        httpx.AsyncClient(base_url=address) as http,
        http.stream("GET", f"{large_job.path}/results", headers={"Accept": NDJSON}) as response,
    ):
        await anext(response.aiter_bytes())
        await eventually(lambda: app.state.services.database.pool.checkedout() == 0)
        await asyncio.sleep(0.2)  # time in which it could take one again
        assert app.state.services.database.pool.checkedout() == 0


@pytest.mark.parametrize("query", [{}, {"state": "open"}], ids=str)
async def test_a_set_that_cannot_be_finished_breaks_off(large_job, address, query):
    """A client that relies on the end of the body must not mistake half a set for the whole."""
    async with httpx.AsyncClient(base_url=address) as http:
        asked = http.stream("GET", f"{large_job.path}/results", params=query, headers={"Accept": NDJSON})
        async with asked as response:
            body = response.aiter_bytes()
            await anext(body)
            assert (await large_job.http.delete(large_job.path)).is_success
            with pytest.raises(httpx.RemoteProtocolError):
                async for _ in body:
                    pass
