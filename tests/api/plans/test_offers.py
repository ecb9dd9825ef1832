"""What a plan offers is a job: sent as it stands, it is taken, shown, and held to its promise."""

import pytest

PLANS = {
    "accuracy-cost": {"min_accuracy": 0.9, "cost": "0.5", "budget": "800", "items": 200},
    "fitness": {"value": "20", "loss": "100", "cost": "1"},
    "forecast": {"labels": ["cat", "dog"], "items": 60, "budget": "200", "max_labels": 9},
    "requirement": {"accuracy": 0.9, "cost": "0.5"},
    "split": {"budget": "60", "groups": [{"cost": "0.2", "items": 20}, {"cost": "1", "items": 10}]},
}
VOTES = {"job": "counted-votes"}


async def offered(client, kind: str) -> dict:
    response = await client.post(f"/v1/plans/{kind}", json=PLANS[kind])
    assert response.status_code == 200, response.text
    return response.json()["offer"]


@pytest.mark.parametrize("kind", PLANS)
async def test_an_offer_is_taken_as_it_stands(client, kind):
    """Whatever it settles holds for the job, and the job's status shows it with how the job stands."""
    offer = await offered(client, kind)
    body = {"labels": ["cat", "dog"], "plan": offer} | ({} if "budget" in offer else {"budget": "100"})
    created = await client.post("/v1/jobs", json=body)
    assert created.status_code == 201, created.text
    job = created.json()
    settled = offer.keys() - {"kind", "promise"}
    assert {"requirement", "worker_model", "aggregation"} <= settled
    for name in settled:
        assert job[name] == offer[name], name
    assert job["plan"]["promise"] == offer["promise"]
    assert job["plan"]["compared"]["code"] == "too-early"


async def test_the_strategy_of_a_plan_is_that_of_its_job(client, new_job):
    """The votes that win by the table of accuracy-cost close an item of the job, and no fewer do."""
    plan = (await client.post("/v1/plans/accuracy-cost", json=PLANS["accuracy-cost"] | VOTES)).json()
    needs = {row["against"]: row["needed"] for row in plan["chosen"]["votes_to_win"]}
    fields = {name: plan["offer"][name] for name in ("requirement", "worker_model", "aggregation", "max_labels")}
    job = await new_job(costs=["0.5", "0.5"], **fields)
    votes = {"i1": ["cat"] * needs[0], "i2": ["dog"] + ["cat"] * needs[1]}
    for item, labels in votes.items():
        for number, label in enumerate(labels):
            told = (await job.answer(item, f"w{number}", label)).json()
            assert told["verdict"] == ("stop" if number + 1 == len(labels) else "continue"), (item, number, needs)


@pytest.mark.parametrize("most", [3, 5, 10, 40])
@pytest.mark.parametrize("wish", [{"value": {"kind": "linear", "value": 10, "loss": 65}}, {"min_accuracy": 0.8166}])
async def test_a_job_keeps_what_its_plan_offers(client, most, wish):
    """Also where the answers end: the promise is near the plan's own figures, and nearly all items are resolved."""
    plan = (await client.post("/v1/plans/accuracy-cost", json={"max_workers": most} | VOTES | wish)).json()
    promise, chosen = plan["offer"]["promise"], plan["chosen"]
    assert plan["offer"]["requirement"]["most_answers"] == most
    assert promise["answers_per_item"] == pytest.approx(chosen["answers"], abs=1e-4)
    tied = (1 - promise["resolved"]) / 2  # right half of the time, had one to guess
    assert promise["resolved"] * promise["accuracy"] + tied == pytest.approx(chosen["accuracy"], abs=2e-4)
    assert promise["resolved"] > 0.9


async def test_a_forecast_offers_the_job_that_it_simulated(client):
    """Limits that are none, and what few jobs say."""
    said = {"max_votes_per_label": None, "spammers": {}, "refit": None, "requirement": {"kind": "count", "labels": 3}}
    body = {"labels": ["cat", "dog"], "items": 20, "budget": "90", **said}
    offer = (await client.post("/v1/plans/forecast", json=body)).json()["offer"]
    job = (await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "plan": offer})).json()
    assert job["max_votes_per_label"] is None
    assert job["refit"] is None
    assert job["spammers"]["finish_first"]
    assert job["budget"] == "90"


async def test_no_offer_where_the_crowd_is_not_the_best_way(client):
    body = PLANS["fitness"] | {"expert": {"price": "2"}}
    assert (await client.post("/v1/plans/fitness", json=body)).json()["offer"] is None


async def test_a_job_that_costs_more_than_planned_says_so(client, new_job):
    """Held to the end: two answers for each of two items where a third of one was promised."""
    promise = {"cost_per_item": "0.3", "accuracy": 0.9}
    plan = {"kind": "requirement", "requirement": {"kind": "count", "labels": 2}, "promise": promise}
    job = await new_job(items=2, plan=plan, requirement=plan["requirement"])
    for item in ("i1", "i2"):
        for worker in ("w1", "w2"):
            await job.answer(item, worker, "cat")
    seen = (await client.get(job.path)).json()["plan"]
    assert (seen["compared"]["code"], seen["compared"]["basis"]) == ("more-expensive", "end")
    assert seen["so_far"]["cost_per_item"] == "2"


@pytest.mark.parametrize(
    ("plan", "pointer"),
    [
        ({"kind": "guess", "promise": {"accuracy": 0.9}}, "#/plan/kind"),
        ({"kind": "split"}, "#/plan/promise"),
        ({"kind": "split", "promise": {}}, "#/plan/promise"),
        ({"kind": "split", "promise": {"accuracy": 2}}, "#/plan/promise/accuracy"),
    ],
)
async def test_a_plan_that_is_none_is_refused_by_name(client, plan, pointer):
    response = await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": "1", "plan": plan})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
