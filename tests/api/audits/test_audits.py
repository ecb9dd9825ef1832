"""Audits over HTTP: by hand, by trusted workers, while labels change, and the certificate."""

import asyncio
import hashlib
from decimal import Decimal

import pytest

from tests.api.audits.auditing import begin, check, labeled, pending, trust


async def test_right_labels_are_proven_and_certified(new_job):
    job = await labeled(new_job, 300)
    before = (await job.status())["trust"]
    assert (before["state"], before["by"], before["checked"], before["accuracy"]) == ("unverified", None, 0, None)
    assert (await job.http.get(f"{job.path}/certificate")).json()["code"] == "certificate-missing"
    begun = await begin(job, min_accuracy=0.95, confidence=0.95, max_items=200)
    assert (begun["state"], begun["population"], begun["checked"], begun["accuracy"]) == ("running", 300, 0, None)
    items = await pending(job, limit=100)
    assert all(one["label"] is None and one["answer"] is None and one["payload"]["n"] for one in items)
    audit = begun
    while audit["state"] == "running":
        audit = (await check(job, (await pending(job, limit=5)))).json()
        assert audit["right"] == audit["checked"]
    assert (audit["state"], audit["checked"]) == ("proven", 70)
    certificate = (await job.http.get(f"{job.path}/certificate")).json()
    assert certificate["checked"] == audit["checked"]
    assert certificate["current"] is True
    found = (await job.status())["trust"]
    assert (found["state"], found["by"], found["checked"]) == ("certified", "audit", audit["checked"])
    lines = sorted(f"{one['item']},{one['label']}" for one in await job.results(limit=1000))
    assert certificate["digest"] == hashlib.sha256("\n".join(lines).encode()).hexdigest()


async def test_bad_labels_are_refuted(new_job):
    job = await labeled(new_job, 100, wrong=40)
    audit = await begin(job)
    while audit["state"] == "running":
        audit = (await check(job, await pending(job, limit=3))).json()
    assert audit["state"] == "refuted"
    assert audit["accuracy"]["high"] <= 0.95
    assert (await job.status())["trust"]["state"] == "measured"
    assert (await job.http.get(f"{job.path}/certificate")).status_code == 404
    late = await check(job, await pending(job, limit=1))
    assert (late.status_code, late.json()["code"]) == (409, "audit-finished")


async def test_a_small_sample_decides_nothing(new_job):
    job = await labeled(new_job, 50)
    await begin(job, max_items=10)
    audit = (await check(job, await pending(job, limit=100))).json()
    assert (audit["state"], audit["checked"]) == ("exhausted", 10)
    await begin(job, max_items=50)
    assert [one["id"] for one in (await job.http.get(f"{job.path}/audits")).json()["audits"]] == ["2", "1"]


async def test_the_sample_differs_between_audits_and_not_between_looks(new_job):
    job = await labeled(new_job, 60, seed=3)
    await begin(job, max_items=5)
    first = [one["item"] for one in await pending(job)]
    assert first == [one["item"] for one in await pending(job)]
    await check(job, await pending(job))
    await begin(job, max_items=5)
    assert first != [one["item"] for one in await pending(job, "2")]
    twin = await labeled(new_job, 60, seed=3)
    await begin(twin, max_items=5)
    assert [one["item"] for one in await pending(twin)] == first


async def test_the_same_answer_again_changes_nothing_and_another_is_refused(new_job):
    job = await labeled(new_job, 20)
    await begin(job)
    items = (await pending(job))[:1]
    first = (await check(job, items)).json()
    assert (await check(job, items)).json() == first
    other = await check(job, items, label="dog")
    assert (other.status_code, other.json()["code"]) == (409, "answer-conflict")
    checked = await pending(job, state="checked")
    assert [(one["item"], one["label"], one["answer"], one["right"]) for one in checked] == [
        (items[0]["item"], "cat", "cat", True)
    ]


@pytest.mark.parametrize(
    ("answer", "status", "code"),
    [
        ({"item": "nothing", "label": "cat"}, 404, "item-unknown"),
        ({"item": None, "label": "cow"}, 422, "label-unknown"),
    ],
)
async def test_wrong_answers_are_refused_all_or_none(new_job, answer: dict, status: int, code: str):
    job = await labeled(new_job, 20)
    await begin(job)
    items = await pending(job, limit=2)
    body = [{"item": items[0]["item"], "label": "cat"}, {**answer, "item": answer["item"] or items[1]["item"]}]
    response = await job.http.post(f"{job.path}/audits/1/answers", json=body)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert response.json()["errors"][0]["pointer"].startswith("#/1/")
    assert (await job.http.get(f"{job.path}/audits/1")).json()["checked"] == 0


