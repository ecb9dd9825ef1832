"""A request without an assignment gets `wait` if that may change, and `stop` only if there will be no more work."""

from uuid import UUID

import pytest
from sqlalchemy import text

from app.store.jobs import lock_job
from app.store.workers import save_low_information

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


# --- what time may change, and what it cannot


async def told(job, **body) -> tuple[str, str, str]:
    response = await job.http.post(f"{job.path}/next", json=body)
    assert response.status_code == 200, response.text
    found = response.json()
    assert (found["retry_after"] is not None) == (found["status"] == "wait")
    assert found["assignments"] == []
    return found["status"], found["reason"]["code"], found["reason"]["message"]


async def register(job, **prices: str) -> None:
    rows = [{"worker": name, "price": price} for name, price in prices.items()]
    assert (await job.http.post(f"{job.path}/workers", json=rows)).status_code == 200


async def turn_away(job, database, *names: str) -> None:
    why = {"reason": {"code": "low-information", "message": "Too little"}, "information_share": 0.1}
    async with database.begin() as connection:
        await lock_job(connection, UUID(job.id))
        found = {name: why | {"since": "2100-01-01T00:00:00+00:00"} for name in names}
        await save_low_information(connection, UUID(job.id), found)


async def test_of_several_workers_the_most_favourable_reason_counts(new_job, database):
    """Blocked, low-information, has seen all, too expensive: the code is that of who may come first."""
    job = await new_job(items=2, budget="4.5", **COUNT)
    await register(job, away="1", blocked="1", seen="1", dear="9")
    for item in ("i1", "i2"):
        assert (await job.answer(item, "seen", "cat")).status_code == 200
    assert (await job.http.post(f"{job.path}/workers/blocked/block", json={})).status_code == 200
    await turn_away(job, database, "away")
    assert (await told(job, workers=["blocked"]))[:2] == ("stop", "worker-blocked")
    assert (await told(job, workers=["blocked", "blocked"]))[:2] == ("stop", "worker-blocked")
    assert (await told(job, workers=["seen", "blocked"]))[:2] == ("stop", "worker-has-seen-all")
    status, code, message = await told(job, workers=["seen", "dear", "blocked"])
    assert (status, code) == ("stop", "budget-exhausted")
    assert message == (
        "2.50 of the budget of 4.50 is left: 1 costs more than the money that is left, 1 has answered or skipped every "
        "open item and 1 is blocked. Raise `budget`."
    )
    status, code, message = await told(job, workers=["away", "blocked", "seen", "dear"])
    assert (status, code) == ("wait", "worker-low-information")
    assert message.startswith("None of these 4 workers gets an item now: 1 gets no new work until a refit decides")
    for worker in ("w1", "w2"):
        assert (await job.next(worker))["status"] == "continue"
    assert (await told(job, workers=["away", "seen", "w3"]))[:2] == ("wait", "budget-reserved")
    assert (await told(job, worker="w3"))[:2] == ("wait", "budget-reserved")
    assert (await told(job))[:2] == ("wait", "budget-reserved")
    status, code, message = await told(job, worker="dear")
    assert (status, code) == ("stop", "budget-exhausted")
    assert message == (
        "0.50 of the budget of 4.50 is left and 2 is reserved, which does not pay for an answer of a worker with the "
        "price 9 on an open item. Raise `budget`."
    )


async def test_a_worker_whom_no_returning_money_pays_is_not_kept_waiting(new_job):
    """All open items are out on leases; the money that may return pays for a price of 1, and not for one of 9."""
    job = await new_job(items=1, budget="3", requirement={"kind": "count", "labels": 2})
    await register(job, dear="9")
    for worker in ("w1", "w2"):
        assert (await job.next(worker))["status"] == "continue"
    assert (await told(job, worker="w3"))[:2] == ("wait", "all-leased")
    assert (await told(job))[:2] == ("wait", "all-leased")
    assert (await told(job, worker="dear"))[:2] == ("stop", "budget-exhausted")


async def test_money_that_pays_only_closed_items_is_no_reason_to_wait(new_job):
    """The cheap item is closed; the reserved 1 would return to a job whose other items cost 5."""
    job = await new_job(costs=["1", "5", "1"], budget="3", requirement={"kind": "count", "labels": 1})
    assert (await job.answer("i1", "a", "cat")).status_code == 200
    held = (await job.next("b"))["assignments"][0]
    assert held["item"] == "i3"
    assert (await told(job, worker="c"))[:2] == ("wait", "all-leased")  # i3 is out, and the money for it may return
    assert (await job.answer("i3", "b", "cat")).status_code == 200
    assert (await told(job, worker="c"))[:2] == ("stop", "budget-exhausted")


