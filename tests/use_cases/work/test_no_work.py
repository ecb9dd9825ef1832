"""A request without an assignment gets `wait` if that may change, and `stop` only if there will be no more work."""

import pytest

COUNT = {"requirement": {"kind": "count", "labels": 3}}


async def code_and_status(job, worker: str | None = None) -> tuple[str, str]:
    response = await job.next(worker)
    assert (response["retry_after"] is not None) == (response["status"] == "wait")
    return response["status"], response["reason"]["code"]


async def test_a_paused_job_lets_its_workers_wait(new_job, client):
    job = await new_job(items=1)
    assert (await client.post(f"{job.path}/pause")).status_code == 200
    assert await code_and_status(job, "w1") == ("wait", "job-paused")
    assert (await client.post(f"{job.path}/resume")).status_code == 200
    assert await code_and_status(job, "w1") == ("continue", "assigned")


async def test_reserved_money_may_return_and_spent_money_does_not(new_job):
    job = await new_job(items=2, budget="1", **COUNT)
    (held,) = (await job.next("w1"))["assignments"]
    waiting = await job.next("w2")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "budget-reserved")
    assert waiting["reason"]["message"].startswith("0 of the budget of 1 is left, and 1 is reserved")
    assert (await job.answer(held["item"], "w1", "cat")).status_code == 200
    spent = await job.next("w2")
    assert (spent["status"], spent["reason"]["code"]) == ("stop", "budget-exhausted")
    assert "Raise `budget`" in spent["reason"]["message"]


async def test_money_that_would_not_suffice_even_if_it_returned_is_exhausted(new_job, client):
    """Another worker holds 1 of 1.5, and this one costs 2."""
    job = await new_job(items=2, budget="1.5", **COUNT)
    registered = await client.post(f"{job.path}/workers", json=[{"worker": "expert", "price": "2"}])
    assert registered.status_code in {200, 201}, registered.text
    assert await code_and_status(job, "w1") == ("continue", "assigned")
    assert await code_and_status(job, "expert") == ("stop", "budget-exhausted")
    assert await code_and_status(job, "w2") == ("wait", "budget-reserved")


@pytest.mark.parametrize("kind", ["pair", "ucb"])
async def test_a_request_without_a_name_is_not_told_about_one_worker(new_job, client, kind):
    """A cheap worker has answered everything, and the rest of the money does not pay the two experts."""
    job = await new_job(items=1, budget="2.45", worker_choice={"kind": kind}, **COUNT)
    workers = [{"worker": "c01", "price": "1"}, {"worker": "e1", "price": "2"}, {"worker": "e2", "price": "2"}]
    registered = await client.post(f"{job.path}/workers", json=workers)
    assert registered.status_code in {200, 201}, registered.text
    assert (await job.answer("i1", "c01", "cat")).status_code == 200
    response = await job.next()
    assert (response["status"], response["reason"]["code"]) == ("stop", "budget-exhausted")
    assert "c01" not in response["reason"]["message"]
    assert response["reason"]["message"].startswith("1.45 of the budget of 2.45 is left")


async def test_the_end_of_a_job_is_a_stop(new_job):
    job = await new_job(items=1, requirement={"kind": "count", "labels": 1})
    assert await code_and_status(job, "w1") == ("continue", "assigned")
    assert await code_and_status(job, "w2") == ("wait", "all-leased")
    assert (await job.answer("i1", "w1", "cat")).status_code == 200
    assert await code_and_status(job, "w2") == ("stop", "all-resolved")


async def test_a_job_without_items_or_workers_waits_for_them(new_job, client):
    job = await new_job(worker_choice={"kind": "pair"})
    assert await code_and_status(job, "w1") == ("wait", "no-items")
    assert await code_and_status(job) == ("wait", "no-items")
    assert (await client.post(f"{job.path}/items", json=[{"key": "i1"}])).status_code == 201
    assert await code_and_status(job) == ("wait", "no-workers")
