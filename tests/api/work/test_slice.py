"""One job from creation to results, over HTTP."""

import asyncio
import time
from decimal import Decimal

import pytest


async def test_an_item_closes_at_three_to_nothing_and_not_before(new_job):
    """With ratio 4 and one pseudo-vote per class, 2:0 is 3:1 and stays open; 3:0 is 4:1 and closes."""
    job = await new_job(items=1, budget="10", requirement={"kind": "ratio", "min_ratio": 4})
    verdicts = [(await job.answer("i1", worker, "cat")).json() for worker in ("w1", "w2", "w3")]
    assert [verdict["verdict"] for verdict in verdicts] == ["continue", "continue", "stop"]
    assert [verdict["label"] for verdict in verdicts] == [None, None, "cat"]
    assert verdicts[-1]["reason"]["code"] == "ratio"
    assert (await job.status())["items"] == {"open": 0, "resolved": 1, "given_up": 0}
    assert (await job.next("w4"))["reason"]["code"] == "all-resolved"
    [result] = await job.results()
    assert result == {
        "item": "i1",
        "label": "cat",
        "confidence": pytest.approx(0.9375),  # 1 - 1/16: P(theta > 1/2) under Beta(4, 1)
        "state": "resolved",
        "votes": {"cat": 3, "dog": 0},
        "reason": verdicts[-1]["reason"],
    }


async def test_the_shape_of_what_comes_back(new_job, client):
    """Every field that API.md names is there, under its name."""
    job = await new_job(items=2, budget="12.50", name="cats", seed=7)
    status = await job.status()
    assert status["budget"] == status["remaining"] == "12.50"
    assert (status["spent"], status["reserved"], status["answers"]) == ("0", "0", 0)
    assert (status["state"], status["completeness"]) == ("running", 0.0)
    given = await job.next("w1")
    assert set(given) == {"status", "reason", "retry_after", "assignments"}
    assert (given["status"], given["reason"]["code"], given["retry_after"]) == ("continue", "assigned", None)
    [assignment] = given["assignments"]
    assert set(assignment) == {"id", "item", "payload", "worker", "cost", "expires_at", "why"}
    assert set(assignment["why"]) == {"code", "message", "priority"}
    assert assignment["payload"] == {"n": int(assignment["item"][1:])}
    response = await client.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": "dog"})
    assert response.json() == {
        "item": assignment["item"],
        "worker": "w1",
        "accepted": True,
        "duplicate": False,
        "late": False,
        "counted": True,
        "verdict": "continue",
        "label": None,
        "confidence": 0.75,
        "reason": {"code": "ratio-not-reached", "message": response.json()["reason"]["message"]},
    }


async def test_a_job_needs_only_labels_and_budget(client):
    created = await client.post("/v1/jobs", json={"labels": ["a", "b", "c"], "budget": 1.1})
    assert created.status_code == 201
    job = created.json()
    assert created.headers["Location"] == f"/v1/jobs/{job['id']}"
    assert job["budget"] == "1.1"  # a JSON number keeps its decimals, it is not 1.100000000000000088
    assert (await client.get(created.headers["Location"])).json() == job


async def test_a_budget_of_five_never_hands_out_a_sixth_label(new_job):
    job = await new_job(items=4, budget="5")
    given = [await job.next(f"w{n}", count=2) for n in range(4)]
    handed_out = [one for ask in given for one in ask["assignments"]]
    assert len(handed_out) == 5
    assert given[-1]["status"] == "wait"
    assert given[-1]["reason"]["code"] == "budget-reserved"
    assert given[-1]["retry_after"] == 30
    refused = await job.answer("i4", "somebody-else", "cat")
    assert (refused.status_code, refused.json()["code"]) == (409, "budget-exhausted")
    status = await job.status()
    assert (status["spent"], status["reserved"], status["remaining"]) == ("0", "5", "0")


async def test_workers_who_ask_at_once_never_exceed_the_budget(new_job):
    job = await new_job(items=40, budget="25")
    asked = await asyncio.gather(*(job.next(f"w{n}", count=2) for n in range(50)))
    assert sum(len(ask["assignments"]) for ask in asked) == 25
    assert (await job.status())["reserved"] == "25"


async def test_money_is_exact(new_job):
    """Ten answers at a tenth cost one, to the last digit; floats would leave 0.9999999999999999."""
    job = await new_job(costs=["0.1"] * 10, budget="1")
    for n in range(1, 11):
        assert (await job.answer(f"i{n}", "w1", "cat")).status_code == 200
    status = await job.status()
    assert Decimal(status["spent"]) == 1
    assert Decimal(status["remaining"]) == 0


