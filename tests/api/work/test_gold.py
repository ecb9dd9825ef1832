"""Gold: items with a known label test workers, and look like all other items."""

import json
import random

import pytest
from sqlalchemy import text

from tests.api.crowds import refit
from tests.jobs import LEARNING
from tests.promises.invariants import broken_invariants

GOLD = {"first_share": 0.5, "last_share": 0.5}


async def with_gold(new_job, items: int = 40, gold: int = 20, **fields: object):
    job = await new_job(items=items, gold=GOLD, refit=None, seed=3, **LEARNING | fields)
    rows = [{"key": f"g{n}", "payload": {"n": n}, "gold": "cat" if n % 2 else "dog"} for n in range(1, gold + 1)]
    assert (await job.http.post(f"{job.path}/items", json=rows)).status_code == 201
    return job


async def work(job, worker: str, answers: int, right: float = 1.0, seed: int = 1) -> dict[str, dict]:
    """So many answers, gold right so often; what was told of each."""
    rng, told = random.Random(f"{worker}{seed}"), {}  # noqa: S311  a crowd is no secret
    for _ in range(answers):
        given = await job.next(worker)
        if given["status"] != "continue":
            break
        (one,) = given["assignments"]
        truth = "cat" if int(one["item"][1:]) % 2 else "dog"
        label = truth if rng.random() < right else {"cat": "dog", "dog": "cat"}[truth]
        response = await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": label})
        assert response.status_code == 200, response.text
        told[one["item"]] = {"assignment": one, "answer": response.json()}
    return told


async def profile(job, worker: str) -> dict:
    return (await job.http.get(f"{job.path}/workers/{worker}")).json()


async def test_gold_is_closed_from_the_start_and_not_part_of_what_is_open(new_job):
    job = await with_gold(new_job, items=3, gold=2)
    assert (await job.status())["items"] == {"open": 3, "resolved": 2, "given_up": 0}
    known = (await job.http.get(f"{job.path}/items/g1")).json()
    assert (known["state"], known["label"], known["reason"]["code"]) == ("resolved", "cat", "gold")
    assert known["confidence"] == 1


async def test_a_share_of_the_assignments_is_gold(new_job):
    """About half of forty under a share of a half, none twice, and the rest is work."""
    job = await with_gold(new_job)
    told = await work(job, "w", 40)
    gold = [item for item in told if item.startswith("g")]
    assert 12 <= len(gold) <= 20
    assert len(told) == 40
    seen = await profile(job, "w")
    assert (seen["gold"]["asked"], seen["gold"]["right"]) == (len(gold), len(gold))
    assert seen["scored_answers"] == len(gold)


@pytest.mark.parametrize("model", ["anonymous", "auto", "one-coin", "two-coin", "confusion", "weighted", "spam-filter"])
async def test_gold_looks_like_everything_else(new_job, model):
    """The same fields with the same kinds of values, the same words, the same codes: nothing tells them apart."""
    job = await with_gold(new_job, worker_model={"kind": model}, requirement={"kind": "posterior"})
    told = await work(job, "w", 30)
    kinds = {}
    for item, one in told.items():
        assignment, answer = one["assignment"], one["answer"]
        shape = {
            "why": assignment["why"]["code"],
            "fields": sorted(assignment) + sorted(answer),
            "cost": assignment["cost"],
            **{name: answer[name] for name in ("duplicate", "late", "counted", "verdict", "label")},
            "reason": answer["reason"]["code"],
        }
        kinds.setdefault(item[0], set()).add(json.dumps(shape))
    assert kinds["g"] == kinds["i"]


async def test_gold_teaches_about_the_worker_first(new_job):
    """A few gold answers distinguish the liar and the expert from a new worker, before any item is resolved."""
    job = await with_gold(new_job)
    await work(job, "expert", 20, right=1.0)
    await work(job, "liar", 20, right=0.0)
    assert (await profile(job, "expert"))["skill"]["low"] > 0.7
    assert (await profile(job, "liar"))["skill"]["high"] < 0.5


