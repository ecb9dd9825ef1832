"""Items that the crowd cannot settle, over HTTP: trusted workers are asked for them, and their labels stay."""

import asyncio
import json
from decimal import Decimal
from hashlib import sha256

import pytest

from tests.api.audits.auditing import begin, trust
from tests.api.crowds import refit
from tests.jobs import LEARNING, JobClient
from tests.promises.invariants import INVARIANTS, broken_invariants

CROWD = ("ann", "bob", "cleo", "dan")
GIVE_UP_EARLY = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.95}, "max_labels": 4}
LAWS = INVARIANTS.keys() - {"votes"}  # an answer that is truth is no vote


async def unsettled(new_job, items: int = 3, **fields: object) -> JobClient:
    """A job whose gold shows that four answers of this crowd cannot make it sure: each item is given up after one."""
    job = await new_job(items, **GIVE_UP_EARLY | fields)
    gold = [{"key": f"g{n}", "gold": "cat"} for n in range(20)]
    assert (await job.http.post(f"{job.path}/items", json=gold)).status_code == 201
    wrong = {f"g{n}" for n in range(0, 20, 4)}
    answers = [
        {"item": one["key"], "worker": worker, "label": "dog" if one["key"] in wrong else "cat"}
        for one in gold
        for worker in CROWD
    ]
    sent = (await job.http.post(f"{job.path}/answers", json={"answers": answers})).json()
    assert all(one["accepted"] for one in sent["results"])
    assert (await refit(job))["state"] == "done"
    for n in range(1, items + 1):
        answer = (await job.answer(f"i{n}", "ann", "cat")).json()
        assert (answer["verdict"], answer["reason"]["code"]) == ("give_up", "crowd-cannot-reach")
    return job


async def send(job: JobClient, assignment: dict, label: str = "dog") -> dict:
    sent = await job.http.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": label})
    assert sent.status_code == 200, sent.text
    return sent.json()


async def settle(job: JobClient, worker: str = "expert", label: str = "dog") -> list[str]:
    """Let a trusted worker settle whatever `next` gives; returns the items."""
    items = []
    while (found := await job.next(worker))["status"] == "continue":
        (one,) = found["assignments"]
        await send(job, one, label)
        items.append(one["item"])
    return items


async def result(job: JobClient, item: str, **query: object) -> dict:
    return next(one for one in await job.results(limit=1000, **query) if one["item"] == item)


async def test_a_trusted_worker_settles_what_the_crowd_cannot(new_job, database):
    job = await unsettled(new_job, budget="93")  # 83 are spent
    before = await job.status()
    assert (before["state"], before["items"]["given_up"], before["spent"]) == ("done", 3, "83")
    await trust(job, "expert", price="2.5")
    (held,) = (await job.next("expert"))["assignments"]
    assert (held["item"], held["why"]["code"]) == ("i1", "crowd-cannot-reach")
    assert "The crowd cannot" in held["why"]["message"]
    status = await job.status()
    assert (status["spent"], status["reserved"]) == ("83", "2.5")
    answer = await send(job, held)
    assert (answer["verdict"], answer["label"], answer["confidence"]) == ("stop", "dog", 1)
    assert (answer["counted"], answer["reason"]["code"]) == (False, "settled-by-trusted")
    assert await settle(job) == ["i2", "i3"]
    after = await job.status()
    assert (after["spent"], after["reserved"]) == ("90.5", "0")
    assert after["items"] == {"open": 0, "resolved": 23, "given_up": 0}
    shown = await result(job, "i1")
    assert (shown["label"], shown["confidence"], shown["state"]) == ("dog", 1, "resolved")
    assert (shown["votes"], shown["reason"]["code"]) == ({"cat": 1, "dog": 0}, "settled-by-trusted")
    assert (await job.next("expert"))["reason"]["code"] == "all-resolved"
    assert not LAWS & (await broken_invariants(database, job.id)).keys()


async def test_the_crowd_is_not_asked_for_these_items(new_job):
    job = await unsettled(new_job)
    for worker in (*CROWD, "new", None):
        found = await job.next(worker)
        assert (found["status"], found["reason"]["code"]) == ("stop", "all-resolved")