async def test_a_dear_item_gives_way_to_a_cheaper_one(new_job):
    """Once the rest of the budget no longer covers the best item, the next best that it covers is handed out."""
    job = await new_job(costs=["10", "2", "2"], budget="11")
    first = await job.next("w1", count=3)
    costs = [Decimal(one["cost"]) for one in first["assignments"]]
    assert sum(costs) <= 11
    assert (await job.next("w2", count=3))["assignments"]


async def test_a_worker_never_gets_an_item_twice(new_job):
    job = await new_job(items=3)
    for _ in range(3):
        [assignment] = (await job.next("w1"))["assignments"]
        await job.answer(assignment["item"], "w1", "cat")
    assert (await job.next("w1"))["reason"]["code"] == "worker-has-seen-all"
    assert (await job.next("w2"))["status"] == "continue"


async def test_asking_again_returns_what_is_held(new_job):
    job = await new_job(items=5)
    first = await job.next("w1", count=2)
    again = await job.next("w1", count=3)
    assert [one["id"] for one in again["assignments"][:2]] == [one["id"] for one in first["assignments"]]
    assert len(again["assignments"]) == 3
    assert len((await job.next("w1", count=1))["assignments"]) == 1


async def test_no_more_copies_are_out_than_could_matter(new_job):
    """A fresh item needs three votes at ratio 4, so a fourth worker waits."""
    job = await new_job(items=1)
    for n in range(3):
        assert (await job.next(f"w{n}"))["status"] == "continue"
    waiting = await job.next("w3")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "all-leased")
    assert waiting["retry_after"] == 30
    assert waiting["assignments"] == []


async def test_a_lease_expires_and_returns_its_money(new_job, clock):
    job = await new_job(items=1, budget="3", lease_seconds=60)
    for n in range(3):
        await job.next(f"w{n}")
    clock.advance(61)
    assert (await job.next("w9"))["status"] == "continue"
    status = await job.status()
    assert (status["spent"], status["reserved"]) == ("0", "1")


async def test_an_expired_lease_is_renewed_in_place(new_job, clock):
    """The one worker of a job is not locked out by having been slow: the same assignment is given again."""
    job = await new_job(items=1, lease_seconds=60)
    [before] = (await job.next("w1"))["assignments"]
    clock.advance(61)
    [after] = (await job.next("w1"))["assignments"]
    assert after["id"] == before["id"]
    assert after["expires_at"] > before["expires_at"]


async def test_a_late_answer_counts_while_the_item_is_open(new_job, client, clock):
    job = await new_job(items=1, budget="3", lease_seconds=60)
    [assignment] = (await job.next("w1"))["assignments"]
    clock.advance(61)
    late = await client.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": "cat"})
    assert late.json()["late"] is True
    for worker in ("w2", "w3"):
        await job.answer("i1", worker, "cat")
    [slow] = [await job.answer("i1", "w4", "cat")]
    assert (slow.status_code, slow.json()["code"]) == (409, "item-closed")
    assert (await job.status())["spent"] == "3"


async def test_a_lease_is_honoured_though_the_item_closed_meanwhile(new_job):
    """Who holds a live lease is paid; the verdict, once given, stands."""
    job = await new_job(items=1, budget="10")
    await job.next("slow")
    for worker in ("w1", "w2", "w3"):
        await job.answer("i1", worker, "cat")
    honoured = (await job.answer("i1", "slow", "dog")).json()
    assert (honoured["accepted"], honoured["verdict"], honoured["label"]) == (True, "stop", "cat")
    status = await job.status()
    assert (status["spent"], status["reserved"], status["items"]["resolved"]) == ("4", "0", 1)


async def test_the_same_answer_again_changes_nothing_and_another_is_refused(new_job):
    job = await new_job(items=1, budget="5")
    first = (await job.answer("i1", "w1", "cat")).json()
    again = (await job.answer("i1", "w1", "cat")).json()
    assert again == first | {"duplicate": True}
    other = await job.answer("i1", "w1", "dog")
    assert (other.status_code, other.json()["code"]) == (409, "answer-conflict")
    assert (await job.status())["spent"] == "1"


async def test_many_answers_each_get_their_own_result(new_job, client):
    """A refused answer does not harm its neighbours, and later answers see the earlier ones."""
    job = await new_job(items=2, budget="10")
    sent = [
        {"item": "i1", "worker": "w1", "label": "cat"},
        {"item": "i1", "worker": "w1", "label": "dog"},
        {"item": "nope", "worker": "w1", "label": "cat"},
        {"assignment": "99", "label": "cat"},
        {"item": "i1", "worker": "w2", "label": "bird"},
        {"item": "i1", "worker": "w2", "label": "cat"},
        {"item": "i1", "worker": "w3", "label": "cat"},
        {"item": "i1", "worker": "w4", "label": "cat"},
    ]
    results = (await client.post(f"{job.path}/answers", json={"answers": sent})).json()["results"]
    told = [result.get("verdict") or result["error"]["code"] for result in results]
    assert told == [
        "continue",
        "answer-conflict",
        "item-unknown",
        "assignment-unknown",
        "label-unknown",
        "continue",
        "stop",
        "item-closed",
    ]
    assert results[4]["error"]["errors"][0]["pointer"] == "#/answers/4/label"
    assert (await job.status())["spent"] == "3"