async def test_a_low_information_worker_is_told_to_stop_where_no_refit_helps(new_job, database):
    job = await new_job(items=1, budget="3", requirement={"kind": "count", "labels": 3})
    assert (await job.answer("i1", "away", "cat")).status_code == 200
    await turn_away(job, database, "away")
    assert (await told(job, worker="away"))[:2] == ("stop", "worker-has-seen-all")
    assert (await job.http.post(f"{job.path}/items", json=[{"key": "new"}])).status_code == 201
    assert (await told(job, worker="away"))[:2] == ("wait", "worker-low-information")
    assert (await told(job, workers=["away", "away"]))[:2] == ("wait", "worker-low-information")


async def test_a_paused_job_without_open_items_is_done_for_its_workers_too(new_job):
    job = await new_job(items=1, requirement={"kind": "count", "labels": 1})
    assert (await job.answer("i1", "a", "cat")).status_code == 200
    assert (await job.http.post(f"{job.path}/pause")).json()["state"] == "done"
    assert (await told(job, worker="b"))[:2] == ("stop", "all-resolved")
    assert (await told(job))[:2] == ("stop", "all-resolved")
    started = await job.http.post(f"{job.path}/audits", json={"min_accuracy": 0.5})
    assert started.status_code == 201, started.text
    assert (await told(job, worker="b"))[:2] == ("wait", "job-paused")  # resumed, it gives out items of the audit


async def test_pending_verdicts_may_open_items_again(new_job, database):
    """A requested refit that may reopen items, and votes that are being removed: not a stop yet."""
    job = await new_job(items=1, requirement={"kind": "count", "labels": 1}, refit={"first": 1000, "reopen": True})
    assert (await job.answer("i1", "a", "cat")).status_code == 200
    assert (await told(job, worker="b"))[:2] == ("stop", "all-resolved")
    columns = "job_id, operation_id, kind, state, created_at"
    refit = f"INSERT INTO operation ({columns}) VALUES (:job, 1, 'refit', 'waiting', now())"
    for statement, code in (
        (refit, "refit-running"),
        ("UPDATE worker SET recount = true WHERE job_id = :job", "recount-running"),
    ):
        async with database.begin() as connection:
            await connection.execute(text(statement), {"job": job.id})
        assert (await told(job, worker="b"))[:2] == ("wait", code)
        assert (await told(job, workers=["b", "c"]))[:2] == ("wait", code)


async def test_a_refit_that_learns_from_an_audit_may_open_items_again(new_job, database):
    job = await new_job(items=2, requirement={"kind": "count", "labels": 1})
    for item in ("i1", "i2"):
        assert (await job.answer(item, "a", "cat")).status_code == 200
    assert (await job.http.post(f"{job.path}/audits", json={})).status_code == 201
    checked = await job.http.post(f"{job.path}/audits/1/answers", json=[{"item": "i1", "label": "dog"}])
    assert checked.status_code == 200, checked.text
    assert (await told(job, worker="b"))[:2] == ("stop", "all-resolved")
    columns = "job_id, operation_id, kind, state, created_at"
    refit = f"INSERT INTO operation ({columns}) VALUES (:job, 1, 'refit', 'waiting', now())"
    async with database.begin() as connection:
        await connection.execute(text(refit), {"job": job.id})
    assert (await told(job, worker="b"))[:2] == ("wait", "refit-running")


async def test_nobody_named_is_told_about_all_registered_workers(new_job):
    """More than a first team of 64 cheap workers have answered everything; the experts cost too much."""
    names = [f"c{n:02}" for n in range(70)]
    job = await new_job(
        items=1,
        budget="71.5",
        worker_choice={"kind": "ucb"},
        max_votes_per_label=None,
        requirement={"kind": "count", "labels": 90},
    )
    await register(job, **dict.fromkeys(names, "1"), e1="2", e2="2")
    votes = [{"item": "i1", "worker": name, "label": "cat"} for name in names]
    assert (await job.http.post(f"{job.path}/answers", json={"answers": votes})).status_code == 200
    status, code, message = await told(job)
    assert (status, code) == ("stop", "budget-exhausted")
    assert message == (
        "1.50 of the budget of 71.50 is left: 2 cost more than the money that is left and 70 have answered or skipped "
        "every open item. Raise `budget`."
    )
