"""Priors as opinions of a source, and accuracies that are stated beforehand, over HTTP."""

import pytest

from tests.jobs import LEARNING
from tests.waiting import eventually

SURE = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.99}}


async def worker(job, name: str) -> dict:
    response = await job.http.get(f"{job.path}/workers/{name}")
    assert response.status_code == 200, response.text
    return response.json()


async def item(job, key: str) -> dict:
    return (await job.http.get(f"{job.path}/items/{key}")).json()


async def add(job, *keys: str, cat: float = 0.9) -> None:
    rows = [{"key": key, "prior": {"cat": cat, "dog": 1 - cat}} for key in keys]
    response = await job.http.post(f"{job.path}/items", json=rows)
    assert response.status_code == 201, response.text


async def refit(job) -> None:
    path = (await job.http.post(f"{job.path}/refit")).json()["id"]

    async def done() -> bool:
        return (await job.http.get(f"{job.path}/operations/{path}")).json()["state"] == "done"

    await eventually(done)


async def test_the_source_is_a_worker_and_its_answer_replaces_its_prior(new_job):
    """An item whose source answers is as if it had no prior."""
    job = await new_job(prior_source="gpt", **SURE)
    assert (await job.status())["prior_source"] == "gpt"
    await add(job, "a", "b", "plain")
    await job.http.post(f"{job.path}/items", json=[{"key": "none"}])
    assert (await worker(job, "gpt"))["answers"] == 0
    for key in ("a", "none"):
        await job.answer(key, "w1", "cat")
        await job.answer(key, "gpt", "cat")
    with_prior, without = await item(job, "a"), await item(job, "none")
    assert with_prior["posterior"]["cat"] == pytest.approx(without["posterior"]["cat"], abs=0.01)
    assert (await worker(job, "gpt"))["answers"] == 2


async def test_a_refit_judges_untouched_items_by_the_source_s_skill(new_job):
    """A source that is wrong on what people answer is believed less about what nobody has answered."""
    job = await new_job(refit=None, **SURE)
    await add(job, *(f"k{n}" for n in range(40)), "untouched")
    before = (await item(job, "untouched"))["posterior"]["cat"]
    for n in range(40):
        for name in ("w1", "w2", "w3"):
            await job.answer(f"k{n}", name, "dog" if n % 2 else "cat")
    await refit(job)
    after = (await item(job, "untouched"))["posterior"]["cat"]
    assert before > 0.65
    assert after < 0.6
    assert (await worker(job, "prior"))["skill"]["estimate"] < 0.65


async def test_the_priors_of_a_blocked_source_do_not_count(new_job):
    job = await new_job(refit=None, **SURE)
    await add(job, "answered", "untouched")
    await job.answer("answered", "w1", "cat")
    before = [(await item(job, key))["posterior"]["cat"] for key in ("answered", "untouched")]
    await job.http.post(f"{job.path}/workers/prior/block", json={})
    blocked = [(await item(job, key))["posterior"]["cat"] for key in ("answered", "untouched")]
    assert blocked[1] == pytest.approx(0.5)
    assert 0.5 < blocked[0] < before[0]
    await job.http.post(f"{job.path}/workers/prior/unblock")
    again = [(await item(job, key))["posterior"]["cat"] for key in ("answered", "untouched")]
    assert again == pytest.approx(before, abs=0.01)  # the answer has the weight of its worker's present skill


@pytest.mark.parametrize("kind", ["auto", "one-coin", "two-coin", "confusion", "weighted"])
async def test_a_stated_accuracy_counts_at_once_and_in_refits(new_job, kind):
    job = await new_job(items=3, **LEARNING | {"worker_model": {"kind": kind}})
    entry = {"worker": "expert", "price": "10", "accuracy": 0.98}
    response = await job.http.post(f"{job.path}/workers", json=[entry])
    assert response.status_code == 200, response.text
    shown = await worker(job, "expert")
    assert (shown["accuracy"], shown["accuracy_weight"]) == (0.98, 20)
    assert shown["skill"]["estimate"] == pytest.approx(0.98)
    by_expert = (await job.answer("i1", "expert", "cat")).json()
    by_new = (await job.answer("i2", "w1", "cat")).json()
    assert by_expert["confidence"] > by_new["confidence"] or kind == "weighted"
    await refit(job)
    assert (await worker(job, "expert"))["skill"]["estimate"] > 0.95


async def test_what_answers_have_shown_stays_when_an_accuracy_is_stated(new_job):
    job = await new_job(items=30, refit=None, **SURE)
    for n in range(1, 31):
        for name in ("x", "y"):
            await job.answer(f"i{n}", name, "cat")
        await job.answer(f"i{n}", "w", "dog")
    before = (await worker(job, "w"))["skill"]["estimate"]
    for _ in range(2):  # the second time changes nothing
        await job.http.post(f"{job.path}/workers", json=[{"worker": "w", "accuracy": 0.9, "accuracy_weight": 10}])
        after = (await worker(job, "w"))["skill"]["estimate"]
        assert before < after < 0.6


@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"accuracy": 1}, "accuracy"),
        ({"accuracy": 0}, "accuracy"),
        ({"accuracy": 0.9, "accuracy_weight": 0}, "accuracy_weight"),
        ({"accuracy_weight": 5}, "accuracy_weight"),
    ],
)
async def test_what_cannot_be_an_accuracy_is_refused(new_job, entry, field):
    job = await new_job(**LEARNING)
    refused = await job.http.post(f"{job.path}/workers", json=[{"worker": "w"} | entry])
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == f"#/0/{field}"


async def test_a_qualification_counts_in_the_test_of_a_spam_filter(new_job):
    """20 questions answered at 50 % do not reject guessing (p = 1), so votes do not count; at 95 % they do."""
    job = await new_job(items=1, worker_model={"kind": "spam-filter"})
    entries = [{"worker": "coin", "accuracy": 0.5}, {"worker": "good", "accuracy": 0.95}]
    assert (await job.http.post(f"{job.path}/workers", json=entries)).status_code == 200
    assert not (await job.answer("i1", "coin", "cat")).json()["counted"]
    assert (await job.answer("i1", "good", "dog")).json()["counted"]
    assert (await worker(job, "good"))["skill"]["estimate"] == pytest.approx(20 / 22, abs=1e-4)


@pytest.mark.parametrize(
    ("kind", "advice"), [("anonymous", "Leave `accuracy` out"), ("tiers", "State the worker's `tier` instead")]
)
async def test_a_model_without_skills_takes_no_accuracy(new_job, kind, advice):
    job = await new_job(worker_model={"kind": kind})
    refused = await job.http.post(f"{job.path}/workers", json=[{"worker": "w", "accuracy": 0.9}])
    assert refused.status_code == 422
    assert f"keeps no accuracy of workers. {advice}" in refused.json()["errors"][0]["message"]


async def test_a_prior_over_many_labels_takes_a_model_that_is_fast_enough(new_job, client):
    labels = [f"l{number}" for number in range(51)]
    prior = {"l0": 0.6, "l7": 0.4}
    slow = await new_job(labels=labels, worker_model={"kind": "one-coin"}, aggregation={"kind": "model"})
    refused = await client.post(f"{slow.path}/items", json=[{"key": "i1", "prior": prior}])
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "#/0/prior")
    assert "'auto' takes them with any number" in refused.json()["errors"][0]["message"]
    fast = await new_job(labels=labels, worker_model={"kind": "auto"}, aggregation={"kind": "model"})
    assert (await client.post(f"{fast.path}/items", json=[{"key": "i1", "prior": prior}])).status_code == 201
