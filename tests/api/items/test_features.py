"""Features of items over HTTP: from the job's creation to its results."""

import numpy as np
import pytest
from sqlalchemy import text

from app.use_cases.items import add_items
from tests.jobs import LEARNING
from tests.waiting import eventually, finished

LOGISTIC = LEARNING | {
    "features": {"kind": "logistic"},
    "refit": None,
    "requirement": {"kind": "posterior", "min_probability": 0.99},
}


async def refit(job) -> None:
    path = (await job.http.post(f"{job.path}/refit")).json()["id"]

    async def done() -> bool:
        operation = (await job.http.get(f"{job.path}/operations/{path}")).json()
        assert operation["state"] != "failed", operation
        return operation["state"] == "done"

    await eventually(done)


async def item(job, key: str) -> dict:
    return (await job.http.get(f"{job.path}/items/{key}")).json()


async def add(job, rows: list[dict], status: int = 201) -> dict:
    response = await job.http.post(f"{job.path}/items", json=rows)
    assert response.status_code == status, response.text
    return response.json()


def described(first: int, end: int) -> list[dict]:
    """Cats are heavy, dogs are light; the second number is the same for all."""
    weight = np.random.default_rng(1).normal(size=1000)
    return [{"key": f"i{n}", "features": [(1.0 if n % 2 else -1.0) + 0.3 * weight[n], 5.0]} for n in range(first, end)]


async def answer_some(job, answered: int) -> None:
    answers = [
        {"item": f"i{n}", "worker": f"w{(n + k) % 5}", "label": "cat" if (n % 2 == 1) != ((n + k) % 7 == 0) else "dog"}
        for n in range(answered)
        for k in range(3)
    ]
    response = await job.http.post(f"{job.path}/answers", json={"answers": answers})
    assert all(one["accepted"] for one in response.json()["results"]), response.text


async def test_features_say_something_about_every_item(new_job):
    """With and without answers; the model is a worker whose skill is learned; results and exports follow."""
    job = await new_job(**LOGISTIC)
    assert (await job.status())["features"] == {"kind": "logistic", "source": "features"}
    await add(job, [*described(0, 60), {"key": "plain"}])
    assert (await item(job, "i50"))["posterior"]["dog"] == pytest.approx(0.5)
    await answer_some(job, 40)
    await refit(job)
    model = (await job.http.get(f"{job.path}/workers/features")).json()
    assert model["skill"]["estimate"] > 0.85
    assert model["answers"] == 0
    assert (await item(job, "i50"))["posterior"]["dog"] > 0.75
    assert (await item(job, "i51"))["posterior"]["cat"] > 0.75
    assert (await item(job, "plain"))["posterior"]["dog"] == pytest.approx(0.5, abs=1e-6)
    results = {one["item"]: one for one in await job.results(limit=100)}
    labels = [results[f"i{n}"]["label"] for n in range(40)]
    assert labels == ["cat" if n % 2 else "dog" for n in range(40)]
    assert sum(results["i50"]["votes"].values()) == 0
    assert (results["i50"]["label"], results["i50"]["state"]) == ("dog", "open")  # by its features alone
    assert results["i50"]["confidence"] == pytest.approx((await item(job, "i50"))["posterior"]["dog"], abs=1e-5)
    assert results["plain"]["label"] is None
    exported = await job.http.get(f"{job.path}/results", headers={"Accept": "application/x-ndjson"})
    assert len(exported.text.splitlines()) == 61
    told = (await job.answer("i50", "w1", "dog")).json()
    assert told["confidence"] > 0.9  # the opinion and one answer


async def test_items_added_after_a_refit_get_their_opinion_at_the_next(new_job):
    job = await new_job(**LOGISTIC)
    await add(job, described(0, 40))
    await answer_some(job, 40)
    await refit(job)
    await add(job, described(40, 42))
    assert (await item(job, "i41"))["posterior"]["cat"] == pytest.approx(0.5)
    await refit(job)
    assert (await item(job, "i41"))["posterior"]["cat"] > 0.75


