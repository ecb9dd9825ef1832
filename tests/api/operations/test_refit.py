"""Refits: automatic as answers arrive, or on request, while the job goes on."""

import asyncio
import random

import httpx
import pytest
from sqlalchemy import text

from app.main import create_app, shut_down
from app.settings import Settings
from tests.api.crowds import COUNT, CROWD, LABELS, all_answers, refit
from tests.depth import depth
from tests.waiting import finished

MANY = depth(150, 300)  # items


@pytest.mark.parametrize("kind", ["auto", "one-coin", "two-coin", "confusion"])
async def test_a_refit_finds_out_who_is_good(new_job, kind):
    """Good workers are distinguished from guessers, the liar is recognised, and labels follow the good workers."""
    job = await new_job(items=150, refit=None, **COUNT | {"worker_model": {"kind": kind}})
    truth = await all_answers(job, 150, CROWD)
    outcome = await refit(job)
    assert outcome["state"] == "done", outcome
    assert outcome["progress"] == 1
    assert outcome["outcome"]["answers"] == 900
    skill = {
        one["worker"]: one["skill"]["estimate"] for one in (await job.http.get(f"{job.path}/workers")).json()["workers"]
    }
    assert skill["good"] > skill["fair"] > max(skill["guess"], skill["coin"]) + 0.1
    assert skill["liar"] < 0.25
    right = sum(result["label"] == truth[result["item"]] for result in await job.results(limit=1000))
    assert right >= 0.95 * 150  # a majority of these six is right in about 86 %


async def test_it_is_automatic_at_growing_intervals(new_job):
    """At 20 answers, at 40, then whenever the answers have grown by half; the request that triggers it waits for it."""
    job = await new_job(items=60, refit={"first": 20, "growth": 0.5}, **COUNT)
    assert (await job.status())["next_refit_at"] == 20
    dues = []
    for number in range(1, 61):
        for worker in ("a", "b"):
            await job.answer(f"i{number}", worker, "cat")
            dues.append((await job.status())["next_refit_at"])
    assert sorted(set(dues)) == [20, 40, 60, 90, 135]
    operations = (await job.http.get(f"{job.path}/operations")).json()["operations"]
    assert [one["outcome"]["answers"] for one in operations] == [90, 60, 40, 20]
    assert {one["state"] for one in operations} == {"done"}


async def test_a_job_without_a_schedule_is_not_refitted(new_job):
    job = await new_job(items=50, refit=None, **COUNT)
    await all_answers(job, 50, CROWD)
    assert (await job.status())["next_refit_at"] is None
    assert (await job.http.get(f"{job.path}/operations")).json()["operations"] == []


async def test_a_refit_of_a_model_without_skills_changes_nothing(new_job):
    """Anonymous votes stay votes."""
    job = await new_job(items=20, **COUNT | {"worker_model": {"kind": "anonymous"}})
    await all_answers(job, 20, CROWD)
    before = [(await job.http.get(f"{job.path}/items/i{n}")).json() for n in range(1, 21)]
    assert (await refit(job))["state"] == "done"
    assert [(await job.http.get(f"{job.path}/items/i{n}")).json() for n in range(1, 21)] == before


async def test_closed_items_stay_closed_unless_the_job_lets_a_refit_reopen_them(new_job):
    """Guessers agreed on items that no longer seem certain after the refit."""
    states = {}
    for reopen in (False, True):
        settings = {"requirement": {"kind": "posterior", "min_probability": 0.9}, "worker_model": {"kind": "confusion"}}
        job = await new_job(items=200, refit={"first": 100_000, "reopen": reopen}, **settings)
        await all_answers(job, 200, dict.fromkeys(["p", "q", "r", "s"], 0.5), seed=3)
        before = (await job.status())["items"]
        assert (await refit(job))["state"] == "done"
        states[reopen] = (before["resolved"], (await job.status())["items"]["resolved"])
    assert states[False][1] >= states[False][0] > 50
    assert states[True][1] < states[True][0]


