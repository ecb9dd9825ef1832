"""Items come in by JSON, NDJSON or CSV, as many as there are, all or none."""

import asyncio
import io
import json
import socket
import time
import tracemalloc
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.api.items import json_items
from app.main import create_app, shut_down
from app.settings import Settings
from tests.waiting import eventually, wait_for_lock_waits

JSON, NDJSON, CSV = "application/json", "application/x-ndjson", "text/csv"
GOOD_LINES = "".join(f'{{"key": "k{n}", "payload": {{"n": {n}}}}}\n' for n in range(5000))


async def send(job, content: object, media_type: str = NDJSON) -> httpx.Response:
    headers = {"Content-Type": media_type}
    return await job.http.post(f"{job.path}/items", content=content, headers=headers)


async def refused(job, content: object, media_type: str, status: int = 422) -> dict:
    """The problem that came back; nothing was added."""
    response = await send(job, content, media_type)
    assert response.status_code == status, response.text
    assert (await job.status())["items"]["open"] == 0
    return response.json()


async def stored(job, database) -> list[tuple]:
    query = "SELECT key, payload::jsonb, cost, gold, prior, features FROM item WHERE job_id = :job ORDER BY item_id"
    async with database.connect() as connection:
        return [tuple(row) for row in await connection.execute(text(query), {"job": UUID(job.id)})]


async def test_the_three_formats_say_the_same(new_job, database):
    rows = [
        {"key": "a", "payload": {"url": "x,y", "note": 'say "hi"\nthere'}, "cost": "1.50", "gold": "dog"},
        {"key": "é \\", "payload": {"url": "ü"}, "prior": {"cat": 0.25, "dog": 0.75}, "features": [1, 2.5]},
    ]
    table = (
        "key,url,note,cost,gold,prior.cat,prior.dog,features\r\n"
        'a,"x,y","say ""hi""\nthere",1.50,dog,,,\r\n'
        'é \\,ü,,,,0.25,0.75,"[1, 2.5]"\r\n'
    )
    contents = {JSON: json.dumps(rows, indent=1), NDJSON: "\n".join(map(json.dumps, rows)), CSV: table}
    found = []
    for media_type, content in contents.items():
        job = await new_job(features={"kind": "logistic"})
        assert (await send(job, content, media_type)).json() == {"added": 2, "unchanged": 0, "warnings": []}
        assert (await send(job, "\ufeff" + content, media_type)).json() == {"added": 0, "unchanged": 2, "warnings": []}
        found.append(await stored(job, database))
    assert found[0] == found[1] == found[2]
    assert [row[0] for row in found[0]] == ["a", "é \\"]
    assert found[0][1][4:] == ([0.25, 0.75], [1.0, 2.5])


@pytest.mark.parametrize(
    ("cell", "payload"),
    [('"{""n"": 1}"', {"n": 1}), ("7", 7), ("NaN", "NaN"), ("plain text", "plain text"), ("", None)],
)
async def test_a_payload_cell_is_json_or_else_text(new_job, database, cell, payload):
    job = await new_job()
    assert (await send(job, f"key,payload,cost\nk,{cell},2\n\n", CSV)).status_code == 201
    assert [row[1] for row in await stored(job, database)] == [payload]


@pytest.mark.parametrize(
    "media_type",
    [
        NDJSON,
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonlines",
        "Application/X-NDJSON; charset=utf-8",
    ],
)
async def test_ndjson_has_many_names(new_job, media_type):
    """Blank lines say nothing, and the last line need not end."""
    job = await new_job()
    content = '\r\n{"key": "a"}\r\n\r\n  {"key": "b"}  '
    assert (await send(job, content, media_type)).json() == {"added": 2, "unchanged": 0, "warnings": []}


async def test_another_format_is_refused_by_name(new_job, client):
    job = await new_job()
    problem = await refused(job, "<items/>", "application/xml", 415)
    assert problem["code"] == "unsupported-media-type"
    for media_type in (JSON, NDJSON, CSV):
        assert media_type in problem["errors"][0]["message"]
    assert (await client.post(f"{job.path}/items", content=b'[{"key": "a"}]')).status_code == 201  # no header: JSON


