"""Forecasts of how a job will end: before it begins, and while it runs."""

import random
from uuid import UUID
from xml.etree import ElementTree as ET

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from app.api.http.openapi import examples
from app.store.operations import jobs_to_forecast, jobs_to_recount, jobs_to_refit
from app.use_cases.operations import forecast
from tests.api.crowds import all_answers
from tests.jobs import LEARNING
from tests.waiting import finished

PLAN = examples()["plan_forecast"]["request"]
SMALL = PLAN | {"items": 60, "budget": "360"}


async def forecast_of(job) -> dict:
    response = await job.http.post(f"{job.path}/forecast")
    assert response.status_code == 202, response.text
    assert response.json()["kind"] == "forecast"
    return await finished(job.http, response.headers["location"])


async def test_the_forecast_of_a_plan_keeps_to_its_budget(client):
    response = await client.post("/v1/plans/forecast", json=SMALL)
    assert response.status_code == 200, response.text
    plan = response.json()
    assert plan["items"] == plan["simulated_items"] == 60
    assert float(plan["cost"]["high"]) <= 360
    assert 0 < plan["resolved"]["low"] <= plan["resolved"]["expected"] <= plan["resolved"]["high"] <= 60
    assert 0.5 < plan["accuracy"]["expected"] <= 1
    assert len(plan["curve"]) == 20
    resolved = [at["resolved"]["expected"] for at in plan["curve"]]
    assert resolved == sorted(resolved)
    assert (await client.post("/v1/plans/forecast", json=SMALL)).json() == plan


async def test_groups_of_costs_are_paid_for(client):
    """Three labels each of ten items at 1 and five at 2.50."""
    body = {"labels": ["a", "b"], "items": [{"count": 10}, {"count": 5, "cost": "2.50"}]}
    body |= {"requirement": {"kind": "count", "labels": 3}, "budget": None}
    plan = (await client.post("/v1/plans/forecast", json=body)).json()
    assert plan["cost"] == {"expected": "67.5", "low": "67.5", "high": "67.5"}
    assert plan["offer"]["budget"] == "67.5"
    assert plan["offer"]["promise"]["cost_per_item"] == "4.5"


@pytest.mark.parametrize(("labels", "budget"), [(50, "100"), (400, None)])
async def test_a_budget_is_offered_only_where_it_is_enough(client, labels, budget):
    """Two items; 400 answers to each are too many to simulate to the end, and the plan says so."""
    body = {"labels": ["a", "b"], "items": 2, "requirement": {"kind": "count", "labels": labels}}
    body |= {"max_votes_per_label": None, "max_labels": 2 * labels, "crowd": {"workers": 1_000}}
    plan = (await client.post("/v1/plans/forecast", json=body)).json()
    assert (plan["truncated"], plan["offer"].get("budget")) == (budget is None, budget)


async def test_its_chart_shows_both_shares(client):
    response = await client.post("/v1/plans/forecast.svg", json=SMALL)
    assert response.headers["content-type"] == "image/svg+xml"
    texts = {each.text for each in ET.fromstring(response.content).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314
    assert {"items resolved", "of those, right", "the budget", "What a budget buys: 60 items"} <= texts


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"items": 0}, "#/items"),
        ({"items": True}, "#/items"),
        ({"budget": "0"}, "#/budget"),
        ({"budget": "0.99"}, "#/budget"),
        ({"items": [{"count": 5, "cost": "3"}, {"count": 5, "cost": "2.50"}], "budget": "2.49"}, "#/budget"),
        ({"items": [{"count": 900_000}, {"count": 900_000}]}, "#/items"),
        ({"prior": {"kind": "beta", "a": 2, "b": 6}}, "#/prior"),
        ({"crowd": {"workers": 0}}, "#/crowd/workers"),
        ({"labels": [str(n) for n in range(101)]}, "#/labels"),
        ({"name": "no job yet"}, "#/name"),
    ],
)
async def test_a_plan_that_cannot_be_forecast_is_refused(client, change, pointer):
    response = await client.post("/v1/plans/forecast", json=SMALL | change)
    assert response.status_code == 422
    assert pointer in {error["pointer"] for error in response.json()["errors"]}