async def test_one_audit_at_a_time_and_none_without_labels(new_job):
    job = await new_job(3)
    assert (await job.http.post(f"{job.path}/audits", json={})).json()["code"] == "nothing-to-audit"
    job = await labeled(new_job, 5)
    await begin(job)
    assert (await job.http.post(f"{job.path}/audits", json={})).json()["code"] == "audit-running"
    assert (await job.http.get(f"{job.path}/audits/7")).json()["code"] == "audit-unknown"


async def test_gold_is_not_audited(new_job):
    job = await labeled(new_job, 5)
    await job.http.post(f"{job.path}/items", json=[{"key": "g", "gold": "cat"}])
    assert (await begin(job))["population"] == 5
    assert "g" not in {one["item"] for one in await pending(job)}
    assert (await job.status())["trust"]["claimed"] < 1


async def test_an_idempotency_key_begins_one_audit(new_job):
    job = await labeled(new_job, 5)
    headers = {"Idempotency-Key": "one"}
    first = await job.http.post(f"{job.path}/audits", json={}, headers=headers)
    again = await job.http.post(f"{job.path}/audits", json={}, headers=headers)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json() == first.json()


async def test_labels_that_change_leave_the_audit_about_the_old_ones(new_job):
    """Two more dogs turn a label. The audit still compares with the label that it began with, and says so."""
    job = await labeled(new_job, 20)
    await begin(job, min_accuracy=0.5, confidence=0.6)
    first = (await pending(job))[:1]
    changed = await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 2}})
    assert changed.json()["items"]["open"] == 20
    audit = (await check(job, first)).json()
    assert (audit["right"], audit["label_changes"], audit["population"]) == (1, 20, 20)
    while audit["state"] == "running":
        audit = (await check(job, await pending(job, limit=3))).json()
    assert audit["state"] == "proven"
    found = (await job.status())["trust"]
    assert found["state"] == "measured"
    assert "20 times" in found["message"]
    assert (await job.http.get(f"{job.path}/certificate")).json()["current"] is False
    back = await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 1}})
    assert back.json()["trust"]["claimed"] is not None


async def test_a_trusted_worker_checks_items_by_next(new_job):
    job = await labeled(new_job, 40, budget="100")
    await trust(job, "expert", price="2")
    assert (await job.next("expert"))["status"] == "stop"
    await begin(job, min_accuracy=0.5, confidence=0.9)
    assert (await job.next("stranger"))["status"] == "stop"
    held = (await job.next("expert", count=2))["assignments"]
    assert [one["why"]["code"] for one in held] == ["audit", "audit"]
    assert [one["item"] for one in held] == [one["item"] for one in await pending(job, limit=2)]
    assert (await job.next("expert", count=2))["assignments"] == held
    status = await job.status()
    assert (Decimal(status["spent"]), Decimal(status["reserved"])) == (40, 4)
    sent = await job.http.post(f"{job.path}/answers", json={"assignment": held[0]["id"], "label": "cat"})
    assert (sent.json()["counted"], sent.json()["reason"]["code"]) == (False, "audit")
    again = await job.http.post(f"{job.path}/answers", json={"assignment": held[0]["id"], "label": "cat"})
    assert again.json()["duplicate"] is True
    status = await job.status()
    assert (Decimal(status["spent"]), Decimal(status["reserved"])) == (42, 2)
    item = (await job.http.get(f"{job.path}/items/{held[0]['item']}")).json()
    assert item["votes"] == {"cat": 1, "dog": 0}
    audit = (await job.http.get(f"{job.path}/audits/1")).json()
    assert (audit["checked"], audit["right"]) == (1, 1)
    assert [one["worker"] for one in await pending(job, state="checked")] == ["expert"]
    skipped = await job.http.post(f"{job.path}/assignments/{held[1]['id']}/skip")
    assert skipped.status_code == 200, skipped.text
    assert Decimal((await job.status())["reserved"]) == 0
    while (work := await job.next("expert"))["status"] == "continue":
        assert work["assignments"][0]["item"] != held[1]["item"]
        one = {"assignment": work["assignments"][0]["id"], "label": "cat"}
        await job.http.post(f"{job.path}/answers", json=one)
    assert (await job.http.get(f"{job.path}/audits/1")).json()["state"] == "proven"
    assert work["status"] == "stop"


