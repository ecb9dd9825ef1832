"""A job whose money is spent says so everywhere in the same words, and what finishing it would cost."""

from uuid import UUID

import pytest

from app.store.operations import jobs_to_forecast
from tests.api.crowds import all_answers
from tests.jobs import LEARNING
from tests.waiting import eventually

COUNT = {"requirement": {"kind": "count", "labels": 3}}


async def listed(job, state: str) -> bool:
    found = (await job.http.get("/v1/jobs", params={"state": state, "limit": 1000})).json()["jobs"]
    return job.id in {one["id"] for one in found}


async def is_everywhere(job, state: str) -> dict:
    """The status, the lists by state and the list of all agree; returns the status."""
    status = await job.status()
    assert status["state"] == state, status["state_message"]
    everything = {one["id"]: one for one in (await job.http.get("/v1/jobs", params={"limit": 1000})).json()["jobs"]}
    assert everything[job.id] == status
    assert [each for each in ("running", "paused", "exhausted", "done") if await listed(job, each)] == [state]
    return status


async def with_cost(job) -> dict:
    async def known() -> dict | None:
        status = await job.status()
        return status if status["cost_to_finish"] else None

    return await eventually(known)


async def test_a_job_without_money_is_exhausted_and_says_what_finishing_costs(new_job):
    """Ten items need three answers at 0.1 each, and the budget pays twelve of the thirty."""
    job = await new_job(costs=["0.1"] * 10, budget="1.25", **COUNT)
    assert (await is_everywhere(job, "running"))["cost_to_finish"] is None
    for number in range(1, 11):
        await job.answer(f"i{number}", "a", "cat")
    held = (await job.next("b", count=2))["assignments"]
    status = await is_everywhere(job, "running")  # two answers may come, or their money may return
    assert (status["remaining"], status["reserved"]) == ("0.05", "0.2")
    assert ((await job.next("c"))["status"], (await job.next("c"))["reason"]["code"]) == ("wait", "budget-reserved")
    for one in held:
        await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": "cat"})
    status = await with_cost(job)
    await is_everywhere(job, "exhausted")
    assert status["cost_to_finish"] == {"estimate": "1.8", "low": "1.8", "high": "1.8"}
    assert status["state_message"] == (
        "This job has spent its budget: the 0.05 that is left buys no further answer. "
        "Raise `budget` by about 1.75 to finish the 10 open items."
    )
    for body in ({}, {"worker": "c"}, {"worker": "a"}, {"workers": ["c", "d"]}):
        told = (await job.http.post(f"{job.path}/next", json=body)).json()
        assert (told["status"], told["reason"]["code"], told["retry_after"]) == ("stop", "budget-exhausted", None)
        assert told["reason"]["message"] == status["state_message"]
    assert (await job.answer("i1", "z", "cat")).json()["code"] == "budget-exhausted"

    raised = (await job.http.patch(job.path, json={"budget": "3.00"})).json()
    assert (raised["state"], raised["cost_to_finish"]) == ("running", None)
    await is_everywhere(job, "running")
    for worker in "cdef":
        while (one := await job.next(worker))["status"] == "continue":
            await job.answer(one["assignments"][0]["item"], worker, "cat")
    done = await is_everywhere(job, "done")
    assert (done["spent"], done["cost_to_finish"]) == ("3", None)
    assert done["state_message"] == "All 10 items are resolved or given up. Read the results."


async def test_lowering_the_budget_exhausts_and_pausing_comes_first(new_job):
    job = await new_job(items=5, budget="10", **COUNT)
    await job.answer("i1", "a", "cat")
    lowered = (await job.http.patch(job.path, json={"budget": "1"})).json()
    assert (lowered["state"], lowered["state_message"].startswith("This job has spent its budget. ")) == (
        "exhausted",
        True,
    )
    assert (await job.http.post(f"{job.path}/pause")).json()["state"] == "paused"
    await is_everywhere(job, "paused")
    assert (await job.next("b"))["reason"]["code"] == "job-paused"
    assert (await job.http.post(f"{job.path}/resume")).json()["state"] == "exhausted"
    await is_everywhere(job, "exhausted")


