"""What audits find teaches a job how often its labels are right."""

import random

from tests.api.audits.auditing import begin, pending, trust
from tests.api.crowds import refit
from tests.jobs import LEARNING, JobClient
from tests.waiting import eventually

CROWD = ("ann", "bob", "cleo", "dan", "eve", "finn")


async def answered(new_job, items: int, *, wrong: float, **fields: object) -> tuple[JobClient, dict[str, str]]:
    """A default job whose workers are good, and all take the same share of the items for the other class."""
    rng = random.Random(3)  # noqa: S311  a crowd is no secret
    job = await new_job(items, **LEARNING | fields)
    apparent = {f"i{n}": rng.choice(["cat", "dog"]) for n in range(1, items + 1)}
    other = {"cat": "dog", "dog": "cat"}
    truth = {key: other[label] if rng.random() < wrong else label for key, label in apparent.items()}
    while (await job.status())["state"] == "running":
        for worker in CROWD:
            for one in (await job.next(worker, count=20))["assignments"]:
                seen = apparent[one["item"]]
                label = seen if rng.random() < 0.95 else other[seen]
                sent = await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": label})
                assert sent.status_code == 200, sent.text
    return job, truth


async def audited(job: JobClient, truth: dict[str, str], **fields: object) -> dict:
    """The audit, after somebody who knows the truth has checked its items until it is decided."""
    audit = await begin(job, **fields)
    while audit["state"] == "running":
        items = await pending(job, audit["id"], limit=5)
        body = [{"item": one["item"], "label": truth[one["item"]]} for one in items]
        audit = (await job.http.post(f"{job.path}/audits/{audit['id']}/answers", json=body)).json()
    return audit


async def refits(job: JobClient) -> list[dict]:
    """The refits that are finished."""
    found = (await job.http.get(f"{job.path}/operations")).json()["operations"]
    return [one for one in found if one["kind"] == "refit" and one["state"] == "done"]


async def test_a_refuted_audit_makes_the_job_doubt_its_labels(new_job):
    """A fifth of the items deceives everybody. No answer shows that; the audit does, and the job acts on it."""
    job, truth = await answered(new_job, 100, wrong=0.2)
    before = await job.status()
    assert before["items"]["resolved"] > 90
    done = len(await refits(job))
    audit = await audited(job, truth, min_accuracy=0.95)
    assert audit["state"] == "refuted"

    async def refitted() -> bool:
        return len(await refits(job)) > done

    await eventually(refitted)
    assert len(await refits(job)) == done + 1
    after = await job.status()
    assert after["next_refit_at"] > after["answers"]
    assert after["items"]["resolved"] < 0.3 * before["items"]["resolved"]
    shown = (await job.http.get(f"{job.path}/items/{next(iter(truth))}")).json()
    assert shown["confidence"] < 0.95


async def test_a_proven_audit_leaves_the_labels_as_they_are(new_job):
    """Nor do answers of trusted workers bring the next refit nearer: a fit would learn nothing from them."""
    job, truth = await answered(new_job, 100, wrong=0.0)
    await trust(job, "expert")
    before = await job.status()
    done = len(await refits(job))
    await begin(job, min_accuracy=0.9)
    while (work := await job.next("expert"))["status"] == "continue":
        assert work["assignments"][0]["why"]["code"] == "audit"
        one = work["assignments"][0]
        sent = await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": truth[one["item"]]})
        assert sent.json()["reason"]["code"] == "audit"
    after = await job.status()
    assert (after["trust"]["state"], after["items"]) == ("certified", before["items"])
    assert after["answers"] > before["answers"]
    assert after["next_refit_at"] - after["answers"] == before["next_refit_at"] - before["answers"]
    assert len(await refits(job)) == done


async def test_the_next_refit_learns_from_audits_of_any_outcome(new_job):
    """A claim may be proven although it is modest; the truth about the items is known all the same."""
    job, truth = await answered(new_job, 100, wrong=0.2)
    audit = await audited(job, truth, min_accuracy=0.6, confidence=0.8, max_items=60)
    assert audit["state"] == "proven"
    assert audit["checked"] >= 10
    believed = {one["item"]: one["confidence"] for one in await job.results(state="resolved", limit=1000)}
    assert (await refit(job))["state"] == "done"
    told = {one["item"]: one["confidence"] for one in await job.results(limit=1000)}
    assert all(told[item] < confidence for item, confidence in believed.items())


async def test_a_worker_who_is_trusted_no_longer_is_paid_and_not_believed(new_job):
    job, truth = await answered(new_job, 20, wrong=0.0)
    await trust(job, "expert")
    await begin(job)
    held = (await job.next("expert"))["assignments"][0]
    await job.http.post(f"{job.path}/workers", json=[{"worker": "expert", "trusted": False}])
    spent = float((await job.status())["spent"])
    body = {"assignment": held["id"], "label": truth[held["item"]]}
    sent = (await job.http.post(f"{job.path}/answers", json=body)).json()
    assert (sent["counted"], sent["reason"]["code"]) == (False, "audit")
    assert "no longer trusted" in sent["reason"]["message"]
    assert float((await job.status())["spent"]) == spent + 1
    assert (await job.http.get(f"{job.path}/audits/1")).json()["checked"] == 0
    await trust(job, "other")
    assert (await job.next("other"))["assignments"][0]["item"] == held["item"]


async def test_the_next_job_starts_with_what_the_audit_has_shown(new_job, client):
    """The same answers mean less in a job that knows how the same crowd erred before; it stays unverified."""
    source, truth = await answered(new_job, 100, wrong=0.2)
    assert (await audited(source, truth, min_accuracy=0.6, confidence=0.8, max_items=60))["checked"] >= 10
    assert (await refit(source))["state"] == "done"
    fresh = await new_job(3, **LEARNING | {"min_labels": 4})
    heir = await new_job(3, reputation=source.id, **LEARNING | {"min_labels": 4})
    assert (await client.delete(source.path)).status_code == 204
    found = []
    for job in (fresh, heir):
        for worker in ("new", "newer", "newest", "last"):
            answer = await job.answer("i1", worker, "cat")
        found.append((answer.json()["confidence"], answer.json()["reason"]["message"]))
    assert found[1][0] < found[0][0] - 0.05
    assert "an earlier job" in found[1][1]
    assert (await refit(heir))["state"] == "done"
    item = (await heir.http.get(f"{heir.path}/items/i1")).json()
    assert item["confidence"] < found[0][0] - 0.03
    told = (await heir.status())["trust"]
    assert (told["state"], told["by"], told["checked"], told["accuracy"]) == ("unverified", None, 0, None)