async def test_gold_does_not_touch_the_results(new_job):
    """Wrong answers, even many, do not change its label; they are still paid."""
    job = await with_gold(new_job, budget="100", items=10, gold=5)
    for worker in ("a", "b", "c"):
        await work(job, worker, 15, right=0.0)
    results = {one["item"]: one for one in await job.results()}
    assert all(results[f"g{n}"]["label"] == ("cat" if n % 2 else "dog") for n in range(1, 6))
    status = await job.status()
    assert float(status["spent"]) == status["answers"]
    assert status["items"]["resolved"] >= 5


async def test_an_answer_on_gold_that_nobody_asked_for_is_taken(new_job):
    job = await with_gold(new_job)
    response = await job.http.post(f"{job.path}/answers", json={"item": "g1", "worker": "w", "label": "cat"})
    assert response.status_code == 200
    assert (await profile(job, "w"))["gold"] == {"asked": 1, "right": 1, "accuracy": 1.0}


async def test_guessers_are_found_by_gold_alone(new_job):
    """No item need ever be resolved: the test counts gold."""
    job = await with_gold(new_job, items=100, gold=60, spammers={"min_answers": 20, "alpha": 0.3})
    await work(job, "coin", 90, right=0.5, seed=5)
    assert (await profile(job, "coin"))["status"] == "blocked"
    assert (await job.next("coin"))["reason"]["code"] == "worker-blocked"


AUTO = {"min_confidence": 0.9, "recheck": 1.0}


async def resolve(job, item: str, label: str, *workers: str) -> None:
    for worker in workers:
        await job.answer(item, worker, label)


async def gold_rows(database, job) -> dict[str, bool]:
    async with database.connect() as connection:
        found = await connection.execute(
            text("SELECT key, promoted FROM item WHERE job_id = :job AND gold IS NOT NULL"), {"job": job.id}
        )
        return {row.key: row.promoted for row in found}


async def test_the_crowd_makes_gold_of_what_is_beyond_doubt(new_job, database):
    """Only where a job allows it, and only far above the requirement."""
    for auto_gold, min_labels, expected in ((None, 3, {}), ({}, 3, {}), ({"min_confidence": 0.95}, 3, {"i1": True})):
        fields = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.9}, "refit": None}
        job = await new_job(items=2, auto_gold=auto_gold, min_labels=min_labels, **fields)
        await resolve(job, "i1", "cat", "a", "b", "c")  # .955
        await resolve(job, "i2", "cat", "a", "b", "c")
        assert (await job.status())["items"]["resolved"] == 2
        found = await gold_rows(database, job)
        assert found.get("i1") == expected.get("i1")


async def test_a_check_that_differs_demotes_the_item(new_job, database):
    """With a recheck of 1 every answer on a promoted item is held against the item, and not against the worker."""
    fields = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.9}, "refit": None, "gold": GOLD}
    job = await new_job(items=30, auto_gold=AUTO, seed=9, **fields)
    await resolve(job, "i1", "cat", "a", "b", "c")
    await resolve(job, "i2", "dog", "a", "b", "c")
    promoted = await gold_rows(database, job)
    assert promoted
    assert all(promoted.values())
    checked = set()
    for _ in range(25):
        (one,) = (await job.next("fresh"))["assignments"]
        label = "dog" if one["item"] in promoted else "cat"
        await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": label})
        checked |= {one["item"]} & promoted.keys()
    assert checked == promoted.keys()
    left = await gold_rows(database, job)
    refuted = {"i1"} & checked  # on i2 the answer agreed
    assert not refuted & left.keys()
    assert {"i2"} & checked <= left.keys()
    assert (await profile(job, "fresh"))["gold"]["asked"] == 0
    assert (await job.status())["items"]["resolved"] >= 1


async def test_nobody_is_asked_again_what_his_own_vote_decided(new_job, database):
    """Gold that the crowd made goes only to workers who did not make it."""
    fields = LEARNING | {"requirement": {"kind": "posterior", "min_probability": 0.9}, "refit": None}
    job = await new_job(items=20, auto_gold={"min_confidence": 0.9}, gold={"first_share": 1, "last_share": 1}, **fields)
    for n in range(1, 6):
        await resolve(job, f"i{n}", "cat", "a", "b", "c")
    promoted = await gold_rows(database, job)
    assert promoted
    given = (await job.next("a", count=15))["assignments"]
    assert not {one["item"] for one in given} & promoted.keys()
    others = (await job.next("fresh", count=3))["assignments"]
    assert {one["item"] for one in others} & promoted.keys()