async def test_a_cheap_worker_an_open_item_or_a_free_lease_keeps_a_job_running(new_job):
    job = await new_job(costs=["1", "3"], budget="2.5", requirement={"kind": "count", "labels": 1})
    await job.answer("i1", "a", "cat")  # the cheap item is closed, and 1.5 does not pay for the other
    await is_everywhere(job, "exhausted")
    await job.http.post(f"{job.path}/workers", json=[{"worker": "half", "price": "0.5"}])
    await is_everywhere(job, "running")
    told = await job.next("b")
    assert (told["status"], told["reason"]["code"]) == ("stop", "budget-exhausted")
    assert told["reason"]["message"] == (
        "1.50 of the budget of 2.50 is left, which does not pay for an answer on an open item. Raise `budget`."
    )
    await job.http.post(f"{job.path}/workers/half/block", json={})
    await is_everywhere(job, "exhausted")
    await job.http.post(f"{job.path}/items", json=[{"key": "cheap", "cost": "0.2"}])
    await is_everywhere(job, "running")
    await job.http.delete(f"{job.path}/items/cheap")
    await is_everywhere(job, "exhausted")
    await job.http.patch(f"{job.path}/items/i2", json={"cost": "1.5"})
    await is_everywhere(job, "running")
    await job.http.patch(f"{job.path}/items/i2", json={"cost": "3"})
    await job.http.post(f"{job.path}/workers", json=[{"worker": "free", "price": "0"}])
    assert (await job.next("free"))["status"] == "continue"
    await job.http.post(f"{job.path}/workers/free/price", json={"price": "5"})
    await is_everywhere(job, "running")  # a free answer is out, and nothing is reserved for it


async def test_a_budget_that_never_bought_an_answer_is_exhausted_at_once(new_job):
    job = await new_job(items=3, budget="0.5", **COUNT)
    status = await is_everywhere(job, "exhausted")
    assert (status["spent"], status["answers"]) == ("0", 0)
    assert (await new_job(budget="0.5")).id  # without items there is nothing to buy
    assert (await is_everywhere(await new_job(budget="0.5"), "running"))["state_message"] == (
        "The job has no items yet. Add items."
    )


@pytest.mark.parametrize(
    "fields", [LEARNING, LEARNING | {"allocation": {"kind": "crowdbudget"}}], ids=["default", "quotas"]
)
async def test_what_finishing_costs_is_about_what_it_then_costs(new_job, fields):
    """A crowd that is right in nine of ten answers: the interval of the forecast has the cost of the rest in it."""
    job = await new_job(items=60, budget="120", **fields)
    await all_answers(job, 60, dict.fromkeys("ab", 0.9))
    status = await with_cost(job)
    assert status["forecast"]["at_answers"] == status["answers"] == 120
    cost = {name: float(amount) for name, amount in status["cost_to_finish"].items()}
    assert 0 < cost["low"] <= cost["estimate"] <= cost["high"] < 60 * 10
    assert float(status["forecast"]["cost"]["expected"]) == 120
    assert status["forecast"]["open"]["expected"] == status["items"]["open"]
    assert status["state_message"].endswith(f"to finish the {status['items']['open']} open items.")


async def test_the_forecast_is_made_of_the_newest_answers_when_the_items_end(new_job, database):
    job = await new_job(items=10, requirement={"kind": "count", "labels": 3})
    votes = [{"item": f"i{n}", "worker": w, "label": "cat"} for n in range(1, 11) for w in "abc"]
    await job.http.post(f"{job.path}/answers", json={"answers": votes[:22]})
    await job.http.post(f"{job.path}/answers", json={"answers": votes[22:]})

    async def newest() -> dict | None:
        status = await job.status()
        return status if (status["forecast"] or {}).get("at_answers") == 30 else None

    status = await eventually(newest)
    assert status["state"] == "done"
    assert status["forecast"]["resolved"] == {"expected": 10, "low": 10, "high": 10}
    async with database.connect() as connection:
        assert UUID(job.id) not in await jobs_to_forecast(connection)


async def test_jobs_are_listed_by_name_and_state_page_by_page(new_job, client, clock):
    name = f"mine {UUID(int=7)}"
    jobs = []
    for _ in range(5):
        jobs.append(await new_job(name=name, items=1))
        clock.advance(1)
    other = await new_job(name="another", items=1)
    for job in jobs[1:4]:
        await client.post(f"{job.path}/pause")
    query = {"name": name, "state": "paused", "limit": 2}
    first = (await client.get("/v1/jobs", params=query)).json()
    second = (await client.get("/v1/jobs", params=query | {"cursor": first["next_cursor"]})).json()
    assert [one["id"] for one in first["jobs"] + second["jobs"]] == [job.id for job in jobs[3:0:-1]]
    assert second["next_cursor"] is None
    assert other.id not in {one["id"] for one in (await client.get("/v1/jobs", params={"name": name})).json()["jobs"]}
    wrong = await client.get("/v1/jobs", params={"state": "finished"})
    assert wrong.status_code == 422
    (error,) = wrong.json()["errors"]
    assert error["pointer"] == "?state"
    assert all(f"'{state}'" in error["message"] for state in ("running", "paused", "exhausted", "done"))
