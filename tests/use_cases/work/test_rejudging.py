"""A new requirement judges every item by its answers, as if the job had been created with it."""

from collections import Counter
from uuid import UUID

import pytest
from sqlalchemy import text

from app.store.jobs import lock_job
from app.use_cases.work import rejudging

RATIO = {"kind": "ratio", "min_ratio": 4}
ANSWERS = (
    "",
    "c",
    "cc",
    "cd",
    "dc",
    "ccc",
    "ccd",
    "cdc",
    "cccc",
    "cdcc",
    "ccdd",
    "cdcdc",
    "ccdcc",
    "cccccc",
    "cdcdcd",
    *["cc"] * 4,
)
REQUIREMENTS = [
    {"kind": "ratio", "min_ratio": 2.5},
    {"kind": "ratio", "min_ratio": 6},
    {"kind": "significance", "alpha": 0.2},
    {"kind": "margin", "c": 1.2, "epsilon": 0.1},
    {"kind": "margin", "c": 2, "epsilon": 0.2, "rounding": "random"},
    {"kind": "posterior", "min_probability": 0.9},
    {"kind": "profit", "value": 300, "loss": 60},
    {"kind": "count", "labels": 4},
    {"kind": "all", "of": [{"kind": "count", "labels": 3}, {"kind": "posterior", "min_probability": 0.8}]},
    {"kind": "any", "of": [{"kind": "count", "labels": 5}, {"kind": "ratio", "min_ratio": 5}]},
]


async def answered(new_job, requirement: dict, answers=ANSWERS, **fields):
    """A job whose n-th item got the n-th answers, or as many of them as it would take."""
    job = await new_job(costs=["1", "2"] * (len(answers) // 2) + ["3"], requirement=requirement, **fields)
    sent = [
        {"item": f"i{n}", "worker": f"w{turn}", "label": {"c": "cat", "d": "dog"}[label]}
        for n, labels in enumerate(answers, start=1)
        for turn, label in enumerate(labels)
    ]
    results = (await job.http.post(f"{job.path}/answers", json={"answers": sent})).json()["results"]
    refused = {sent[n]["item"] for n, result in enumerate(results) if not result["accepted"]}
    return job, refused


async def wrong_sums(database, job) -> list[str]:
    """The job's counters that differ from what its items and assignments add up to."""
    sums = {
        "items": "(SELECT count(*) FROM item WHERE job_id = :job)",
        "resolved": "(SELECT count(*) FROM item WHERE job_id = :job AND state = 'resolved')",
        "given_up": "(SELECT count(*) FROM item WHERE job_id = :job AND state = 'given_up')",
        "reserved": "(SELECT coalesce(sum(cost), 0) FROM assignment WHERE job_id = :job AND state = 'live')",
        "progress": "(SELECT sum(progress) FROM item WHERE job_id = :job)",
    }
    differences = ", ".join(f"abs({name} - {query}) AS {name}" for name, query in sums.items())
    async with database.connect() as connection:
        row = await connection.execute(
            text(f"SELECT {differences} FROM job WHERE job_id = :job"), {"job": UUID(job.id)}
        )
    return [name for name, difference in row.mappings().one().items() if difference > 1e-9]


async def decisions(job) -> dict[str, dict]:
    items = (await job.http.get(f"{job.path}/items", params={"limit": 1000})).json()["items"]
    return {row["key"]: row for row in items}


async def set_requirement(job, requirement: dict) -> dict:
    response = await job.http.patch(job.path, json={"requirement": requirement})
    assert response.status_code == 200, response.text
    return response.json()


def near(one: dict) -> dict:
    return one | {"confidence": pytest.approx(one["confidence"], abs=1e-12)}


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: f"{requirement}"[:40])
@pytest.mark.parametrize("allocation", ["information", "requallo"])
async def test_the_bar_may_as_well_have_been_there_from_the_start(new_job, database, requirement, allocation):
    """Items with the same answers get the same decision, whether the requirement is changed or there from the start."""
    settings = {"max_labels": 6, "seed": 5, "allocation": {"kind": allocation}}
    changed, refused_before = await answered(new_job, RATIO, **settings)
    created, refused_after = await answered(new_job, requirement, **settings)
    before = await decisions(changed)
    status = await set_requirement(changed, requirement)
    after, expected = await decisions(changed), await decisions(created)
    alike = expected.keys() - refused_before - refused_after
    assert len(alike) >= 5
    assert {key: after[key] for key in alike} == {key: near(expected[key]) for key in alike}
    assert {key for key in alike if after[key] != before[key]}
    assert status["items"] == {"open": 0, "resolved": 0, "given_up": 0} | Counter(
        row["state"] for row in after.values()
    )
    assert await wrong_sums(database, changed) == []


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=lambda requirement: f"{requirement}"[:40])
async def test_there_and_back_leaves_no_trace(new_job, requirement):
    job, _ = await answered(new_job, RATIO, max_labels=6)
    before, status = await decisions(job), await job.status()
    await set_requirement(job, requirement)
    back = await set_requirement(job, RATIO)
    assert await decisions(job) == {key: near(row) for key, row in before.items()}
    assert back == status | {"completeness": pytest.approx(status["completeness"], abs=1e-12)}