async def test_answers_during_a_refit_are_kept(new_job, database):
    """A crowd works during one refit after the other: in the end votes and money are those of the answers."""
    job = await new_job(items=depth(60, 120), budget="5000", refit={"first": 10_000}, **COUNT)
    busy = True

    async def work(number: int) -> None:
        while (ask := await job.next(f"w{number}", count=3))["status"] == "continue":
            for one in ask["assignments"]:
                await job.answer(one["item"], f"w{number}", LABELS[(int(one["item"][1:]) * (number + 1)) % 7 < 3])

    async def refit_again() -> int:
        rounds = 0
        while busy:
            assert (await refit(job))["state"] == "done"
            rounds += 1
        return rounds

    refitting = asyncio.create_task(refit_again())
    await asyncio.gather(*(work(number) for number in range(8)))
    busy = False
    assert await refitting >= 2
    async with database.connect() as connection:
        wrong = await connection.execute(
            text(
                "SELECT key FROM item i WHERE job_id = :job AND (SELECT sum(v) FROM unnest(votes) v) <> "
                "(SELECT count(*) FROM answer a WHERE a.job_id = i.job_id AND a.item_id = i.item_id AND counted)"
            ),
            {"job": job.id},
        )
        assert wrong.all() == []
        counted = await connection.execute(
            text(
                "SELECT j.spent, sum(a.cost), j.reserved, j.resolved, "
                "(SELECT count(*) FROM item i WHERE i.job_id = j.job_id AND i.state = 'resolved') "
                "FROM job j JOIN answer a USING (job_id) WHERE job_id = :job GROUP BY j.job_id"
            ),
            {"job": job.id},
        )
        spent, paid, reserved, resolved, found = counted.one()
    assert (spent, reserved, resolved) == (paid, 0, found)


async def test_a_richer_model_is_chosen_when_the_answers_support_it(new_job):
    """Three workers tend to say cat, three dog: two coins per worker predict that better than one."""
    job = await new_job(items=300, refit=None, **COUNT)
    assert (await job.status())["worker_model_in_force"]["kind"] == "one-coin"
    rng = random.Random(5)  # noqa: S311
    truth = {f"i{n}": rng.choice(LABELS) for n in range(1, 301)}
    says_cat = {worker: (0.97, 0.5) if number % 2 else (0.5, 0.03) for number, worker in enumerate("abcdef")}
    votes = [
        {"item": item, "worker": worker, "label": "cat" if rng.random() < chances[right == "dog"] else "dog"}
        for item, right in truth.items()
        for worker, chances in says_cat.items()
    ]
    for start in range(0, len(votes), 1000):
        await job.http.post(f"{job.path}/answers", json={"answers": votes[start : start + 1000]})
    outcome = await refit(job)
    assert outcome["outcome"]["worker_model"] == "two-coin"
    in_force = (await job.status())["worker_model_in_force"]
    assert in_force["kind"] == "two-coin"
    assert in_force["reason"]["code"] == "predicts-better"
    assert in_force["heldout_log_likelihood"]["two-coin"] > in_force["heldout_log_likelihood"]["one-coin"]
    right = sum(result["label"] == truth[result["item"]] for result in await job.results(limit=1000))
    assert right >= 0.9 * 300
    assert (await job.next("newcomer"))["status"] in {"continue", "stop"}
    assert (await refit(job))["outcome"]["worker_model"] == "two-coin"


async def test_a_refit_finds_out_who_copies(new_job):
    """Five of ten repeat a source that is wrong on two of five items; one accuracy per worker would trust them."""
    job = await new_job(items=MANY, refit=None, **COUNT | {"requirement": {"kind": "count", "labels": 10}})
    rng = random.Random(5)  # noqa: S311
    truth = {f"i{n}": rng.choice(LABELS) for n in range(1, MANY + 1)}
    other = {"cat": "dog", "dog": "cat"}
    source = {item: right if rng.random() < 0.6 else other[right] for item, right in truth.items()}
    votes = [
        {
            "item": item,
            "worker": worker,
            "label": source[item] if worker in "abcde" else right if rng.random() < 0.8 else other[right],
        }
        for item, right in truth.items()
        for worker in "abcdefghij"
    ]
    for start in range(0, len(votes), 1000):
        await job.http.post(f"{job.path}/answers", json={"answers": votes[start : start + 1000]})
    outcome = await refit(job)
    assert outcome["outcome"]["worker_model"] == "copied"
    in_force = (await job.status())["worker_model_in_force"]
    assert in_force["reason"]["code"] == "some-copy"
    assert in_force["reason"]["message"].startswith("5 of 10 workers seem to copy one source")
    right = sum(result["label"] == truth[result["item"]] for result in await job.results(limit=1000))
    assert right >= 0.9 * MANY  # five who are right with .8 are right together with .94
    workers = (await job.http.get(f"{job.path}/workers")).json()["workers"]
    skill = {one["worker"]: one["skill"]["estimate"] for one in workers}
    assert max(skill[worker] for worker in "abcde") < min(skill[worker] for worker in "fghij")
    first_five = {"sort": "-copying_probability", "limit": 5}
    suspects = (await job.http.get(f"{job.path}/workers", params=first_five)).json()["workers"]
    assert {one["worker"] for one in suspects if one["copying_probability"] > 0.9} == set("abcde")
    assert all(one["copying_probability"] < 0.1 for one in workers if one["worker"] in "fghij")