@pytest.mark.parametrize(
    ("content", "pointer", "message"),
    [
        ('{"key": "a"}\n\n{"key": "b", "cost": -1}', "#/1/cost", "Line 3: Must be more than 0"),
        ('{"key": "a"}\n[1]', "#/1", "Line 2: Must be a JSON object"),
        ('{"key": "a"},{"key": "b"}', "#/0", "Line 1: Not JSON"),
        ('{"key": "a"}\n{"key": ', "#/1", "Line 2: Not JSON"),
        (b'{"key": "\xff"}', "#/0", "Line 1: Not JSON"),
        (b'{"key": "\\ud800"}', "#/0", "Line 1: Not JSON"),
        ('{"key": "a", "payload": ' + "[" * 100_000 + "]" * 100_000 + "}", "#/0", "Line 1: Not JSON"),
        ('{"key": "a", "gold": "bird"}', "#/0/gold", "Line 1: Must be one of 'cat', 'dog'"),
        ('{"key": "a", "prior": {"cat": 0.2}}', "#/0/prior", "Line 1: The probabilities must sum to 1"),
        ('{"key": "a", "prior": {"c/t": 2}}', "#/0/prior/c~1t", "Line 1: Must be at most 1"),
        ("\n \n", "#", "There must be at least one item"),
    ],
)
async def test_a_bad_line_is_named(new_job, content, pointer, message):
    error = (await refused(await new_job(), content, NDJSON))["errors"][0]
    assert error["pointer"] == pointer
    assert error["message"].startswith(message), error["message"]


@pytest.mark.parametrize(
    ("content", "pointer", "message"),
    [
        ("key,cost\na,1\nb,much", "#/1/cost", "Line 3, column 'cost': Must be an amount"),
        ('key,n\na,"1\n"\n\n,2', "#/1/key", "Line 5, column 'key': Is required"),
        ("key,prior.cat\na,2", "#/0/prior/cat", "Line 2, column 'prior.cat': Must be at most 1"),
        ("key,prior.bird\na,1", "#/0/prior", "Line 2: Must be one of 'cat', 'dog'"),
        ("key,prior\na,often", "#/0/prior", "Line 2, column 'prior': Must be an object"),
        ('key,features\na,"[1, ""x""]"', "#/0/features/1", "Line 2, column 'features': Must be a number"),
        ("key\na\nb,c", "#/1", "Line 3: The row has 2 cells, but the header has 1 columns"),
        ('key\na\n"b\nc\n', "#", "Line 3: The row cannot be read"),
        ('key\n"a"b', "#", "Line 2: The row cannot be read"),
        ("url\nx", "#", "Line 1: There must be a column 'key'"),
        ("key,url,url\na,1,2", "#", "Line 1: The column 'url' occurs 2 times"),
        ("key,,\na,1,2", "#", "Line 1: Every column must have a name"),
        ("key,payload,url\na,1,2", "#", "Line 1: Use a column 'payload', or columns such as 'url', but not both"),
        ("key,prior,prior.cat\na,,1", "#", "Line 1: Give 'prior' in one column"),
        (b"key\na\n\xff", "#", "Line 3: Must be UTF-8"),
        ("key,url\n", "#", "There must be at least one item"),
        ("", "#", "Line 1: There must be a column 'key'"),
    ],
)
async def test_a_bad_row_is_named(new_job, content, pointer, message):
    error = (await refused(await new_job(), content, CSV))["errors"][0]
    assert error["pointer"] == pointer
    assert error["message"].startswith(message), error["message"]