async def test_an_expired_lease_returns_its_audit_item_and_money(new_job, clock):
    job = await labeled(new_job, 10, lease_seconds=60)
    await trust(job, "a", "b")
    await begin(job, max_items=1)
    held = (await job.next("a"))["assignments"][0]
    waiting = await job.next("b")
    assert (waiting["status"], waiting["reason"]["code"]) == ("wait", "audit-leased")
    clock.advance(seconds=61)
    assert (await job.next("b"))["assignments"][0]["item"] == held["item"]
    assert Decimal((await job.status())["reserved"]) == 1


async def test_a_worker_does_not_audit_what_it_answered(new_job):
    job = await labeled(new_job, 3)
    await trust(job, "crowd")
    await begin(job)
    assert (await job.next("crowd"))["status"] == "stop"


async def test_sixteen_trusted_workers_share_the_sample_and_the_budget(new_job):
    job = await labeled(new_job, 60, budget="80")
    names = [f"t{n}" for n in range(16)]
    await trust(job, *names)
    await begin(job, min_accuracy=0.95, confidence=0.999)
    given: list[str] = []

    async def work(name: str) -> None:
        while (found := await job.next(name, count=2))["status"] == "continue":
            status = await job.status()
            assert Decimal(status["spent"]) + Decimal(status["reserved"]) <= 80
            for one in found["assignments"]:
                given.append(one["item"])
                sent = await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": "cat"})
                assert sent.status_code == 200, sent.text

    await asyncio.gather(*(work(name) for name in names))
    assert len(given) == len(set(given)) == 20
    status = await job.status()
    assert (Decimal(status["spent"]), Decimal(status["reserved"])) == (80, 0)
    found = await job.next("t1")
    assert (found["status"], found["reason"]["code"]) == ("stop", "budget-exhausted")


async def test_a_recount_does_not_make_votes_of_what_an_audit_found(new_job):
    job = await labeled(new_job, 1)
    await trust(job, "expert")
    await begin(job)
    (held,) = (await job.next("expert"))["assignments"]
    await job.http.post(f"{job.path}/answers", json={"assignment": held["id"], "label": "dog"})
    blocked = await job.http.post(f"{job.path}/workers/crowd/block", json={"votes": "remove"})
    assert blocked.status_code == 200
    item = (await job.http.get(f"{job.path}/items/i1")).json()
    assert (item["votes"], item["state"]) == ({"cat": 0, "dog": 0}, "open")


async def test_trusted_is_kept_and_can_be_taken_back(new_job):
    job = await new_job(1)
    await trust(job, "w")
    await job.http.post(f"{job.path}/workers/w/price", json={"price": "3"})
    assert (await job.http.get(f"{job.path}/workers/w")).json()["trusted"] is True
    await job.http.post(f"{job.path}/workers", json=[{"worker": "w", "trusted": False}])
    assert (await job.http.get(f"{job.path}/workers/w")).json()["trusted"] is False


async def test_a_deleted_job_takes_its_audits_along(new_job):
    job = await labeled(new_job, 5)
    await begin(job)
    assert (await job.http.delete(job.path)).status_code == 204
    assert (await job.http.get(f"{job.path}/audits")).json()["code"] == "job-unknown"


async def test_a_certificate_holds_while_another_audit_runs(new_job):
    """Nothing speaks against it until the second audit is decided."""
    job = await labeled(new_job, 60)
    audit = await begin(job, min_accuracy=0.8)
    while audit["state"] == "running":
        audit = (await check(job, await pending(job, limit=5))).json()
    certified = (await job.status())["trust"]
    assert (audit["state"], certified["state"]) == ("proven", "certified")
    await begin(job, min_accuracy=0.95)
    await check(job, await pending(job, "2", limit=2), "2")
    during = (await job.status())["trust"]
    assert {**during, "message": ""} == {**certified, "message": ""}
    assert "Audit 2 is running; items checked so far: 2." in during["message"]
    second = {"state": "running"}
    while second["state"] == "running":
        second = (await check(job, await pending(job, "2", limit=5), "2", label="dog")).json()
    assert second["state"] == "refuted"
    assert (await job.status())["trust"]["state"] == "measured"