async def test_an_unknown_operation_is_a_404(new_job):
    job = await new_job()
    for name in ("1", "none", "9" * 30):
        response = await job.http.get(f"{job.path}/operations/{name}")
        assert (response.status_code, response.json()["code"]) == (404, "operation-unknown")
    assert (await job.http.post("/v1/jobs/none/refit")).status_code == 404


async def test_a_waiting_refit_is_not_doubled(new_job):
    """All requests during a running refit get the same next one."""
    job = await new_job(items=depth(250, 400), refit=None, **COUNT)
    await all_answers(job, depth(250, 400), CROWD)
    numbers = [(await job.http.post(f"{job.path}/refit")).json()["id"] for _ in range(6)]
    assert len(set(numbers)) <= 3
    for number in numbers:
        assert (await finished(job.http, f"{job.path}/operations/{number}"))["state"] == "done"


async def test_a_refit_that_a_crash_has_interrupted_runs_again(new_job, app, database):
    """The sweep finds an operation that is marked as running although no process runs it."""
    job = await new_job(items=20, refit=None, **COUNT)
    await all_answers(job, 20, CROWD)
    async with database.begin() as connection:
        await connection.execute(
            text(
                "INSERT INTO operation (job_id, operation_id, kind, state, progress, created_at) "
                "VALUES (:job, 1, 'refit', 'running', 0.4, now())"
            ),
            {"job": job.id},
        )
        await connection.execute(text("UPDATE job SET operations = 1 WHERE job_id = :job"), {"job": job.id})
    await app.state.services.runner.sweep()
    assert (await finished(job.http, f"{job.path}/operations/1"))["state"] == "done"


async def test_workers_who_join_during_a_change_of_the_model_go_on(new_job, app, monkeypatch):
    """A worker's first answers arrive during the fit that changes the model to two coins."""
    job = await new_job(items=300, refit=None, **COUNT | {"requirement": {"kind": "count", "labels": 9}})
    rng = random.Random(5)  # noqa: S311
    says_cat = {worker: (0.97, 0.5) if number % 2 else (0.5, 0.03) for number, worker in enumerate("abcdef")}
    votes = [
        {"item": f"i{n}", "worker": worker, "label": "cat" if rng.random() < chances[n % 2] else "dog"}
        for n in range(1, 301)
        for worker, chances in says_cat.items()
    ]
    for start in range(0, len(votes), 1000):
        await job.http.post(f"{job.path}/answers", json={"answers": votes[start : start + 1000]})
    process = app.state.services.runner.lanes["upkeep"].process
    fit = process.run

    async def meanwhile(*arguments):
        found = await fit(*arguments)
        for n in range(1, 4):
            await job.answer(f"i{n}", "newcomer", "cat")
        await job.http.post(f"{job.path}/items", json=[{"key": "late"}])
        await job.answer("late", "latecomer", "cat")
        return found

    monkeypatch.setattr(process, "run", meanwhile)
    assert (await refit(job))["outcome"]["worker_model"] == "two-coin"
    for worker in ("newcomer", "latecomer"):
        assert (await job.http.get(f"{job.path}/workers/{worker}")).status_code == 200
        assert (await job.next(worker))["status"] == "continue"
        assert (
            await job.http.post(f"{job.path}/answers", json={"item": "i9", "worker": worker, "label": "cat"})
        ).json()
    assert (await job.http.get(f"{job.path}/workers")).status_code == 200
    monkeypatch.undo()
    assert (await refit(job))["state"] == "done"


async def test_many_jobs_at_once_do_not_starve_each_other(database_url, clock):
    """More jobs need a refit than there are connections, and requests are still answered."""
    app = create_app(Settings(database_url=database_url, database_connections=2, log_level="error"), clock)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://suffice", timeout=30) as http:
        jobs = []
        for _ in range(6):
            body = {"labels": list(LABELS), "budget": None, "refit": None, **COUNT}
            jobs.append((await http.post("/v1/jobs", json=body)).json()["id"])
            await http.post(f"/v1/jobs/{jobs[-1]}/items", json=[{"key": f"i{n}"} for n in range(50)])
            votes = [{"item": f"i{n}", "worker": w, "label": "cat"} for n in range(50) for w in "abc"]
            await http.post(f"/v1/jobs/{jobs[-1]}/answers", json={"answers": votes})
        watched = [(await http.post(f"/v1/jobs/{job}/refit")).headers["location"] for job in jobs]
        started = asyncio.get_running_loop().time()
        for job in jobs:
            assert (await http.post(f"/v1/jobs/{job}/next", json={"worker": "w"})).status_code == 200
        assert asyncio.get_running_loop().time() - started < 5
        for path in watched:
            assert (await finished(http, path))["state"] == "done"
    await shut_down(app)
