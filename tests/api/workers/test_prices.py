"""Workers have prices: an answer costs the item's cost times the worker's price, exactly."""

import pytest


async def register(job, **prices: str) -> None:
    body = [{"worker": worker, "price": price} for worker, price in prices.items()]
    response = await job.http.post(f"{job.path}/workers", json=body)
    assert response.status_code == 200, response.text
    assert response.json() == {"registered": len(prices)}


async def money(job) -> tuple[str, str]:
    status = await job.status()
    return status["reserved"], status["spent"]


async def test_a_lease_reserves_cost_times_price_and_the_answer_spends_it(new_job):
    job = await new_job(costs=["0.3"], budget="1")
    await register(job, expert="2.5", model="0.001")
    (held,) = (await job.next("expert"))["assignments"]
    assert held["cost"] == "0.75"
    assert await money(job) == ("0.75", "0")
    assert (await job.answer("i1", "expert", "cat")).status_code == 200
    assert await money(job) == ("0", "0.75")
    assert (await job.answer("i1", "model", "cat")).status_code == 200
    assert await money(job) == ("0", "0.7503")


async def test_who_is_not_registered_costs_what_the_item_costs(new_job):
    job = await new_job(costs=["0.3"], budget="1")
    await register(job, expert="2.5")
    assert (await job.next("somebody"))["assignments"][0]["cost"] == "0.3"
    assert (await job.next())["assignments"][0]["cost"] == "0.3"


async def test_the_rest_of_the_budget_may_cover_a_cheap_worker_and_not_a_dear_one(new_job):
    job = await new_job(costs=["1", "1"], budget="1.5")
    await register(job, expert="2", model="0.5")
    refused = await job.next("expert")
    assert (refused["status"], refused["reason"]["code"]) == ("stop", "budget-exhausted")
    assert len((await job.next("model", count=2))["assignments"]) == 2
    late = await job.answer("i1", "expert", "cat")
    assert (late.status_code, late.json()["code"]) == (409, "budget-exhausted")


async def test_a_dear_worker_gets_the_cheaper_item_behind_the_best(new_job):
    job = await new_job(costs=["4", "1"], budget="3", allocation={"kind": "round-robin"})
    await register(job, expert="2")
    assert [one["item"] for one in (await job.next("expert", count=2))["assignments"]] == ["i2"]


async def test_a_free_worker_works_when_the_budget_is_spent(new_job):
    job = await new_job(costs=["1", "1"], budget="0")
    await register(job, model="0")
    held = (await job.next("model", count=2))["assignments"]
    assert [one["cost"] for one in held] == ["0", "0"]


async def test_a_new_price_is_for_the_leases_to_come(new_job):
    job = await new_job(costs=["1", "1"], budget="10")
    await register(job, expert="2")
    (first,) = (await job.next("expert"))["assignments"]
    await register(job, expert="3")
    both = (await job.next("expert", count=2))["assignments"]
    assert [one["cost"] for one in both] == ["2", "3"]
    released = await job.http.post(f"{job.path}/assignments/{first['id']}/release")
    assert released.json()["cost"] == "2"
    assert await money(job) == ("3", "0")


async def test_a_price_survives_what_is_learned_of_the_worker(new_job):
    """Skill and price stand in one row, and neither overwrites the other."""
    job = await new_job(costs=["1", "1"], budget="10", worker_model={"kind": "one-coin"})
    await register(job, expert="2")
    await job.answer("i1", "expert", "cat")
    await register(job, expert="3")
    await job.answer("i2", "expert", "cat")
    assert await money(job) == ("0", "5")


async def test_workers_are_listed_by_name_in_pages(new_job):
    job = await new_job()
    await register(job, **{f"w{n}": str(n) for n in range(5)})
    first = (await job.http.get(f"{job.path}/workers", params={"limit": 3})).json()
    assert [(one["worker"], one["price"]) for one in first["workers"]] == [(f"w{n}", str(n)) for n in range(3)]
    rest = (await job.http.get(f"{job.path}/workers", params={"cursor": first["next_cursor"]})).json()
    assert [one["worker"] for one in rest["workers"]] == ["w3", "w4"]
    assert rest["next_cursor"] is None


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ([{"worker": "w", "price": "-1"}], "#/1/price"),
        ([{"worker": "w", "price": "0.0000001"}], "#/1/price"),
        ([{"worker": "w", "price": "many"}], "#/1/price"),
        ([{"worker": " "}], "#/1/worker"),
        ([{"price": "1"}], "#/1/worker"),
        ([{"worker": "w", "salary": "1"}], "#/1/salary"),
        ([], "#"),
    ],
)
async def test_a_bad_registration_names_the_field_and_registers_nobody(new_job, body, pointer):
    job = await new_job()
    response = await job.http.post(f"{job.path}/workers", json=[{"worker": "good"}, *body] if body else [])
    assert response.status_code == 422
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]
    assert (await job.http.get(f"{job.path}/workers")).json()["workers"] == []