async def test_the_forecast_of_a_running_job_is_in_its_status(new_job):
    """Null at first; then the same as the operation's outcome, with the number of answers that it is based on."""
    job = await new_job(items=80, budget="300", **LEARNING)
    assert (await job.status())["forecast"] is None
    await all_answers(job, 40, dict.fromkeys("abcd", 0.85))
    before = await job.status()
    operation = await forecast_of(job)
    assert (operation["state"], operation["progress"]) == ("done", 1)
    seen = (await job.status())["forecast"]
    assert seen["at_answers"] == before["answers"]
    assert seen["made_at"].startswith("2100")
    assert seen["resolved"]["low"] >= before["items"]["resolved"]
    assert float(before["spent"]) <= float(seen["cost"]["low"]) <= float(seen["cost"]["high"]) <= 300
    outcome = operation["outcome"]
    curve = outcome.pop("curve")
    assert len(curve) == 20
    assert {**outcome, "made_at": None} == {**seen, "made_at": None}
    assert all(at.keys() == curve[0].keys() < seen.keys() for at in curve)
    money = [at["budget"] for at in curve] + [amount for at in curve for amount in at["cost"].values()]
    assert all(isinstance(amount, str) and float(amount) >= 0 for amount in money)
    listed = (await job.http.get(f"{job.path}/operations")).json()["operations"]
    assert [each["outcome"]["cost"] for each in listed if each["kind"] == "forecast"] == [seen["cost"]]
    assert 0.5 < seen["accuracy"]["expected"] <= 1


async def test_gold_is_no_proof_of_the_accuracy_of_labels(new_job):
    """Its labels were given. Of a job that resolves nothing else, nothing is predicted."""
    job = await new_job(5, **LEARNING | {"budget": "2"})
    await job.http.post(f"{job.path}/items", json=[{"key": f"g{n}", "gold": "cat"} for n in range(20)])
    for item in ("i1", "i2"):
        assert (await job.answer(item, "w", "cat")).status_code == 200
    outcome = (await forecast_of(job))["outcome"]
    assert outcome["resolved"] == {"expected": 20, "low": 20, "high": 20}
    assert outcome["accuracy"] is None


async def test_a_job_whose_model_keeps_something_of_every_answer_gets_a_forecast(new_job):
    job = await new_job(items=30, worker_model={"kind": "weighted"}, max_labels=7)
    await all_answers(job, 10, dict.fromkeys("abc", 0.8))
    assert (await forecast_of(job))["state"] == "done"
    assert (await job.status())["forecast"]["resolved"]["high"] <= 30


async def test_workers_known_from_another_job_lower_the_forecast_cost(new_job):
    """Four workers who were always right there agree here on twenty of sixty items; simulated refits know them too."""
    fields = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.9}}
    source = await new_job(items=60, **fields)
    await all_answers(source, 60, dict.fromkeys("abcd", 1.0))
    assert (await finished(source.http, (await source.http.post(f"{source.path}/refit")).headers["location"]))[
        "outcome"
    ]
    cost = []
    for known in ({}, {"reputation": source.id}):
        job = await new_job(items=60, **fields, **known)
        await all_answers(job, 20, dict.fromkeys("ab", 1.0))
        cost.append(float((await forecast_of(job))["outcome"]["cost"]["expected"]))
    assert cost[1] < cost[0] - 2


async def test_a_job_without_items_gets_an_empty_forecast(new_job):
    job = await new_job()
    operation = await forecast_of(job)
    assert (operation["state"], operation["outcome"]) == ("done", {"items": 0})
    assert (await job.status())["forecast"] is None


async def test_it_is_made_automatically_and_again_when_answers_have_grown_by_half(new_job, app, database):
    """Not for a tiny job; and without an operation, because it was not asked for."""
    job = await new_job(items=60, requirement={"kind": "count", "labels": 3})

    async def swept() -> int | None:
        async with database.connect() as connection:
            due = await jobs_to_forecast(connection)
        if UUID(job.id) in due:  # what the sweep does, without the jobs of the other tests
            await app.state.services.runner.begin(UUID(job.id), "forecast")
        latest = (await job.status())["forecast"]
        return latest and latest["at_answers"]

    rng = random.Random(1)  # noqa: S311  a crowd is no secret
    seen = {}
    for number in range(1, 31):
        await job.answer(f"i{number}", "w", rng.choice(["cat", "dog"]))
        if number in {19, 20, 29, 30}:
            seen[number] = await swept()
    assert seen == {19: None, 20: 20, 29: 20, 30: 30}
    assert (await job.http.get(f"{job.path}/operations")).json()["operations"] == []


async def test_a_forecast_that_a_crash_has_interrupted_is_made_again(new_job, app, database):
    job = await new_job(items=5)
    async with database.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO operation (job_id, operation_id, kind, state, progress, created_at) "
                "VALUES (:job, 1, 'forecast', 'running', 0.4, now())"
            ),
            {"job": job.id},
        )
        await connection.execute(text("UPDATE job SET operations = 1 WHERE job_id = :job"), {"job": job.id})
        assert UUID(job.id) in await jobs_to_forecast(connection)
        assert UUID(job.id) not in [*await jobs_to_recount(connection), *await jobs_to_refit(connection)]
    app.state.services.runner.begin(UUID(job.id), "forecast")
    assert (await finished(job.http, f"{job.path}/operations/1"))["state"] == "done"
    assert (await job.http.post("/v1/jobs/none/forecast")).status_code == 404