@pytest.mark.parametrize(
    ("content", "pointer"),
    [
        ("", "#"),
        ("[", "#"),
        ("null", "#"),
        ('{"item": {"key": "a"}}', "#"),
        ('[{"key": "a"}', "#"),
        ('[{"key": "a"},]', "#"),
        ('[{"key": "a"} {"key": "b"}]', "#"),
        ('[{"key": "a"}] x', "#"),
        ('[{"key": "a', "#"),
        ('[{"key": "a"}, 7]', "#/1"),
        ('[[{"key": "a"}]]', "#/0"),
        ('[{"key": "a"}, {"key": "b", "payload": [}]}]', "#"),
        ('[{"key": "a"}, {"key": "b", "payload": {]}]', "#/1"),
        (b'[{"key": "\xff"}]', "#/0"),
        (r'[{"key": "\ud800"}]', "#/0"),
        ("[" * 200_000, "#/0"),
        ('[{"key": "a", "payload": ' + '{"a":' * 100_000 + "1" + "}" * 100_000 + "}]", "#/0"),
    ],
)
async def test_an_array_that_is_none_is_refused(new_job, content, pointer):
    errors = (await refused(await new_job(), content, JSON))["errors"]
    assert [error["pointer"] for error in errors] == [pointer]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.dictionaries(st.text(max_size=3), json_values, max_size=3), max_size=4),
    st.sampled_from([None, 0, 2]),
    st.integers(1, 9),
)
def test_an_array_falls_apart_into_its_objects(rows, indent, window):
    """Wherever the pieces end in which it is read, and whatever its strings look like."""
    content = json.dumps(rows, indent=indent, ensure_ascii=window % 2 == 0).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_items, "_READ_BYTES", window)
        found = [json.loads(item.source) for item in json_items.json_items(io.BytesIO(content), 10_000)]
    assert found == rows


async def test_numbers_keep_all_their_digits(new_job, database):
    job = await new_job()
    assert (await send(job, '[{"key": "a", "payload": [123456789012345678901234567890, 0.1]}]', JSON)).is_success
    assert (await stored(job, database))[0][1][0] == 123456789012345678901234567890


@pytest.mark.parametrize("last", ['{"key": "z", "cost": 0}', '{"key": "k7"}', '{"key": "z", "gold": "bird"}', "]"])
async def test_one_bad_line_at_the_end_and_none_is_added(new_job, last):
    job = await new_job()
    response = await send(job, GOOD_LINES + last)
    assert response.status_code in {409, 422}
    assert response.json()["errors"][0]["pointer"].startswith("#/5000")
    assert (await job.status())["items"]["open"] == 0
    assert (await send(job, GOOD_LINES)).json() == {"added": 5000, "unchanged": 0, "warnings": []}
    assert (await job.next("w1"))["status"] == "continue"


async def test_at_most_twenty_errors_are_named(new_job):
    problem = await refused(await new_job(), '{"cost": "x"}\n' * 30, NDJSON)
    assert len(problem["errors"]) == 20


async def test_a_key_stands_for_one_content(new_job):
    """By value: the order of an object's fields is nothing, `true` is not 1, and the place in the request decides."""
    job = await new_job()
    first = '{"key": "a", "payload": {"x": 1, "y": [true]}, "cost": "1.5"}'
    same = '{"key": "a", "payload": {"y": [true], "x": 1}, "cost": 1.50}'
    other = '{"key": "a", "payload": {"y": [1], "x": 1}, "cost": 1.5}'
    assert (await send(job, f'{first}\n{same}\n{{"key": "b"}}')).json() == {"added": 2, "unchanged": 1, "warnings": []}
    assert (await send(job, f"{same}\n{first}")).json() == {"added": 0, "unchanged": 2, "warnings": []}
    conflict = await send(job, f'{{"key": "c"}}\n{other}\n{same}\n{other}\n{{"key": "c", "cost": 2}}')
    assert conflict.status_code == 409
    assert conflict.json()["detail"].startswith("3 of 5 items exist with other content")
    assert [error["pointer"] for error in conflict.json()["errors"]] == ["#/1/key", "#/3/key", "#/4/key"]
    assert (await job.status())["items"]["open"] == 2


async def test_many_conflicts_are_counted_and_some_named(new_job):
    job = await new_job(features={"kind": "logistic"})
    await send(job, GOOD_LINES)
    conflict = (
        await send(job, GOOD_LINES.replace("payload", "features").replace('{"n": ', "[").replace("}}", "]}"))
    ).json()
    assert conflict["code"] == "item-conflict"
    assert conflict["detail"].startswith("5,000 of 5,000 items")
    assert [error["pointer"] for error in conflict["errors"]] == [f"#/{n}/key" for n in range(20)]