async def test_an_unnamed_worker_gets_work_and_answers_by_assignment(new_job, client):
    job = await new_job(items=1, budget="9")
    [one] = (await job.next())["assignments"]
    [two] = (await job.next())["assignments"]
    assert one["worker"] is None
    assert one["id"] != two["id"]
    for assignment, expected in ((one, False), (one, True), (two, False)):
        sent = await client.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": "cat"})
        assert sent.json()["duplicate"] is expected
    assert (await job.status())["answers"] == 2


async def test_items_come_all_or_none_and_can_be_sent_again(new_job, client):
    job = await new_job()
    rows = [{"key": "a", "payload": {"x": 1.5}, "cost": "2", "prior": {"cat": 0.7, "dog": 0.3}}, {"key": "b"}]
    assert (await client.post(f"{job.path}/items", json=rows)).json() == {"added": 2, "unchanged": 0, "warnings": []}
    again = await client.post(f"{job.path}/items", json=[*rows, {"key": "c"}, {"key": "c"}])
    assert again.json() == {"added": 1, "unchanged": 3, "warnings": []}
    conflict = await client.post(f"{job.path}/items", json=[{"key": "d"}, {"key": "b", "cost": 5}])
    assert (conflict.status_code, conflict.json()["code"]) == (409, "item-conflict")
    assert conflict.json()["errors"] == [{"pointer": "#/1/key", "message": "'b' exists with other content"}]
    assert (await job.status())["items"]["open"] == 3


async def test_a_hopeless_item_is_given_up(new_job):
    job = await new_job(items=1, max_labels=4)
    labels = ("cat", "dog", "cat", "dog")
    verdicts = [(await job.answer("i1", f"w{n}", label)).json() for n, label in enumerate(labels)]
    assert [verdict["verdict"] for verdict in verdicts] == ["continue", "continue", "continue", "give_up"]
    assert verdicts[-1]["reason"]["code"] == "max-labels"
    [result] = await job.results()
    assert (result["state"], result["label"]) == ("given_up", None)
    assert (await job.status())["state"] == "done"


async def test_a_job_without_items_says_so(new_job):
    job = await new_job()
    empty = await job.next("w1")
    assert (empty["status"], empty["reason"]["code"]) == ("wait", "no-items")


async def test_results_come_in_pages_by_state(new_job, client):
    job = await new_job(items=7)
    for worker in ("w1", "w2", "w3"):
        await job.answer("i5", worker, "dog")
    keys, cursor = [], None
    while True:
        query = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = (await client.get(f"{job.path}/results", params=query)).json()
        keys += [result["item"] for result in page["results"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert keys == [f"i{n}" for n in range(1, 8)]
    assert [result["item"] for result in await job.results(state="resolved")] == ["i5"]


async def test_nearly_finished_items_come_first(new_job):
    """Requallo: an item at 2:0 is worth more than a fresh one, and a fresh one more than one at 1:1."""
    job = await new_job(items=3, allocation={"kind": "requallo"})
    for item, worker, label in (("i2", "a", "cat"), ("i2", "b", "cat"), ("i3", "a", "cat"), ("i3", "b", "dog")):
        await job.answer(item, worker, label)
    given = await job.next("w1", count=3)
    assert [one["item"] for one in given["assignments"]] == ["i2", "i1", "i3"]
    priorities = [one["why"]["priority"] for one in given["assignments"]]
    assert priorities == pytest.approx([0.226667, 0.16, 0.066667], abs=1e-6)


async def test_votes_on_many_labels_are_judged_away_from_the_event_loop(new_job):
    """Thirty different labels on one item take more than the millisecond that counted votes usually take.

    Measured by processor time, because on busy cores the clock also counts other processes.
    """
    labels = [f"l{n}" for n in range(100)]
    job = await new_job(items=1, labels=labels, requirement={"kind": "posterior"})
    answers = [{"item": "i1", "worker": f"w{n}", "label": labels[n]} for n in range(30)]
    loop, everything = time.thread_time(), time.process_time()
    response = await job.http.post(f"{job.path}/answers", json={"answers": answers})
    loop, everything = time.thread_time() - loop, time.process_time() - everything
    assert all(one["accepted"] for one in response.json()["results"])
    assert everything - loop > everything / 2  # measured: nine tenths; nothing if it is done on the loop