async def test_the_model_is_refitted_by_itself(new_job):
    """Also where the worker model counts votes, which alone would need no refit."""
    job = await new_job(**LOGISTIC | {"worker_model": {"kind": "anonymous"}, "refit": {"first": 60}})
    await add(job, described(0, 60))
    await answer_some(job, 40)

    async def speaks() -> bool:
        return (await item(job, "i50"))["posterior"]["dog"] > 0.6

    await eventually(speaks)


@pytest.mark.parametrize(
    ("fields", "rows", "pointer", "message"),
    [
        ({"features": None}, [{"key": "a", "features": [1]}], "#/0/features", '"features": {"kind": "logistic"}'),
        ({}, [{"key": "a", "features": [1, 2]}, {"key": "b", "features": [1]}], "#/1/features", "Must be 2 numbers"),
        ({}, [{"key": "a", "features": []}], "#/0/features", "at least 1"),
        ({}, [{"key": "a", "features": [0] * 1001}], "#/0/features", "at most 1,000"),
        ({}, [{"key": "a", "features": [1, "x"]}], "#/0/features/1", "number"),
    ],
)
async def test_what_is_refused_names_the_field(new_job, fields, rows, pointer, message):
    job = await new_job(**LOGISTIC | fields)
    problem = await add(job, rows, status=422)
    assert problem["errors"][0]["pointer"] == pointer
    assert message in problem["errors"][0]["message"]
    assert (await job.status())["items"]["open"] == 0


async def test_all_items_of_a_job_have_as_many_features(new_job):
    """Later imports, files and changes are compared with the first item that had any."""
    job = await new_job(**LOGISTIC)
    await add(job, [{"key": "a"}, {"key": "b", "features": [1, 2]}])
    assert "Must be 2 numbers" in (await add(job, [{"key": "c", "features": [1]}], status=422))["errors"][0]["message"]
    table = 'key,features\nd,"[1, 2]"\ne,"[1, 2, 3]"\n'
    sent = await job.http.post(f"{job.path}/items", content=table, headers={"Content-Type": "text/csv"})
    assert sent.status_code == 422
    assert sent.json()["errors"][0]["message"].startswith("Line 3: Must be 2 numbers")
    changed = await job.http.patch(f"{job.path}/items/a", json={"features": [1]})
    assert (changed.status_code, changed.json()["errors"][0]["pointer"]) == (422, "#/features")
    assert (await job.http.patch(f"{job.path}/items/a", json={"features": [1, 2]})).status_code == 200
    assert await add(job, [{"key": "a", "features": [1, 2]}]) == {"added": 0, "unchanged": 1, "warnings": []}


async def test_more_numbers_than_a_refit_holds_are_refused(new_job, monkeypatch):
    job = await new_job(**LOGISTIC)
    monkeypatch.setattr(add_items, "MOST_NUMBERS", 10)
    await add(job, [{"key": f"i{n}", "features": [1, 2]} for n in range(5)])
    problem = await add(job, [{"key": "one more"}], status=422)
    assert "Send fewer features per item" in problem["detail"]


async def test_new_features_of_an_item_count_from_the_next_refit(new_job):
    job = await new_job(**LOGISTIC)
    await add(job, described(0, 45))
    await answer_some(job, 40)
    await refit(job)
    before = (await item(job, "i41"))["posterior"]["cat"]
    response = await job.http.patch(f"{job.path}/items/i41", json={"features": [-1.0, 5.0]})
    assert response.status_code == 200, response.text
    changed = (await item(job, "i41"))["posterior"]["cat"]
    await refit(job)
    after = (await item(job, "i41"))["posterior"]["cat"]
    assert before > 0.75
    assert changed == pytest.approx(0.5)
    assert after < 0.25
    await job.http.patch(f"{job.path}/items/i41", json={"features": None})
    await refit(job)
    assert (await item(job, "i41"))["posterior"]["cat"] == pytest.approx(0.5)


