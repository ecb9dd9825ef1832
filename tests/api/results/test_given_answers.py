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