@pytest.mark.parametrize("when", ["waiting", "being made"])
async def test_a_job_deleted_before_its_forecast_is_made_is_passed_over(new_job, app, monkeypatch, when):
    """Nothing is logged, and the next job gets its forecast."""
    gone, following = [await new_job(items=5) for _ in range(2)]
    begin, make = app.state.services.runner.begin, forecast.forecast_job
    monkeypatch.setattr(app.state.services.runner, "begin", lambda *_: None)
    paths = [(await job.http.post(f"{job.path}/forecast")).headers["location"] for job in (gone, following)]

    async def deleted_meanwhile(connection, process, job_id, report):
        if str(job_id) == gone.id:
            assert (await gone.http.delete(gone.path)).status_code == 204
        return await make(connection, process, job_id, report)

    if when == "waiting":
        assert (await gone.http.delete(gone.path)).status_code == 204
    else:
        monkeypatch.setattr(forecast, "forecast_job", deleted_meanwhile)
    with capture_logs() as logs:
        for job in (gone, following):
            begin(UUID(job.id), "forecast")
        assert (await finished(following.http, paths[1]))["state"] == "done"
    assert [entry for entry in logs if "failed" in entry["event"] or "interrupted" in entry["event"]] == []
    (handler,) = app.state.services.runner.lanes["forecast"].handlers
    assert handler.failed_at == {}
    assert (await gone.http.get(paths[0])).status_code == 404


# --- a job made from a plan


async def test_a_plan_becomes_a_job_and_the_job_is_compared_with_it(client):
    """The offer is sent unchanged; fields of the job itself win; the status compares from the first answer on."""
    offer = (await client.post("/v1/plans/forecast", json=SMALL)).json()["offer"]
    response = await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "plan": offer, "max_labels": 8})
    assert response.status_code == 201, response.text
    job = response.json()
    assert (job["budget"], job["max_labels"], job["requirement"]) == ("360", 8, offer["requirement"])
    assert job["plan"]["promise"] == offer["promise"]
    assert job["plan"]["compared"]["code"] == "too-early"
    assert job["plan"]["so_far"]["cost_per_item"] is None
    await client.post(f"/v1/jobs/{job['id']}/items", json=[{"key": f"i{n}"} for n in range(20)])
    votes = [{"item": f"i{n}", "worker": w, "label": "cat"} for n in range(20) for w in "abc"]
    await client.post(f"/v1/jobs/{job['id']}/answers", json={"answers": votes})
    seen = (await client.get(f"/v1/jobs/{job['id']}")).json()["plan"]
    assert seen["so_far"]["answers_per_item"] > 2
    assert seen["compared"]["basis"] in {"end", "projection"}
    assert seen["compared"]["code"] in {"on-track", "more-expensive", "cheaper", "more-answers"}


PROMISED = {"kind": "split", "promise": {"cost_per_item": "3"}}


async def test_a_job_that_spends_more_than_promised_is_more_expensive(client):
    body = {"labels": ["a", "b"], "budget": "1000", "requirement": {"kind": "count", "labels": 6}, "plan": PROMISED}
    job = (await client.post("/v1/jobs", json=body)).json()
    assert job["plan"]["promise"]["cost_per_item"] == "3"
    await client.post(f"/v1/jobs/{job['id']}/items", json=[{"key": f"i{n}"} for n in range(10)])
    votes = [{"item": f"i{n}", "worker": f"w{w}", "label": "a"} for n in range(10) for w in range(6)]
    await client.post(f"/v1/jobs/{job['id']}/answers", json={"answers": votes[:30]})
    half = (await client.get(f"/v1/jobs/{job['id']}")).json()["plan"]
    assert (half["compared"]["code"], half["compared"]["basis"]) == ("more-expensive", "projection")
    await client.post(f"/v1/jobs/{job['id']}/answers", json={"answers": votes[30:]})
    over = (await client.get(f"/v1/jobs/{job['id']}")).json()["plan"]
    assert (over["compared"]["code"], over["compared"]["basis"]) == ("more-expensive", "end")
    assert over["so_far"]["cost_per_resolved_item"] == "6"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"plan": PROMISED}, "#/budget"),
        ({"plan": PROMISED | {"kind": "guess"}}, "#/plan/kind"),
        ({"plan": PROMISED | {"workers": 3}}, "#/plan/workers"),
        ({"plan": {"kind": "split", "budget": "5"}}, "#/plan/promise"),
        ({"plan": {"kind": "split", "budget": "5", "promise": {}}}, "#/plan/promise"),
        (
            {"plan": PROMISED | {"budget": "5", "requirement": {"kind": "ratio", "min_ratio": 0}}},
            "#/plan/requirement/min_ratio",
        ),
        ({"plan": PROMISED | {"budget": "5", "min_labels": 5}, "max_labels": 3}, "#/max_labels"),
    ],
)
async def test_a_plan_that_does_not_fit_is_refused(client, body, pointer):
    response = await client.post("/v1/jobs", json={"labels": ["a", "b"]} | body)
    assert response.status_code == 422, response.text
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
