"""What an answer costs is said once for a job, and a budget that buys too little is noticed."""

import pytest

TEXTS = [{"key": f"t{n}", "payload": {"text": f"text {n}"}} for n in range(500)]


async def create(client, **fields) -> dict:
    response = await client.post("/v1/jobs", json={"labels": ["a", "b", "c"], "budget": "60"} | fields)
    assert response.status_code == 201, response.text
    return response.json()


async def test_items_without_a_cost_take_that_of_the_job(client):
    job = await create(client, answer_cost="0.03")
    path = f"/v1/jobs/{job['id']}"
    added = await client.post(f"{path}/items", json=[*TEXTS[:3], {"key": "expensive", "cost": "2"}])
    assert added.json() == {"added": 4, "unchanged": 0, "warnings": []}
    costs = {item["key"]: item["cost"] for item in (await client.get(f"{path}/items")).json()["items"]}
    assert costs == {"t0": "0.03", "t1": "0.03", "t2": "0.03", "expensive": "2"}
    given = (await client.post(f"{path}/next", json={"worker": "w"})).json()["assignments"][0]
    assert (given["cost"], (await client.get(path)).json()["reserved"]) == ("0.03", "0.03")


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", '[{"key": "t0"}]'),
        ("application/x-ndjson", '{"key": "t0"}\n'),
        ("text/csv", "key,cost\nt0,\n"),
    ],
)
async def test_every_format_leaves_the_cost_to_the_job_and_may_be_sent_again(client, kind, body):
    path = f"/v1/jobs/{(await create(client, answer_cost=0.25))['id']}"
    sent = [(await client.post(f"{path}/items", content=body, headers={"Content-Type": kind})).json() for _ in range(2)]
    assert [(one["added"], one["unchanged"]) for one in sent] == [(1, 0), (0, 1)]
    assert (await client.get(f"{path}/items/t0")).json()["cost"] == "0.25"


async def test_a_budget_below_one_answer_per_item_is_a_warning(client):
    """500 items for 60 without a word about the cost: the case that nobody noticed."""
    job = await create(client)
    assert job["warnings"] == []
    added = (await client.post(f"/v1/jobs/{job['id']}/items", json=TEXTS)).json()
    assert [one["code"] for one in added["warnings"]] == ["budget-too-small"]
    assert added["warnings"][0]["message"].startswith(
        "The budget of 60 buys at most 60 answers at 1 each, less than one for each of the 500 items."
    )
    assert (await client.get(f"/v1/jobs/{job['id']}")).json()["warnings"] == added["warnings"]
    raised = await client.patch(f"/v1/jobs/{job['id']}", json={"budget": 500})
    assert raised.json()["warnings"] == []


async def test_the_same_items_at_their_true_cost_need_no_warning(client):
    job = await create(client, answer_cost="0.03")
    assert (await client.post(f"/v1/jobs/{job['id']}/items", json=TEXTS)).json()["warnings"] == []


async def test_a_budget_that_buys_no_answer_is_a_warning_at_once(client):
    assert [one["code"] for one in (await create(client, budget="0.5"))["warnings"]] == ["budget-too-small"]
    assert (await create(client, budget=None))["warnings"] == []


@pytest.mark.parametrize("cost", [0, "-1", "free", "0.0000001"])
async def test_a_cost_that_is_no_amount_is_refused_by_name(client, cost):
    response = await client.post("/v1/jobs", json={"labels": ["a", "b"], "budget": "1", "answer_cost": cost})
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == ["#/answer_cost"]


async def test_amounts_are_written_as_people_write_them(client):
    """Prices multiply costs, which adds digits; and nothing is left of 0.033 less 0.033."""
    path = f"/v1/jobs/{(await create(client, answer_cost='0.03', budget='12.50'))['id']}"
    await client.post(f"{path}/items", json=TEXTS[:2])
    await client.post(f"{path}/workers", json=[{"worker": "w", "price": "1.10"}])
    (held,) = (await client.post(f"{path}/next", json={"worker": "w"})).json()["assignments"]
    assert (held["cost"], (await client.get(path)).json()["remaining"]) == ("0.033", "12.467")
    await client.post(f"{path}/answers", json={"assignment": held["id"], "label": "a"})
    status = (await client.get(path)).json()
    assert [status[name] for name in ("budget", "spent", "reserved")] == ["12.50", "0.033", "0"]