async def test_imports_at_the_same_time_add_up(new_job, database):
    """Ten at once, which share half of their keys: each key once, the numbers without a gap, the counters right."""
    job = await new_job()
    keys = [[f"{part}-{n}" for n in range(300)] + [f"shared-{n}" for n in range(300)] for part in range(10)]
    bodies = ["".join(f'{{"key": "{key}"}}\n' for key in part) for part in keys]
    done = [response.json() for response in await asyncio.gather(*(send(job, body) for body in bodies))]
    assert sum(one["added"] for one in done) == 3300
    assert sum(one["unchanged"] for one in done) == 2700
    query = "SELECT count(*), min(item_id), max(item_id), count(DISTINCT key) FROM item WHERE job_id = :job"
    async with database.connect() as connection:
        assert tuple((await connection.execute(text(query), {"job": UUID(job.id)})).one()) == (3300, 1, 3300, 3300)
    assert (await job.status())["items"]["open"] == 3300


LOCK = text("SELECT FROM job WHERE job_id = :job FOR NO KEY UPDATE")


async def test_items_are_judged_by_the_rules_of_their_commit(new_job, database):
    """The rules change after the items were judged and before they are counted: they are judged again."""
    job = await new_job(requirement={"kind": "count", "labels": 3})
    async with database.begin() as connection:
        await connection.execute(LOCK, {"job": UUID(job.id)})
        sending = asyncio.create_task(send(job, GOOD_LINES))
        await wait_for_lock_waits(database)
        change = text(
            "UPDATE job SET policy = jsonb_set(policy::jsonb, '{requirement,labels}', '5') WHERE job_id = :job"
        )
        await connection.execute(change, {"job": UUID(job.id)})
    assert (await sending).json() == {"added": 5000, "unchanged": 0, "warnings": []}
    page = (await job.http.get(f"{job.path}/items")).json()["items"]
    assert {item["max_open_assignments"] for item in page} == {5}
    assert (await job.status())["items"]["open"] == 5000


async def test_a_job_is_deleted_after_an_import_or_before(new_job, app, database):
    job = await new_job()
    async with database.begin() as connection:
        await connection.execute(LOCK, {"job": UUID(job.id)})
        sending = asyncio.create_task(send(job, GOOD_LINES))
        await wait_for_lock_waits(database)
        deleting = asyncio.create_task(job.http.delete(job.path))
        await job.status()  # sent last: the deletion has come as far as it can, behind the import
    assert (await sending).status_code == 201
    assert (await deleting).status_code == 204
    job = await new_job()
    async with database.begin() as connection:
        await connection.execute(LOCK, {"job": UUID(job.id)})
        deleting = asyncio.create_task(job.http.delete(job.path))
        await wait_for_lock_waits(database)
        sending = asyncio.create_task(send(job, GOOD_LINES))
        lock = app.state.services.import_slots.job_locks._locks[UUID(job.id)]
        await eventually(lambda: "waiters:1" in repr(lock))  # the import waits behind the deletion
    assert (await deleting).status_code == 204
    assert (await sending).status_code == 404


async def test_a_cancelled_import_leaves_nothing_behind(new_job, app):
    job = await new_job()
    before = files_without_a_name()
    for seconds in (0.01, 0.05, 0.15, 0.3, 0.5):
        sending = asyncio.create_task(send(job, GOOD_LINES * 4))
        await asyncio.sleep(seconds)
        sending.cancel()
        await asyncio.wait([sending])
        assert app.state.services.database.pool.checkedout() == 0
    assert (await send(job, GOOD_LINES)).status_code == 201
    assert files_without_a_name() == before


def files_without_a_name() -> set[str]:
    """Temporary files that this process holds open."""
    found = set()
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(str(entry.readlink()))
    return {link for link in found if link.endswith(" (deleted)")}