@pytest.mark.parametrize("model", ["one-coin", "two-coin", "weighted"])
async def test_what_the_worker_model_keeps_is_enough(new_job, database, model):
    """Also where an item's evidence is as long as its answers, and differs from row to row."""
    answers = ("", "c", "cc", "cd", "ccd")  # none of which closes an item under either bar
    settings = {"worker_model": {"kind": model}, "seed": 5}
    changed, _ = await answered(new_job, {"kind": "ratio", "min_ratio": 9}, answers, **settings)
    created, _ = await answered(new_job, {"kind": "ratio", "min_ratio": 5}, answers, **settings)
    await set_requirement(changed, {"kind": "ratio", "min_ratio": 5})
    assert await decisions(changed) == {key: near(row) for key, row in (await decisions(created)).items()}
    assert await wrong_sums(database, changed) == []


async def test_a_lower_bar_resolves_and_a_higher_one_reopens(new_job):
    job, _ = await answered(new_job, RATIO, ("cc", "ccc", "ccc"))
    assert (await job.status())["items"] == {"open": 1, "resolved": 2, "given_up": 0}
    assert (await set_requirement(job, {"kind": "ratio", "min_ratio": 3}))["state"] == "done"
    status = await set_requirement(job, {"kind": "ratio", "min_ratio": 5})
    assert (status["state"], status["items"]["open"]) == ("running", 3)
    assert (await job.answer("i2", "w9", "cat")).json()["verdict"] == "stop"


async def test_a_given_up_item_gets_another_chance(new_job):
    job, _ = await answered(new_job, {"kind": "count", "labels": 2}, ("cd", "c", "c"))
    assert (await decisions(job))["i1"]["reason"]["code"] == "tie"
    await set_requirement(job, {"kind": "count", "labels": 3})
    assert (await decisions(job))["i1"]["state"] == "open"


async def test_leases_on_items_that_close_are_honoured(new_job, database):
    job, _ = await answered(new_job, {"kind": "ratio", "min_ratio": 9}, ("ccc", "c", "c"), budget="20")
    for worker in ("x1", "x2"):
        await job.next(worker, count=3)
    await set_requirement(job, RATIO)
    row = (await decisions(job))["i1"]
    assert (row["state"], row["open_assignments"], row["max_open_assignments"]) == ("resolved", 2, 0)
    assert (await job.answer("i1", "x1", "dog")).json()["label"] == "cat"
    assert await wrong_sums(database, job) == []


async def test_the_same_requirement_again_judges_nothing(new_job):
    """A verdict stands though a lease brought another vote: only a new bar may take it back."""
    job = await new_job(items=1, budget="10", requirement=RATIO)
    await job.next("slow")
    for worker in ("w1", "w2", "w3"):
        await job.answer("i1", worker, "cat")
    await job.answer("i1", "slow", "dog")
    await set_requirement(job, RATIO)
    assert (await decisions(job))["i1"]["state"] == "resolved"
    await set_requirement(job, {"kind": "ratio", "min_ratio": 3.9})
    assert (await decisions(job))["i1"]["state"] == "open"


