"""Workers of a tier without a name (Abraham et al., SIGIR 2016, section 6): the platform says who came."""

import csv
import io
from uuid import UUID

import numpy as np
import pytest

from app.store.job_history import read_history
from tests.api.crowds import refit
from tests.promises.invariants import broken_invariants
from tests.waiting import finished

# The paper's time-varying weights with 10 % updates.
TIERS = {"kind": "tiers", "tiers": {"average": {}, "good": {"growth": 1.1}, "bad": {"growth": 0.9}}}
OPEN = {"worker_model": TIERS, "requirement": {"kind": "count", "labels": 9}, "refit": None}
SAID = [("good", "cat"), ("bad", "dog"), ("good", "cat"), ("bad", "dog"), (None, "dog")]


def weights(said: list[tuple[str | None, str]]) -> list[float]:
    """By hand, lambda gamma^(t - 1): for cat and dog, and the sum of the squares."""
    growth = {"good": 1.1, "bad": 0.9, "average": 1.0, None: 1.0}
    each = [(growth[tier] ** turn, label) for turn, (tier, label) in enumerate(said)]
    return [*(sum(w for w, said in each if said == label) for label in ("cat", "dog")), sum(w**2 for w, _ in each)]


async def ask(job, **body: object) -> dict:
    response = await job.http.post(f"{job.path}/next", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def send(job, **body: object):
    return await job.http.post(f"{job.path}/answers", json=body)


async def anonymous_answers(job, said: list[tuple[str | None, str]] = SAID) -> None:
    for tier, label in said:
        (one,) = (await ask(job, **({"tier": tier} if tier else {})))["assignments"]
        assert one["worker"] is None
        assert (await send(job, assignment=one["id"], label=label)).status_code == 200


async def state_of(job, database, key: str = "i1") -> list[float]:
    async with database.connect() as connection:
        driver = (await connection.get_raw_connection()).driver_connection
        query = "SELECT model_state FROM item WHERE job_id = $1 AND key = $2"
        return await driver.fetchval(query, UUID(job.id), key)


async def test_an_assignment_of_a_tier_is_weighed_by_it(new_job, database):
    job = await new_job(items=1, **OPEN)
    await anonymous_answers(job)
    assert await state_of(job, database) == pytest.approx(weights(SAID))
    assert await broken_invariants(database, job.id) == {}


async def test_an_answer_of_a_named_worker_may_have_a_tier_of_its_own(new_job, database):
    """It counts for this answer; without one, the registered tier counts."""
    job = await new_job(items=1, **OPEN)
    assert (await job.http.post(f"{job.path}/workers", json=[{"worker": "w1", "tier": "bad"}])).status_code == 200
    await job.answer("i1", "w0", "cat")
    await job.answer("i1", "w1", "dog")
    assert (await send(job, item="i1", worker="w2", label="cat", tier="good")).status_code == 200
    assert await state_of(job, database) == pytest.approx(weights([(None, "cat"), ("bad", "dog"), ("good", "cat")]))


async def test_refits_and_recounts_see_the_tier(new_job, database):
    job = await new_job(items=1, **OPEN)
    await job.answer("i1", "eve", "dog")
    await anonymous_answers(job)
    with_eve = weights([(None, "dog"), *SAID])
    assert (await refit(job))["state"] == "done"
    assert await state_of(job, database) == pytest.approx(with_eve)
    assert (await job.http.post(f"{job.path}/workers/eve/block", json={})).status_code == 200
    assert (await refit(job))["state"] == "done"
    assert await state_of(job, database) == pytest.approx(weights(SAID))
    assert (await job.http.post(f"{job.path}/workers/eve/unblock")).status_code == 200
    assert (await refit(job))["state"] == "done"
    assert await state_of(job, database) == pytest.approx(with_eve)


async def test_each_anonymous_answer_is_a_worker_of_its_own_in_the_history(new_job, database):
    job = await new_job(items=2, **OPEN)
    await job.answer("i1", "eve", "dog")
    await anonymous_answers(job)
    assert (await send(job, item="i2", worker="eve", label="cat", tier="good")).status_code == 200
    async with database.connect() as connection:
        votes = (await read_history(connection, UUID(job.id))).votes
    assert len(np.unique(votes.worker)) == len(votes.worker) == 7
    assert [votes.tiers.get(worker) for worker in votes.worker.tolist()] == [None, *(tier for tier, _ in SAID), "good"]
    for aggregation in ("dawid-skene", "majority", "model"):
        assert len(await job.results(aggregation=aggregation)) == 2


async def test_the_answers_are_listed_with_their_tiers(new_job):
    job = await new_job(items=1, **OPEN)
    await anonymous_answers(job)
    listed = (await job.http.get(f"{job.path}/answers")).json()["answers"]
    assert [one["tier"] for one in listed] == [tier for tier, _ in SAID]
    table = (await job.http.get(f"{job.path}/answers", headers={"Accept": "text/csv"})).text
    assert [row["tier"] for row in csv.DictReader(io.StringIO(table))] == [tier or "" for tier, _ in SAID]
    plain = await new_job(items=1)
    await plain.answer("i1", "w", "cat")
    assert "tier" not in (await plain.http.get(f"{plain.path}/answers")).json()["answers"][0]


async def test_the_same_answer_again_is_a_duplicate_and_another_tier_a_conflict(new_job):
    job = await new_job(items=1, **OPEN)
    (one,) = (await ask(job, tier="good"))["assignments"]
    first = {"assignment": one["id"], "label": "cat"}
    assert not (await send(job, **first)).json()["duplicate"]
    for again in (first, first | {"tier": "good"}):
        assert (await send(job, **again)).json()["duplicate"]
    other = await send(job, **first, tier="bad")
    assert (other.status_code, other.json()["errors"][0]) == (
        422,
        {"pointer": "#/tier", "message": "Must be 'good', or left out"},
    )
    named = {"item": "i1", "worker": "w", "label": "cat"}
    assert (await send(job, **named, tier="good")).status_code == 200
    assert (await send(job, **named)).json()["duplicate"]
    other = await send(job, **named, tier="bad")
    assert (other.status_code, other.json()["code"]) == (409, "answer-conflict")
    assert "came with the tier 'good', not 'bad'" in other.json()["detail"]


@pytest.mark.parametrize(
    ("model", "words"),
    [(TIERS, "Must be one of 'average', 'good', 'bad'"), ({"kind": "auto"}, "'auto', which has no tiers. Leave")],
)
async def test_an_unknown_tier_is_refused(new_job, model, words):
    """Alone, and among others that are taken."""
    job = await new_job(items=2, worker_model=model)
    answer = {"item": "i1", "worker": "w", "label": "cat"}
    for path, body in (("next", {"tier": "expert"}), ("answers", answer | {"tier": "expert"})):
        refused = await job.http.post(f"{job.path}/{path}", json=body)
        assert refused.status_code == 422, refused.text
        (error,) = refused.json()["errors"]
        assert error["pointer"] == "#/tier"
        assert words in error["message"]
    sent = {"answers": [answer | {"tier": "expert"}, answer]}
    bad, good = (await job.http.post(f"{job.path}/answers", json=sent)).json()["results"]
    assert bad["error"]["errors"][0]["pointer"] == "#/answers/0/tier"
    assert good["accepted"]


async def test_a_tier_beside_several_workers_is_refused(new_job):
    job = await new_job(items=1, **OPEN)
    refused = await job.http.post(f"{job.path}/next", json={"workers": ["a", "b"], "tier": "good"})
    assert refused.json()["errors"][0]["pointer"] == "#/tier"


async def test_an_answer_without_name_and_assignment_is_refused(new_job):
    """Sent again, it would count twice."""
    job = await new_job(items=1, **OPEN)
    refused = await send(job, item="i1", label="cat", tier="good")
    assert refused.status_code == 422
    assert "Must have `assignment`, or both `item` and `worker`" in refused.json()["errors"][0]["message"]


async def test_in_a_job_that_chooses_a_tier_says_who_came(new_job):
    job = await new_job(items=1, **OPEN | {"worker_choice": {"kind": "ucb"}})
    assert (await ask(job))["reason"]["code"] == "no-workers"
    (one,) = (await ask(job, tier="good"))["assignments"]
    assert one["worker"] is None


async def test_a_forecast_takes_a_job_with_tiers(new_job):
    job = await new_job(items=6, **OPEN)
    await anonymous_answers(job)
    response = await job.http.post(f"{job.path}/forecast")
    assert response.status_code == 202, response.text
    assert (await finished(job.http, response.headers["location"]))["state"] == "done"