async def with_an_open_item(new_job, **fields: object) -> JobClient:
    """A job with two unsettled items, the more expensive one first, and an open one."""
    job = await unsettled(new_job, 0, gold={"first_share": 0, "last_share": 0}, **fields)
    rows = [{"key": "much", "cost": "3"}, {"key": "little", "cost": "2"}]
    await job.http.post(f"{job.path}/items", json=rows)
    for row in rows:
        assert (await job.answer(row["key"], "ann", "cat")).json()["verdict"] == "give_up"
    await job.http.post(f"{job.path}/items", json=[{"key": "open"}])
    return job


async def test_a_trusted_worker_gets_what_nobody_else_can_do_first_and_of_that_the_cheapest(new_job):
    job = await with_an_open_item(new_job)
    await trust(job, "expert")
    found = await job.next("expert", count=10)
    told = [(one["item"], one["why"]["code"]) for one in found["assignments"]]
    assert told == [("little", "crowd-cannot-reach"), ("much", "crowd-cannot-reach"), ("open", "information")]


async def test_a_job_that_chooses_asks_the_crowd_first_and_then_the_cheapest_trusted_worker(new_job):
    job = await with_an_open_item(new_job, worker_choice={"kind": "pair"})
    await trust(job, "expert", price="3")
    await trust(job, "other", price="2")
    body = {"workers": ["expert", "other", "bob"], "count": 10}
    found = (await job.http.post(f"{job.path}/next", json=body)).json()
    told = [(one["item"], one["worker"]) for one in found["assignments"]]
    assert ("open", "bob") in told
    assert [one[0] for one in told[:-2]] == ["open"] * (len(told) - 2)
    assert told[-2:] == [("little", "other"), ("much", "other")]


async def test_the_budget_must_pay(new_job):
    job = await unsettled(new_job, budget="87")  # 4 are left
    await trust(job, "expert", price="3")
    await trust(job, "master", price="5")
    (held,) = (await job.next("expert", count=3))["assignments"]
    refused = await job.next("master")
    assert (refused["status"], refused["reason"]["code"]) == ("stop", "budget-exhausted")
    assert "an item that the crowd cannot settle" in refused["reason"]["message"]
    await trust(job, "other", price="3")
    waiting = await job.next("other")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "unsettled-leased")
    await send(job, held)
    assert (await job.next("other"))["reason"]["code"] == "budget-exhausted"
    late = await job.answer("i2", "master", "dog")
    assert (late.status_code, late.json()["code"]) == (409, "budget-exhausted")
    assert (await job.status())["spent"] == "86"


async def test_one_copy_at_a_time_and_the_others_wait(new_job, clock):
    job = await unsettled(new_job, 1)
    await trust(job, "expert", "other")
    await job.http.post(f"{job.path}/workers", json=[{"worker": "ann", "trusted": True}])
    (held,) = (await job.next("expert"))["assignments"]
    waiting = await job.next("other")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "unsettled-leased")
    assert (await job.next("ann"))["status"] == "stop"  # who has voted on the item does not get it
    assert (await job.next("bob"))["status"] == "stop"
    assert (await job.next("expert"))["assignments"] == [held]
    clock.advance(601)
    (again,) = (await job.next("other"))["assignments"]
    assert again["item"] == "i1"
    answer = await send(job, again)
    assert answer["label"] == "dog"
    late = await job.http.post(f"{job.path}/answers", json={"assignment": held["id"], "label": "cat"})
    assert (late.status_code, late.json()["code"]) == (409, "item-closed")
    status = await job.status()
    assert (status["spent"], status["reserved"]) == ("82", "0")


async def test_a_late_answer_settles_what_nobody_else_has_settled(new_job, clock):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    (held,) = (await job.next("expert"))["assignments"]
    clock.advance(601)
    answer = await send(job, held)
    assert (answer["late"], answer["reason"]["code"]) == (True, "settled-by-trusted")


async def test_two_trusted_workers_race(new_job, database):
    """Each item goes to one of them, and of two answers without an assignment the first settles."""
    job = await unsettled(new_job, 12, budget="104")  # 12 are left
    await trust(job, "expert", "other")
    given = await asyncio.gather(*(settle(job, worker) for worker in ("expert", "other")))
    items = sorted(given[0] + given[1])
    assert items == sorted({f"i{n}" for n in range(1, 13)})
    status = await job.status()
    assert (Decimal(status["spent"]), Decimal(status["reserved"])) == (104, 0)
    assert not LAWS & (await broken_invariants(database, job.id)).keys()