async def skills(database, job) -> dict[str, list[float]]:
    async with database.connect() as connection:
        query = text("SELECT worker, skill FROM worker WHERE job_id = :job")
        return {row.worker: row.skill for row in await connection.execute(query, {"job": UUID(job.id)})}


@pytest.mark.parametrize("model", ["spam-filter", "weighted"])
async def test_items_that_become_resolved_tell_about_their_workers(new_job, database, model):
    """As if the last answer had resolved them; reopening takes nothing back."""
    answers = ("ccd", "ccc", "dcc")
    settings = {"worker_model": {"kind": model}}
    changed, _ = await answered(new_job, {"kind": "count", "labels": 4}, answers, **settings)
    created, _ = await answered(new_job, {"kind": "count", "labels": 3}, answers, **settings)
    await set_requirement(changed, {"kind": "count", "labels": 3})
    expected = await skills(database, created)
    assert len(expected) == 3
    assert await skills(database, changed) == expected
    await set_requirement(changed, {"kind": "count", "labels": 4})
    assert await skills(database, changed) == expected


async def test_a_budget_moves_priorities_where_they_hang_on_it(new_job, client):
    """CrowdBudget splits the whole budget: twice the money is twice the quota, also for what was added before."""
    costs = ["1", "2", "0.5"]
    changed = await new_job(costs=costs, budget="10", allocation={"kind": "crowdbudget"}, seed=1)
    created = await new_job(costs=costs, budget="20", allocation={"kind": "crowdbudget"}, seed=1)
    for job in (changed, created):
        await job.answer("i1", "w1", "cat")
        await job.next("w2", count=2)
    assert await decisions(changed) != await decisions(created)
    await client.patch(changed.path, json={"budget": "20"})
    assert await decisions(changed) == await decisions(created)


async def test_new_items_move_priorities_where_they_hang_on_all_costs(new_job, database):
    """Items added in two parts stand as those added at once, when the first are judged again after the second."""
    allocation = {"kind": "crowdbudget"}
    once = await new_job(costs=["1", "2", "0.5", "4"], budget="40", allocation=allocation)
    twice = await new_job(costs=["1", "2"], budget="40", allocation=allocation)
    rows = [{"key": f"i{n}", "payload": {"n": n}, "cost": cost} for n, cost in ((3, "0.5"), (4, "4"))]
    await twice.http.post(f"{twice.path}/items", json=rows)
    async with database.begin() as connection:
        await rejudging.rejudge_job(connection, await lock_job(connection, UUID(twice.id)))
    assert await decisions(twice) == await decisions(once)


async def test_pages_make_no_difference(new_job, database, monkeypatch):
    monkeypatch.setattr(rejudging, "_PAGE", 4)
    small, _ = await answered(new_job, RATIO, max_labels=6)
    await set_requirement(small, {"kind": "ratio", "min_ratio": 3})
    monkeypatch.undo()
    whole, _ = await answered(new_job, RATIO, max_labels=6)
    await set_requirement(whole, {"kind": "ratio", "min_ratio": 3})
    assert await decisions(small) == await decisions(whole)
    assert await wrong_sums(database, small) == []


async def test_a_change_that_fails_midway_leaves_everything(new_job, database, monkeypatch):
    """Nothing half done; and the next attempt on the same connection works."""
    job, _ = await answered(new_job, RATIO)
    before, status = await decisions(job), await job.status()

    async def fails(*_arguments):
        raise OSError("the database went away")

    monkeypatch.setattr(rejudging, "save_ledger", fails)
    assert (await job.http.patch(job.path, json={"requirement": REQUIREMENTS[0]})).status_code == 503
    monkeypatch.undo()
    assert (await decisions(job), await job.status()) == (before, status)
    await set_requirement(job, REQUIREMENTS[0])
    assert await decisions(job) != before
    assert await wrong_sums(database, job) == []