async def test_nobody_else_goes_by_the_name_of_the_model(new_job):
    """It cannot answer, ask or be registered, and another name can be chosen."""
    job = await new_job(**LOGISTIC | {"features": {"kind": "logistic", "source": "model"}})
    await add(job, described(0, 3))
    asked = await job.next("model")
    assert (asked["status"], asked["reason"]["code"], asked["assignments"]) == ("stop", "worker-blocked", [])
    assert "the job's feature model has this name" in asked["reason"]["message"]
    refused = await job.answer("i1", "model", "cat")
    assert (refused.status_code, refused.json()["code"]) == (409, "worker-blocked")
    registered = await job.http.post(f"{job.path}/workers", json=[{"worker": "model", "price": "1"}])
    assert (registered.status_code, registered.json()["errors"][0]["pointer"]) == (422, "#/0/worker")
    assert (await job.answer("i1", "features", "cat")).status_code == 200


async def test_a_blocked_model_does_not_count(new_job):
    """Its opinions are left out of items and refits until it is unblocked."""
    job = await new_job(**LOGISTIC)
    await add(job, described(0, 45))
    await answer_some(job, 40)
    await refit(job)
    before = (await item(job, "i41"))["posterior"]["cat"]
    await job.http.post(f"{job.path}/workers/features/block", json={})
    assert (await item(job, "i41"))["posterior"]["cat"] == pytest.approx(0.5)
    await refit(job)
    assert (await item(job, "i41"))["posterior"]["cat"] == pytest.approx(0.5)
    await job.http.post(f"{job.path}/workers/features/unblock")
    assert (await item(job, "i41"))["posterior"]["cat"] == pytest.approx(before, abs=0.05)


async def test_a_prior_and_features_both_count(new_job):
    """An item with both is surer than items with one of them."""
    job = await new_job(**LOGISTIC)
    rows = described(0, 50)
    for row in (rows[43], rows[45]):
        row["prior"] = {"cat": 0.8, "dog": 0.2}
    rows[45]["features"] = None
    await add(job, rows)
    await answer_some(job, 40)
    await refit(job)
    features, both, prior = [(await item(job, f"i{n}"))["posterior"]["cat"] for n in (41, 43, 45)]
    assert both > max(features, prior) + 0.02
    names = {one["worker"] for one in (await job.http.get(f"{job.path}/workers")).json()["workers"]}
    assert {"prior", "features"} <= names


async def test_jobs_whose_stored_features_nobody_uses_go_on(new_job, database):
    """Features that an earlier version kept change nothing and cost nothing."""
    job = await new_job(items=3, **LEARNING | {"refit": None})
    async with database.begin() as connection:
        await connection.execute(text("UPDATE item SET features = ARRAY[1, 2, 3] WHERE job_id = :job"), {"job": job.id})
    await job.answer("i1", "w1", "cat")
    await refit(job)
    assert (await item(job, "i1"))["posterior"]["cat"] > 0.7
    assert (await item(job, "i2"))["posterior"]["cat"] == pytest.approx(0.5)
    assert (await job.http.patch(f"{job.path}/items/i2", json={"cost": "2"})).status_code == 200


async def test_a_job_with_features_is_replayed_and_forecast(new_job):
    """The job's own replay learns from the features, too."""
    job = await new_job(**LOGISTIC | {"budget": "200"})
    await add(job, described(0, 45))
    await answer_some(job, 40)
    await refit(job)
    asked = {"policies": ["job"], "labels_per_item": [1, 2], "seeds": 2}
    response = await job.http.post(f"{job.path}/replay", json=asked)
    outcome = (await finished(job.http, response.headers["location"]))["outcome"]
    assert [line["labels"] for line in outcome["replays"]] == [40, 80]
    assert outcome["replays"][1]["accuracy"] > 0.9
    response = await job.http.post(f"{job.path}/forecast")
    assert (await finished(job.http, response.headers["location"]))["state"] == "done"
