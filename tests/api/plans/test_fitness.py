"""Whether a problem suits the crowd, over HTTP: the verdict as a sentence, the numbers, the chart, the refusals."""

from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

PATH = "/v1/plans/fitness"
EXPERT, MODEL = {"price": "20", "accuracy": 0.98}, {"accuracy": 0.7, "price": "0.2"}


@pytest.fixture
def plan(client):
    async def post(**body):
        response = await client.post(PATH, json={"value": 20, "loss": 100} | body)
        assert response.status_code == 200, response.text
        return response.json()

    return post


def by_name(told):
    return {way["name"]: way for way in told["ways"]}


async def test_a_problem_for_the_crowd(plan):
    """B(6, 2) at a loss of 100 answers: 5.6 of them, right with .889, for an answer that is worth 16.67 or more."""
    told = await plan()
    crowd = by_name(told)["crowd"]
    assert (told["crowd_pays"], told["best"], told["reason"]["code"]) == (True, "crowd", "crowd")
    assert (crowd["accuracy"], crowd["answers"]) == pytest.approx((0.8894, 5.61), abs=0.005)
    assert told["min_value"] == crowd["min_value"]
    assert Decimal(crowd["min_value"]) == pytest.approx(Decimal("16.67"), abs=Decimal("0.005"))
    assert Decimal(crowd["profit"]) == 20 - Decimal(crowd["min_value"])
    assert told["steps"][0] == {"votes_for": 0, "votes_against": 0, "action": "ask", "confidence": 0.5, "reached": 1.0}


async def test_below_its_min_value_nothing_pays(plan):
    told = await plan(value=16)
    assert (told["crowd_pays"], told["best"], told["steps"]) == (False, None, [])
    assert told["reason"]["code"] == "nothing-pays"
    assert "16.67" in told["reason"]["message"]
    assert (await plan(value=told["min_value"]))["crowd_pays"] is False
    assert (await plan(value=float(told["min_value"]) + 1e-6))["crowd_pays"] is True


async def test_where_no_answer_saves_what_it_costs(plan):
    """MI(0, 0) L = L / 4 under B(6, 2): at a loss of four answers, guessing is as good."""
    told = await plan(loss=4)
    assert (told["crowd_pays"], told["best"], told["reason"]["code"]) == (False, "guess", "asking-does-not-pay")
    assert (await plan(loss=4.1))["crowd_pays"] is True


async def test_an_expert_takes_what_the_crowd_cannot_settle(plan):
    told = await plan(expert=EXPERT)
    ways = by_name(told)
    assert list(ways) == ["guess", "expert", "crowd", "crowd-expert"]
    assert (told["best"], told["reason"]["code"], told["crowd_pays"]) == ("crowd-expert", "crowd-in-part", True)
    assert 0 < ways["crowd-expert"]["expert_share"] < 1
    handed_over = [step for step in told["steps"] if step["action"] == "expert"]
    assert handed_over
    assert all(step["confidence"] < 0.8 for step in handed_over)
    assert sum(step["reached"] for step in handed_over) == pytest.approx(ways["crowd-expert"]["expert_share"])


async def test_a_cheap_expert_is_better(plan):
    told = await plan(expert={"price": 2})
    assert (told["best"], told["reason"]["code"], told["steps"]) == ("expert", "expert-is-better", [])
    assert told["reason"]["message"].startswith("The crowd would earn 3.")


async def test_a_strong_model_is_better_and_a_weak_one_helps(plan):
    assert (await plan(model={"accuracy": 0.99}))["reason"]["code"] == "model-is-better"
    told = await plan(model=MODEL, expert=EXPERT)
    assert told["best"] == "model-crowd-expert"
    assert len(told["ways"]) == 7
    best = by_name(told)["model-crowd-expert"]
    assert all(Decimal(way["profit"]) <= Decimal(best["profit"]) for way in told["ways"])


async def test_money_scales_with_the_cost_of_an_answer(plan):
    cents = await plan(value="1", loss="5", cost="0.05", expert={"price": "1", "accuracy": 0.98})
    whole = await plan(expert=EXPERT)
    for small, large in zip(cents["ways"], whole["ways"], strict=True):
        assert small["accuracy"] == pytest.approx(large["accuracy"], abs=1e-4)
        assert float(small["profit"]) == pytest.approx(float(large["profit"]) / 20, abs=1e-5)


@pytest.mark.parametrize(
    ("body", "pointer", "message"),
    [
        ({"prior": {"a": 2, "b": 2}}, "#/prior", "must be more than b"),
        ({"prior": {"kind": "pilot", "votes": [[5, 5]] * 40}}, "#/prior/votes", "look like guesses"),
        ({"cost": "0"}, "#/cost", "more than 0"),
        ({"value": -1}, "#/value", "at least 0"),
        ({"loss": "x"}, "#/loss", "Must be an amount"),
        ({"expert": {"price": 0}}, "#/expert/price", "more than 0"),
        ({"expert": {"price": 1, "accuracy": 0.5}}, "#/expert/accuracy", "more than 0.5"),
        ({"expert": {"accuracy": 0.9}}, "#/expert/price", "required"),
        ({"model": {"accuracy": 1.1}}, "#/model/accuracy", "at most 1"),
        ({"model": {"accuracy": 0.3}}, "#/model/accuracy", "at least 0.5"),
        ({"max_workers": 0}, "#/max_workers", "at least 1"),
    ],
)
async def test_what_cannot_be_is_refused_by_name(client, body, pointer, message):
    response = await client.post(PATH, json={"value": 20, "loss": 100} | body)
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert (error["pointer"], message in error["message"]) == (pointer, True), error


