"""Leases can be kept, given back and refused, and jobs can be paused and removed."""

from uuid import UUID

import pytest
from sqlalchemy import text


async def change(job, number: str, verb: str, **body):
    return await job.http.post(f"{job.path}/assignments/{number}/{verb}", json=body or None)


async def test_a_heartbeat_keeps_the_lease(new_job, clock):
    job = await new_job(items=1, budget="3", lease_seconds=60)
    [held] = (await job.next("w1"))["assignments"]
    clock.advance(50)
    kept = (await change(job, held["id"], "extend")).json()
    assert (kept["state"], kept["item"]) == ("live", "i1")
    assert kept["expires_at"] > held["expires_at"]
    clock.advance(50)
    assert (await change(job, held["id"], "extend", seconds=500)).status_code == 200
    clock.advance(400)
    assert [one["id"] for one in (await job.next("w1"))["assignments"]] == [held["id"]]
    clock.advance(101)
    late = await change(job, held["id"], "extend")
    assert (late.status_code, late.json()["code"]) == (409, "lease-expired")


@pytest.mark.parametrize(("verb", "offered_again"), [("release", True), ("skip", False)])
async def test_what_is_given_back_returns_its_money(new_job, verb, offered_again):
    """A released item may be offered to the worker again, a skipped one is not; others get either."""
    job = await new_job(items=1, budget="1")
    [held] = (await job.next("w1"))["assignments"]
    waiting = await job.next("w2")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "budget-reserved")
    given_back = await change(job, held["id"], verb)
    assert given_back.json()["state"] == {"release": "released", "skip": "skipped"}[verb]
    assert (await change(job, held["id"], verb)).status_code == 200
    assert (await job.status())["reserved"] == "0"
    again = await job.next("w1")
    assert (again["status"] == "continue") is offered_again
    if not offered_again:
        assert again["reason"]["code"] == "worker-has-seen-all"
        assert (await job.next("w2"))["status"] == "continue"


async def test_an_answered_assignment_cannot_be_given_back(new_job):
    job = await new_job(items=1)
    [held] = (await job.next("w1"))["assignments"]
    await job.answer("i1", "w1", "cat")
    for verb in ("extend", "release", "skip"):
        refused = await change(job, held["id"], verb)
        assert (refused.status_code, refused.json()["code"]) == (409, "assignment-ended"), verb
    for number in ("77", "x", "-1"):
        unknown = await change(job, number, "release")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "assignment-unknown")


async def test_assignments_are_listed_by_state_and_worker(new_job, client):
    job = await new_job(items=5)
    await job.next("w1", count=3)
    await job.next("w2", count=2)
    await change(job, "1", "release")
    path = f"{job.path}/assignments"
    first = (await client.get(path, params={"limit": 3})).json()
    rest = (await client.get(path, params={"cursor": first["next_cursor"]})).json()
    assert [one["id"] for one in first["assignments"] + rest["assignments"]] == ["1", "2", "3", "4", "5"]
    live = (await client.get(path, params={"state": "live", "worker": "w1"})).json()["assignments"]
    assert [one["id"] for one in live] == ["2", "3"]


async def test_a_paused_job_hands_out_nothing_but_takes_answers(new_job, client):
    job = await new_job(items=2)
    await job.next("w1")
    paused = (await client.post(f"{job.path}/pause")).json()
    assert paused["state"] == "paused"
    assert (await job.next("w2"))["reason"]["code"] == "job-paused"
    assert (await job.answer("i1", "w1", "cat")).status_code == 200
    assert (await client.post(f"{job.path}/resume")).json()["state"] == "running"
    assert (await job.next("w2"))["status"] == "continue"


async def test_a_deleted_job_is_gone_with_all_that_was_its(new_job, client, database):
    job = await new_job(items=2, worker_model={"kind": "one-coin"})
    await job.next("w1")
    await job.answer("i1", "w1", "cat")
    assert (await client.delete(job.path)).status_code == 204
    assert (await client.get(job.path)).status_code == 404
    async with database.connect() as connection:
        for table in ("job", "item", "assignment", "answer", "worker"):
            left = await connection.scalar(
                text(f"SELECT count(*) FROM {table} WHERE job_id = :job"), {"job": UUID(job.id)}
            )
            assert left == 0, table


async def test_jobs_are_listed_newest_first(new_job, client, clock):
    made = []
    for _ in range(5):
        clock.advance(1_000_000)
        made.append((await new_job()).id)
    first = (await client.get("/v1/jobs", params={"limit": 3})).json()
    rest = (await client.get("/v1/jobs", params={"limit": 2, "cursor": first["next_cursor"]})).json()
    assert [job["id"] for job in first["jobs"] + rest["jobs"]] == made[::-1]
    for bad in ("nonsense", "W10=", "WyJhIiwiYiJd"):
        assert (await client.get("/v1/jobs", params={"cursor": bad})).status_code == 422


async def test_an_item_tells_its_whole_story(new_job, client):
    job = await new_job(requirement={"kind": "ratio"})
    await client.post(f"{job.path}/items", json=[{"key": "photos/a b.jpg", "payload": {"n": 1}, "cost": "2.5"}])
    for worker, label in (("w1", "cat"), ("w2", "cat"), ("w3", "cat")):
        await job.answer("photos/a b.jpg", worker, label)
    story = (await client.get(f"{job.path}/items/photos/a b.jpg")).json()
    assert (story["state"], story["verdict"], story["label"]) == ("resolved", "stop", "cat")
    assert story["votes"] == {"cat": 3, "dog": 0}
    assert story["posterior"]["cat"] == pytest.approx(0.9375)
    assert [answer["worker"] for answer in story["answers"]] == ["w1", "w2", "w3"]
    assert [answer["verdict"] for answer in story["answers"]] == ["continue", "continue", "stop"]
    assert story["answers"][2]["reason"] == story["reason"]
    assert (await client.get(f"{job.path}/items/none")).json()["code"] == "item-unknown"
    listed = (await client.get(f"{job.path}/items", params={"state": "resolved"})).json()
    assert [item["key"] for item in listed["items"]] == ["photos/a b.jpg"]
    assert (await client.get(f"{job.path}/items", params={"state": "open"})).json()["items"] == []