async def test_of_two_answers_at_once_the_first_settles(new_job, database):
    job = await unsettled(new_job, 6)
    await trust(job, "expert", "other")
    sent = await asyncio.gather(
        *(job.answer(f"i{n}", who, label) for n in range(1, 7) for who, label in (("expert", "cat"), ("other", "dog")))
    )
    for n in range(6):
        pair = sent[2 * n : 2 * n + 2]
        assert sorted(one.status_code for one in pair) == [200, 409]
        first = next(one.json() for one in pair if one.status_code == 200)
        assert (await result(job, first["item"]))["label"] == first["label"]
        assert next(one.json() for one in pair if one.status_code == 409)["code"] == "item-closed"
    assert (await job.status())["spent"] == "92"
    assert not LAWS & (await broken_invariants(database, job.id)).keys()


async def test_duplicates_and_conflicts(new_job):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    (held,) = (await job.next("expert"))["assignments"]
    first = await send(job, held)
    again = await send(job, held)
    assert again == first | {"duplicate": True}
    conflict = await job.answer("i1", "expert", "cat")
    assert (conflict.status_code, conflict.json()["code"]) == (409, "answer-conflict")
    assert (await job.status())["spent"] == "82"


async def test_a_blocked_worker_settles_nothing_and_what_it_settled_stays(new_job):
    job = await unsettled(new_job, 2)
    await trust(job, "expert")
    (first,) = (await job.next("expert"))["assignments"]
    await send(job, first)
    (held,) = (await job.next("expert"))["assignments"]
    for worker in ("expert", "ann"):
        blocked = await job.http.post(f"{job.path}/workers/{worker}/block", json={"votes": "remove"})
        assert blocked.status_code == 200, blocked.text
    refused = await job.http.post(f"{job.path}/answers", json={"assignment": held["id"], "label": "dog"})
    assert (refused.status_code, refused.json()["code"]) == (409, "worker-blocked")
    assert (await job.next("expert"))["reason"]["code"] == "worker-blocked"
    shown = await result(job, first["item"])
    assert (shown["label"], shown["confidence"], shown["votes"]) == ("dog", 1, {"cat": 0, "dog": 0})
    assert (await job.http.post(f"{job.path}/workers/ann/unblock")).status_code == 200
    assert (await result(job, first["item"]))["votes"] == {"cat": 1, "dog": 0}


async def test_a_worker_who_is_trusted_no_longer_only_votes(new_job):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    (held,) = (await job.next("expert"))["assignments"]
    await job.http.post(f"{job.path}/workers", json=[{"worker": "expert", "trusted": False}])
    answer = await send(job, held)
    assert (answer["verdict"], answer["counted"], answer["reason"]["code"]) == ("give_up", True, "crowd-cannot-reach")


async def test_a_settled_item_stays_whatever_else_is_learned(new_job):
    """Refits, votes that come late, another requirement and another upload change nothing."""
    job = await unsettled(new_job, 2)
    await trust(job, "expert")
    assert await settle(job) == ["i1", "i2"]
    assert (await refit(job))["state"] == "done"
    changed = await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 1}})
    assert changed.status_code == 200, changed.text
    assert (await refit(job))["state"] == "done"
    for n in (1, 2):
        shown = await result(job, f"i{n}")
        assert (shown["label"], shown["confidence"], shown["reason"]["code"]) == ("dog", 1, "settled-by-trusted")
    rows = [{"key": f"i{n}", "payload": {"n": n}, "cost": "1"} for n in (1, 2)]
    added = await job.http.post(f"{job.path}/items", json=rows)
    assert (added.json()["added"], added.json()["unchanged"]) == (0, 2)
    gone = await job.http.delete(f"{job.path}/items/i1")
    assert (gone.status_code, gone.json()["code"]) == (409, "item-has-answers")
    refused = await job.answer("i1", "bob", "cat")
    assert (refused.status_code, refused.json()["code"]) == (409, "item-closed")


async def test_a_crowd_vote_under_a_lease_counts_and_changes_nothing(new_job):
    job = await unsettled(new_job, 0)
    await job.http.post(f"{job.path}/items", json=[{"key": "i1"}])
    await job.http.patch(job.path, json={"gold": {"first_share": 0, "last_share": 0}})
    held = [(await job.next(worker))["assignments"][0] for worker in ("bob", "cleo")]
    assert [one["item"] for one in held] == ["i1", "i1"]
    assert (await send(job, held[0], "cat"))["verdict"] == "give_up"
    await trust(job, "expert")
    assert (await job.next("expert"))["reason"]["code"] == "unsettled-leased"
    assert (await job.answer("i1", "expert", "dog")).json()["reason"]["code"] == "settled-by-trusted"
    late = await send(job, held[1], "cat")
    assert (late["verdict"], late["label"], late["counted"]) == ("stop", "dog", True)
    await job.http.post(f"{job.path}/workers/bob/block", json={"votes": "remove"})
    shown = await result(job, "i1")
    assert (shown["label"], shown["votes"]) == ("dog", {"cat": 1, "dog": 0})