@pytest.mark.parametrize("address", [PATH, f"{PATH}.svg"])
async def test_the_picture(client, address):
    accept = {} if address.endswith("svg") else {"Accept": "image/svg+xml"}
    body = {"value": 20, "loss": 100, "expert": EXPERT, "model": MODEL}
    response = await client.post(address, json=body, headers=accept)
    assert response.headers["content-type"] == "image/svg+xml"
    texts = {each.text for each in ET.fromstring(response.content).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314
    assert {"loss of a wrong answer (money)", "expected profit per item (money)"} <= texts
    assert {"guess", "model + crowd + expert", "loss 100"} <= texts


async def test_nothing_at_stake_can_be_drawn(client):
    response = await client.post(f"{PATH}.svg", json={"value": 0, "loss": 0})
    assert response.status_code == 200


async def test_crowd_first_then_the_expert_from_plan_to_results(client, plan):
    """The offer and its workers, sent as they stand: the crowd votes, and the expert settles what stays in doubt."""
    told = await plan(expert={"price": "12"})
    offer = told["offer"]
    assert told["best"] == "crowd-expert"
    assert told["workers"] == [{"worker": "expert", "price": "12", "trusted": True}]
    assert float(offer["promise"]["cost_per_item"]) == pytest.approx(9.948, abs=0.001)
    job = (await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": "100", "plan": offer})).json()
    path = f"/v1/jobs/{job['id']}"
    assert job["requirement"] == offer["requirement"]
    assert (await client.post(f"{path}/workers", json=told["workers"])).status_code == 200
    await client.post(f"{path}/items", json=[{"key": "easy"}, {"key": "hard"}])

    async def told_to(worker):
        return (await client.post(f"{path}/next", json={"worker": worker})).json()

    early = await told_to("expert")
    assert (early["status"], early["reason"]["code"]) == ("wait", "crowd-first")
    for item, labels in {"hard": ["cat", "dog"], "easy": ["dog"] * 4}.items():
        for number, label in enumerate(labels):
            sent = {"item": item, "worker": f"w{number}", "label": label}
            verdict = (await client.post(f"{path}/answers", json=sent)).json()
        if item == "hard":
            assert (verdict["verdict"], verdict["reason"]["code"]) == ("give_up", "crowd-cannot-reach")
            (held,) = (await told_to("expert"))["assignments"]
            assert (held["item"], held["cost"]) == ("hard", "12")
    settled = (await client.post(f"{path}/answers", json={"assignment": held["id"], "label": "dog"})).json()
    assert (settled["verdict"], settled["label"], settled["counted"]) == ("stop", "dog", False)
    results = (await client.get(f"{path}/results")).json()["results"]
    assert [(one["item"], one["label"], one["reason"]["code"]) for one in results] == [
        ("easy", "dog", "profit"),
        ("hard", "dog", "settled-by-trusted"),
    ]
    status = (await client.get(path)).json()
    assert (status["state"], status["spent"], status["answers"]) == ("done", "18", 7)
    assert (await told_to("expert"))["reason"]["code"] == "all-resolved"


async def test_an_expert_for_whom_the_money_is_gone_is_told_to_stop(client, plan):
    """No item can come to the expert any more, so nobody waits."""
    told = await plan(expert={"price": "12"})
    body = {"labels": ["cat", "dog"], "budget": "3", "plan": told["offer"]}
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}"
    await client.post(f"{path}/workers", json=told["workers"])
    await client.post(f"{path}/items", json=[{"key": "i1"}])
    told_now = (await client.post(f"{path}/next", json={"worker": "expert"})).json()
    assert (told_now["status"], told_now["reason"]["code"]) == ("stop", "budget-exhausted")


@pytest.mark.parametrize(
    "body",
    [
        {"answer_cost": "0.000001", "loss": "900000000", "value": "900000000", "expert": {"price": "100000000"}},
        {"answer_cost": "100", "loss": "10000", "value": 9000, "expert": {"price": "0.00001", "accuracy": 0.6}},
    ],
)
async def test_no_offer_beyond_what_prices_may_be(plan, body):
    """A price in costs of an answer that is too large or too small for a worker."""
    told = await plan(**body)
    assert told["best"] == "crowd-expert"
    assert (told["offer"], told["workers"]) == (None, [])


async def test_a_job_that_chooses_asks_its_crowd_before_the_expert(client, plan):
    """The expert gets what divides ann and bob, and nothing else."""
    told = await plan(expert={"price": "12"})
    body = {"labels": ["cat", "dog"], "budget": "100", "plan": told["offer"], "worker_choice": {"kind": "ucb"}}
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}"
    await client.post(f"{path}/workers", json=[*told["workers"], {"worker": "ann"}, {"worker": "bob"}])
    await client.post(f"{path}/items", json=[{"key": "i1"}])

    async def asked(**team):
        return (await client.post(f"{path}/next", json=team)).json()

    assert (await asked(workers=["expert"]))["reason"]["code"] == "crowd-first"
    for label in ("cat", "dog"):
        (held,) = (await asked())["assignments"]
        assert held["worker"] in {"ann", "bob"}
        await client.post(f"{path}/answers", json={"assignment": held["id"], "label": label})
    assert [one["worker"] for one in (await asked())["assignments"]] == ["expert"]