async def test_a_demoted_item_is_resolved_again(new_job, database):
    """Who was tested on it is not held to its new label as well: nobody has more decided answers than answers."""
    fields = {"requirement": {"kind": "ratio", "min_ratio": 4}, "max_votes_per_label": None, "refit": None, "seed": 5}
    share = {"first_share": 1, "last_share": 1}
    job = await new_job(items=1, gold=share, auto_gold={"min_confidence": 0.9, "recheck": 0.25}, **fields)
    await resolve(job, "i1", "cat", "a", "b", "c")
    await job.http.post(f"{job.path}/items", json=[{"key": f"j{n}"} for n in range(40)])
    for n in range(40):
        (one,) = (await job.next(f"t{n}"))["assignments"]
        if one["item"] != "i1":
            break
        await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": "dog"})
    assert (await job.http.get(f"{job.path}/items/i1")).json()["state"] == "open"
    assert n >= 1
    for n in range(20):
        answer = {"item": "i1", "worker": f"z{n}", "label": "dog"}
        response = await job.http.post(f"{job.path}/answers", json=answer)
        assert response.status_code == 200, response.text
        if response.json()["verdict"] == "stop":
            break
    assert (await job.http.get(f"{job.path}/items/i1")).json()["label"] == "dog"
    assert await broken_invariants(database, job.id) == {}


async def test_gold_does_not_outlive_the_votes_that_made_it(new_job, database):
    """Its makers are blocked and their votes removed: the item is open, and nobody is tested on it."""
    fields = {"requirement": {"kind": "ratio", "min_ratio": 4}, "refit": None}
    job = await new_job(items=1, auto_gold={"min_confidence": 0.9}, gold={"first_share": 1, "last_share": 1}, **fields)
    await resolve(job, "i1", "cat", "a", "b", "c")
    assert await gold_rows(database, job) == {"i1": True}
    for worker in ("a", "b", "c"):
        await job.http.post(f"{job.path}/workers/{worker}/block", json={"votes": "remove"})
    story = (await job.http.get(f"{job.path}/items/i1")).json()
    assert (story["state"], story["votes"]) == ("open", {"cat": 0, "dog": 0})
    assert await gold_rows(database, job) == {}
    (one,) = (await job.next("honest"))["assignments"]
    await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": "dog"})
    assert (await profile(job, "honest"))["gold"]["asked"] == 0


async def test_a_job_without_labels_does_not_deny_its_gold(new_job):
    """It has compared answers with the truth, although no item but gold has a label."""
    job = await with_gold(new_job, items=1, gold=12)
    for item in (f"g{n}" for n in range(1, 13)):
        for worker in ("a", "b"):
            await job.answer(item, worker, "cat" if int(item[1:]) % 2 else "dog")
    assert (await refit(job))["state"] == "done"
    trust = (await job.status())["trust"]
    assert (trust["state"], trust["claimed"], trust["checked"]) == ("unverified", None, 12)
    assert "right on 12 of 12 items of known truth" in trust["message"]


async def test_items_that_the_crowd_made_gold_may_be_sent_again(new_job, database):
    """A requester who repeats an upload has changed nothing, whatever the crowd has found since."""
    job = await new_job(items=2, auto_gold=AUTO, **LEARNING | {"requirement": {"kind": "count", "labels": 4}})
    await resolve(job, "i1", "cat", "a", "b", "c", "d")
    assert await gold_rows(database, job) == {"i1": True}
    rows = [{"key": f"i{n}", "payload": {"n": n}, "cost": "1"} for n in (1, 2)]
    again = await job.http.post(f"{job.path}/items", json=rows)
    assert (again.status_code, again.json().get("unchanged")) == (201, 2)
    other = await job.http.post(f"{job.path}/items", json=[rows[0] | {"gold": "cat"}])
    assert (other.status_code, other.json()["code"]) == (409, "item-conflict")