PROFIT = {"requirement": {"kind": "profit", "value": 9, "loss": 5}, "worker_model": {"kind": "anonymous"}}


async def test_profit_sees_what_workers_charge(new_job):
    """A cost of 1, a price of .05 and a loss of 5: one answer is not enough, as at a loss of 100 answers."""
    job = await new_job(items=2, budget="10", **PROFIT)
    assert (await job.answer("i1", "w0", "cat")).json()["verdict"] == "stop"
    cheap = await new_job(items=2, budget="10", **PROFIT)
    await register(cheap, w1="0.05", w2="0.05", w3="0.05", expert="20")
    assert (await cheap.status())["expected_price"] == 0.05
    assert [(await cheap.answer("i1", f"w{n}", "cat")).json()["verdict"] for n in (1, 2, 3)] == [
        "continue",
        "continue",
        "stop",
    ]


async def test_items_that_did_not_pay_open_when_cheap_workers_register(new_job):
    """Nothing was asked yet, so nothing is lost; the price of a trusted worker is not that of an answer."""
    fields = PROFIT | {"requirement": {"kind": "profit", "value": 9, "loss": 3}}
    job = await new_job(items=3, budget="10", **fields)
    assert (await job.status())["items"] == {"open": 0, "resolved": 0, "given_up": 3}
    body = [{"worker": "expert", "price": "30", "trusted": True}, {"worker": "w1", "price": "0.1"}]
    assert (await job.http.post(f"{job.path}/workers", json=body)).status_code == 200
    status = await job.status()
    assert status["items"] == {"open": 3, "resolved": 0, "given_up": 0}
    assert status["expected_price"] == 0.1


@pytest.mark.parametrize("items", [30, 1500])  # one page of items in the background, and two
async def test_open_items_are_judged_again_when_the_price_moves(new_job, items):
    """Ten answers of unregistered workers cost 1 each where .1 was expected: (10 x .1 + 10 x 1) / 20 = .55.

    At that price one vote is enough. Of items without a vote, the last has another priority than before.
    """
    job = await new_job(
        items=items,
        budget="100",
        **PROFIT | {"allocation": {"kind": "requallo"}, "requirement": {"kind": "profit", "value": 9, "loss": 6}},
    )
    await register(job, w1="0.1")
    for n in range(1, 10):
        assert (await job.answer(f"i{n}", f"stranger{n}", "cat")).json()["verdict"] == "continue"
    assert (await job.status())["items"]["open"] == items
    before = (await job.http.get(f"{job.path}/items/i{items}")).json()["priority"]
    await job.answer("i10", "stranger10", "cat")
    assert (await job.http.get(f"{job.path}/items/i{items}")).json()["priority"] != before
    status = await job.status()
    assert status["expected_price"] == pytest.approx(0.55)
    assert status["items"] == {"open": items - 10, "resolved": 10, "given_up": 0}
    (held,) = (await job.next("w1"))["assignments"]
    assert int(held["item"][1:]) > 10


async def test_a_new_requirement_sees_the_prices_too(new_job):
    """The former requirement did not follow them. At .05 one vote is not enough for a loss of 5; at 1 it is."""
    job = await new_job(items=2, budget="10", worker_model={"kind": "anonymous"}, requirement={"kind": "ratio"})
    await register(job, w1="0.05", w2="0.05")
    await job.answer("i1", "w1", "cat")
    assert (await job.status())["expected_price"] == 1
    changed = await job.http.patch(job.path, json={"requirement": PROFIT["requirement"]})
    assert changed.json()["expected_price"] == 0.05
    assert changed.json()["items"]["open"] == 2