async def test_a_sender_who_leaves_half_way_adds_nothing(served):
    before = files_without_a_name()
    async with httpx.AsyncClient(base_url=served) as http:
        job = (await http.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None})).json()["id"]
        address = urlsplit(served)
        with socket.create_connection((address.hostname, address.port)) as connection:
            head = (
                f"POST /v1/jobs/{job}/items HTTP/1.1",
                "Host: x",
                f"Content-Type: {NDJSON}",
                "Content-Length: 9999999",
            )
            connection.sendall("\r\n".join([*head, "", GOOD_LINES * 10]).encode())
            await eventually(lambda: files_without_a_name() != before)  # it has begun to arrive
        await eventually(lambda: files_without_a_name() == before)
        assert (await http.get(f"/v1/jobs/{job}")).json()["items"]["open"] == 0


async def test_others_are_served_while_many_items_come_in(new_job):
    """The loop's own work between two answers is short; wall time would also count what else runs on this machine."""
    job = await new_job()
    lines = "".join(f'{{"key": "k{n}", "payload": {{"n": {n}}}}}\n' for n in range(50_000))
    sending = asyncio.create_task(send(job, lines))
    longest, answers, before = 0.0, 0, time.thread_time()
    while not sending.done():
        assert (await job.http.get("/healthz")).status_code == 200
        await asyncio.sleep(0.005)
        longest, before = max(longest, time.thread_time() - before), time.thread_time()
        answers += 1
    assert (await sending).json() == {"added": 50_000, "unchanged": 0, "warnings": []}
    assert answers > 20
    assert longest < 0.25


@pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV])
async def test_memory_does_not_grow_with_the_body(new_job, media_type):
    """Sixty megabytes come in, and a few chunks are in memory at a time."""
    job = await new_job()
    note = "x" * 16_000
    one = {JSON: '{{"key": "{0}", "payload": "{1}"}}', NDJSON: '{{"key": "{0}", "payload": "{1}"}}\n', CSV: "{0},{1}\n"}

    async def pieces():
        yield {JSON: b"[", NDJSON: b"", CSV: b"key,note\n"}[media_type]
        for n in range(60):
            rows = [one[media_type].format(n * 62 + m, note) for m in range(62)]
            yield (("," if media_type == JSON else "").join(rows)).encode()
            if media_type == JSON:
                yield b"," if n < 59 else b"]"

    tracemalloc.start()
    try:
        response = await send(job, pieces(), media_type)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert response.json() == {"added": 60 * 62, "unchanged": 0, "warnings": []}
    assert peak < 30 * 2**20


async def test_items_have_limits_of_their_own(database_url):
    settings = Settings(database_url=database_url, max_item_bytes=2000, max_import_bytes=5000, log_level="error")
    app = create_app(settings)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice") as http:
        job = (await http.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": None})).json()["id"]
        short = '{"key": "a"}\n'

        async def answered(content: str, media_type: str) -> tuple[int, str]:
            headers = {"Content-Type": media_type}
            response = await http.post(f"/v1/jobs/{job}/items", content=content, headers=headers)
            return response.status_code, response.json().get("code", "")

        assert await answered(short * 380, NDJSON) == (201, "")
        assert await answered(short * 390, NDJSON) == (413, "too-large")
        long = "x" * 2000
        for content, media_type in [
            (f'{{"key": "b", "payload": "{long}"}}', NDJSON),
            (f'[{{"key": "b", "payload": "{long}"}}]', JSON),
            (f'[{{"key": "b", "payload": "{long * 2}', JSON),
            (f"key,note\nb,{long}", CSV),
            ('key,note\nb,"' + "x\n" * 1500, CSV),
        ]:
            assert await answered(content, media_type) == (413, "too-large")
    await shut_down(app)


async def test_the_documented_examples_run_as_they_stand(new_job, client):
    openapi = (await client.get("/openapi.json")).json()
    contents = openapi["paths"]["/v1/jobs/{job}/items"]["post"]["requestBody"]["content"]
    assert set(contents) == {JSON, NDJSON, CSV}
    for media_type in (NDJSON, CSV):
        response = await send(await new_job(), contents[media_type]["example"], media_type)
        assert response.json() == {"added": 2, "unchanged": 0, "warnings": []}