@pytest.mark.parametrize("labels", [1, 2])
async def test_the_truth_that_was_asked_for_settles_an_item_that_is_open_or_resolved_again(new_job, labels, database):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    (held,) = (await job.next("expert"))["assignments"]
    await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": labels}})
    assert (await result(job, "i1"))["state"] == {1: "resolved", 2: "open"}[labels]
    assert (await send(job, held))["reason"]["code"] == "settled-by-trusted"
    assert (await result(job, "i1"))["label"] == "dog"
    assert (await job.status())["items"] == {"open": 0, "resolved": 21, "given_up": 0}
    assert not LAWS & (await broken_invariants(database, job.id)).keys()


@pytest.mark.parametrize("aggregation", ["majority", "dawid-skene", None])
async def test_every_aggregation_shows_the_label_that_was_given(new_job, aggregation):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    await settle(job)
    shown = await result(job, "i1", **({"aggregation": aggregation} if aggregation else {}))
    assert (shown["label"], shown["confidence"]) == ("dog", 1)


async def test_exports_have_the_label_and_an_answer_that_is_no_vote(new_job):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    await settle(job)
    lines = await job.http.get(f"{job.path}/results", headers={"Accept": "application/x-ndjson"})
    found = [json.loads(line) for line in lines.text.splitlines()]
    assert [one for one in found if one["item"] == "i1"] == [await result(job, "i1")]
    last = (await job.http.get(f"{job.path}/answers", params={"limit": 1000})).json()["answers"][-1]
    assert (last["item"], last["worker"], last["label"], last["counts"]) == ("i1", "expert", "dog", False)


async def test_settled_items_are_no_evidence_about_the_others(new_job):
    """Neither the calibration, nor `trust`, nor an audit, nor a worker's agreement is measured on them."""
    job = await unsettled(new_job, 3)
    before = await job.status()
    scored = (await job.http.get(f"{job.path}/workers/ann")).json()
    await trust(job, "expert")
    await settle(job)
    assert (await refit(job))["state"] == "done"
    after = await job.status()
    assert after["trust"] == before["trust"]
    assert after["trust"]["checked"] == 20
    assert after["next_refit_at"] > after["answers"]
    assert (await job.http.get(f"{job.path}/workers/ann")).json()["agreement"] == scored["agreement"]
    refused = await job.http.post(f"{job.path}/audits", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing-to-audit")


async def test_an_audit_is_about_the_labels_of_the_crowd_and_comes_first(new_job):
    job = await unsettled(new_job, 3)
    await trust(job, "expert", "other")
    await send(job, (await job.next("expert"))["assignments"][0])
    for requirement in ({"kind": "count", "labels": 1}, GIVE_UP_EARLY["requirement"]):
        assert (await job.http.patch(job.path, json={"requirement": requirement})).status_code == 200
        if requirement["kind"] == "count":  # i2 and i3 have one vote each
            audit = await begin(job)
            assert (audit["population"], audit["digest"]) == (2, sha256(b"i2,cat\ni3,cat").hexdigest())
    assert (await job.status())["items"]["given_up"] == 2
    checked = (await job.next("expert"))["assignments"][0]
    assert checked["why"]["code"] == "audit"
    await send(job, checked)
    assert await settle(job, "other") == [{"i2": "i3", "i3": "i2"}[checked["item"]], checked["item"]]
    codes = {one["item"]: one["reason"]["code"] for one in await job.results(limit=1000)}
    assert (codes[checked["item"]], codes["i1"]) == ("settled-by-trusted", "settled-by-trusted")


async def test_a_paused_job_lets_trusted_workers_wait(new_job):
    job = await unsettled(new_job, 1)
    await trust(job, "expert")
    assert (await job.http.post(f"{job.path}/pause")).status_code == 200
    waiting = await job.next("expert")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "job-paused")
    assert (await job.next("bob"))["status"] == "stop"
    assert (await job.http.post(f"{job.path}/resume")).status_code == 200
    assert await settle(job) == ["i1"]
