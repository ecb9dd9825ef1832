"""What was answered can be read back, page by page or as a table that the lab replays."""

import csv
import io

import pytest

from app.simulation.recorded_crowd import read_recorded

CSV = {"Accept": "text/csv"}
NAMED = [("i1", "w,1", "cat"), ("i2", 'w"2"', "dog"), ("i1", "w;3", "dog"), ("i2", "=w4", "cat")]
VOTES = [*NAMED, ("i3", None, "dog")]


@pytest.fixture
async def job(new_job):
    """Four answers by name, and one by nobody in particular, who gets the item that has none yet."""
    job = await new_job(items=3, requirement={"kind": "count", "labels": 9}, allocation={"kind": "round-robin"})
    for item, worker, label in NAMED:
        assert (await job.answer(item, worker, label)).status_code == 200
    leased = (await job.http.post(f"{job.path}/next", json={})).json()["assignments"][0]
    sent = {"assignment": leased["id"], "label": "dog"}
    assert (await job.http.post(f"{job.path}/answers", json=sent)).status_code == 200
    return job


async def test_pages_hold_all_answers_in_their_order(job):
    first = (await job.http.get(f"{job.path}/answers", params={"limit": 3})).json()
    second = (await job.http.get(f"{job.path}/answers", params={"limit": 3, "cursor": first["next_cursor"]})).json()
    found = [*first["answers"], *second["answers"]]
    assert [(one["item"], one["worker"], one["label"]) for one in found] == VOTES
    assert all(one["counts"] for one in found)
    assert second["next_cursor"] is None


@pytest.mark.parametrize("by_time", [False, True])
async def test_answers_are_listed_by_worker_item_and_time(new_job, clock, by_time):
    """Every filter alone and with others, page by page and as a table; a job of many answers reads as few rows."""
    job = await new_job(items=6, max_votes_per_label=None, requirement={"kind": "count", "labels": 99})
    given = []
    for number in range(40):
        answer = (f"i{number % 6 + 1}", f"w{number}" if number % 5 else "busy", "cat")
        if number % 5 == 0 and any((one[0], one[1]) == answer[:2] for one in given):
            continue
        assert (await job.answer(*answer)).status_code == 200
        given.append((*answer, clock.now))
        if number % 3 == 0:
            clock.advance(60)
    since, until = given[9][3], given[30][3]
    times = {"since": since.isoformat(), "until": until.isoformat()} if by_time else {}

    def expected(**by: str) -> list[tuple[str, str]]:
        place = {"item": 0, "worker": 1}
        return [
            one[:2]
            for one in given
            if all(one[place[name]] == value for name, value in by.items()) and (not by_time or since <= one[3] < until)
        ]

    for by in ({}, {"worker": "busy"}, {"item": "i3"}, {"worker": "busy", "item": "i1"}, {"worker": "nobody"}):
        query, found, cursor = times | by | {"limit": 2}, [], None
        while True:
            page = (
                await job.http.get(f"{job.path}/answers", params=query | ({"cursor": cursor} if cursor else {}))
            ).json()
            found += [(one["item"], one["worker"]) for one in page["answers"]]
            if (cursor := page["next_cursor"]) is None:
                break
        assert found == expected(**by), by
        table = await job.http.get(f"{job.path}/answers", params=times | by, headers=CSV)
        rows = csv.DictReader(io.StringIO(table.text, newline=""))
        assert [(row["item"], row["worker"]) for row in rows] == found


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ({"item": "none"}, 404, "item-unknown"),
        ({"since": "yesterday"}, 422, "invalid-input"),
        ({"since": "2026-01-01T00:00:00"}, 422, "invalid-input"),
        ({"until": "0.5"}, 422, "invalid-input"),
        ({"until": "0001-01-01T00:00:00+14:00"}, 422, "invalid-input"),
        ({"until": "9999-12-31T23:59:59-14:00"}, 422, "invalid-input"),
        ({"label": "cat"}, 422, "unknown-parameter"),
    ],
)
async def test_a_filter_that_cannot_be_meant_is_refused(job, query, status, code):
    response = await job.http.get(f"{job.path}/answers", params=query)
    assert (response.status_code, response.json()["code"]) == (status, code)


async def test_items_are_listed_by_state_and_label(new_job):
    job = await new_job(items=9, requirement={"kind": "count", "labels": 1})
    for number in range(1, 7):
        await job.answer(f"i{number}", "w", "cat" if number % 2 else "dog")
    expected = {"cat": ["i1", "i3", "i5"], "dog": ["i2", "i4", "i6"]}
    for label, keys in expected.items():
        query = {"label": label, "limit": 2}
        first = (await job.http.get(f"{job.path}/items", params=query)).json()
        second = (await job.http.get(f"{job.path}/items", params=query | {"cursor": first["next_cursor"]})).json()
        assert [one["key"] for one in first["items"] + second["items"]] == keys
        none = (await job.http.get(f"{job.path}/items", params=query | {"state": "open"})).json()
        assert none == {"items": [], "next_cursor": None}
    listed = (await job.http.get(f"{job.path}/items", params={"state": "open"})).json()["items"]
    assert [one["key"] for one in listed] == ["i7", "i8", "i9"]
    for query, valid in (({"label": "bird"}, "'cat', 'dog'"), ({"state": "closed"}, "'open', 'resolved'")):
        wrong = await job.http.get(f"{job.path}/items", params=query)
        (error,) = wrong.json()["errors"]
        assert (wrong.status_code, error["pointer"]) == (422, f"?{next(iter(query))}")
        assert valid in error["message"]


async def test_the_table_is_read_by_the_replay_as_it_stands(job, tmp_path):
    response = await job.http.get(f"{job.path}/answers", headers=CSV)
    assert response.headers["Content-Type"] == "text/csv; charset=utf-8; header=present"
    assert response.headers["Content-Disposition"].endswith('.csv"')
    rows = list(csv.DictReader(io.StringIO(response.text, newline="")))
    assert [(row["item"], row["worker"], row["label"]) for row in rows] == [
        (item, worker or "#5", label) for item, worker, label in VOTES
    ]
    (tmp_path / "answers.csv").write_bytes(response.content)
    crowd = read_recorded(tmp_path / "answers.csv")
    given = [(crowd.items[i], crowd.labels[c]) for i, c in zip(crowd.item, crowd.label, strict=True)]
    assert given == [(item, label) for item, _, label in VOTES]


async def test_a_job_without_answers_has_an_empty_table(new_job):
    job = await new_job(items=1)
    assert (await job.http.get(f"{job.path}/answers")).json() == {"answers": [], "next_cursor": None}
    empty = await job.http.get(f"{job.path}/answers", headers=CSV)
    assert empty.text == "item,worker,label,counts,answered_at\r\n"


async def test_what_is_not_there_is_told(job):
    assert (await job.http.get("/v1/jobs/00000000-0000-0000-0000-000000000000/answers")).status_code == 404
    refused = await job.http.get(f"{job.path}/answers", headers={"Accept": "text/html"})
    assert refused.status_code == 406
    assert refused.json()["errors"][0]["message"] == "Must allow one of application/json, text/csv"
    assert (await job.http.get(f"{job.path}/answers", params={"cursor": "x"})).status_code == 422


@pytest.mark.parametrize("since", ["yesterday", "2026-01-05", "2026-01-05T09:00:00", "x" * 50])
async def test_a_time_that_is_none_is_refused_in_plain_words(new_job, since):
    job = await new_job(1)
    refused = await job.http.get(f"{job.path}/answers", params={"since": since})
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["message"].endswith("such as 2026-01-05T09:00:00Z")
