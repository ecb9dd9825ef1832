"""PATCH changes what was sent, all of it or nothing, and never breaks a promise about money."""

import asyncio

import pytest

MATCH = {"requirement": {"kind": "count", "labels": 3}}


async def test_what_is_left_out_stays(new_job, client):
    job = await new_job(items=1, name="cats", budget="10", lease_seconds=60)
    before = await job.status()
    for change, shown in (
        ({"name": "dogs"}, {"name": "dogs"}),
        ({"lease_seconds": 90}, {"lease_seconds": 90}),
        ({"budget": "7.5"}, {"budget": "7.5", "remaining": "7.5"}),
        (MATCH, {"requirement": {"kind": "count", "labels": 3}}),
        ({"budget": None, "name": None}, {"budget": None, "remaining": None, "name": None}),
    ):
        changed = await client.patch(job.path, json=change)
        assert changed.status_code == 200, changed.text
        before |= shown
        assert changed.json() == before == await job.status()


async def test_a_new_lease_lasts_as_long_as_the_job_now_says(new_job, client, clock):
    job = await new_job(items=1, lease_seconds=60)
    await client.patch(job.path, json={"lease_seconds": 3600})
    await job.next("w1")
    clock.advance(3599)
    assert (await job.status())["reserved"] == "1"
    assert len((await job.next("w1"))["assignments"]) == 1


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({}, "#", "at least one of name, budget, lease_seconds, requirement"),
        ({"labels": ["a", "b"]}, "#/labels", "Unknown field"),
        ({"spent": "0"}, "#/spent", "Unknown field"),
        ({"name": ""}, "#/name", "Must not be empty"),
        ({"budget": "-1"}, "#/budget", "at least 0"),
        ({"lease_seconds": None}, "#/lease_seconds", "leave the field out"),
        ({"lease_seconds": 0}, "#/lease_seconds", "at least 1"),
        ({"requirement": None}, "#/requirement", "leave the field out"),
        ({"requirement": {"kind": "wish"}}, "#/requirement", "There is no kind"),
        ({"requirement": {"kind": "ratio", "min_ratio": 1}}, "#/requirement/min_ratio", "more than 1"),
        (
            {"requirement": {"kind": "ratio", "min_ratio": 20}},
            "#/requirement",
            "at least 19 labels per item, but the job's max_votes_per_label is 14",
        ),
        ({"requirement": {"kind": "count", "labels": 9}}, "#/requirement", "the job's max_labels is 8"),
    ],
)
async def test_a_bad_change_names_the_field_and_changes_nothing(new_job, client, change, pointer, words):
    job = await new_job(items=1, max_labels=8 if "9" in str(change) else None)
    before = await job.status()
    response = await client.patch(job.path, json=change if not change else change | {"name": change.get("name", "x")})
    assert (response.status_code, response.json()["code"]) == (422, "invalid-input"), response.text
    [error] = response.json()["errors"]
    assert error["pointer"] == pointer
    assert words in error["message"]
    assert await job.status() == before


@pytest.mark.parametrize("depth", [5, 50, 250, 400])
async def test_requirements_are_not_nested_without_end(new_job, client, depth):
    requirement = {"kind": "ratio"}
    for _ in range(depth):
        requirement = {"kind": "all", "of": [requirement]}
    response = await client.patch((await new_job()).path, json={"requirement": requirement})
    assert (response.status_code, response.json()["code"]) == (422, "invalid-input")


@pytest.mark.parametrize("job", ["nonsense", "5f0c1b62-0000-4000-8000-000000000000"])
async def test_an_unknown_job_cannot_be_changed(client, job):
    response = await client.patch(f"/v1/jobs/{job}", json={"name": "x"})
    assert (response.status_code, response.json()["code"]) == (404, "job-unknown")


async def test_the_budget_covers_what_is_spent_and_reserved(new_job, client, clock):
    """Named to the last digit; what a lease has reserved and lost by expiring is free again."""
    job = await new_job(costs=["0.25", "2"], budget="10", lease_seconds=60)
    await job.answer("i1", "w1", "cat")
    await job.next("w1", count=2)
    refused = await client.patch(job.path, json={"budget": "2.249999", "name": "poorer"})
    assert (refused.status_code, refused.json()["code"]) == (409, "budget-below-committed")
    assert "0.25 that the job has spent" in refused.json()["detail"]
    assert "2 that is reserved for open assignments" in refused.json()["detail"]
    assert refused.json()["errors"] == [{"pointer": "#/budget", "message": "Must be at least 2.25, or null"}]
    assert (await job.status())["name"] is None
    assert (await client.patch(job.path, json={"budget": "2.25"})).json()["remaining"] == "0"
    clock.advance(61)
    assert (await client.patch(job.path, json={"budget": "0.25"})).json()["reserved"] == "0"


async def test_more_money_goes_to_work_at_once(new_job, client):
    job = await new_job(items=2, budget="1")
    assert (await job.answer("i1", "w1", "cat")).status_code == 200
    assert (await job.next("w1"))["reason"]["code"] == "budget-exhausted"
    await client.patch(job.path, json={"budget": "2"})
    assert (await job.next("w1"))["status"] == "continue"


async def test_changes_and_answers_at_once_stay_within_the_budget(new_job, client):
    """The budget shrinks and grows while fifty workers ask."""
    job = await new_job(items=50, budget="30")
    changes = [client.patch(job.path, json={"budget": str(amount)}) for amount in (5, 40, 2, 20, 1, 35)]
    done = await asyncio.gather(*(job.next(f"w{n}", count=2) for n in range(50)), *changes)
    assert {response.status_code for response in done[50:]} <= {200, 409}
    status = await job.status()
    assert float(status["remaining"]) >= 0
