"""Answers that were recorded elsewhere: imported as NDJSON or CSV, all or none, and judged in the background."""

import asyncio
import json
from datetime import UTC, datetime
from uuid import UUID

import httpx
import numpy as np
import pytest
from sqlalchemy import text

from app.domain.item import STATE_AFTER
from app.use_cases.history.import_answers import AnswerDraft, import_answers
from tests.api.crowds import CROWD, LABELS, all_answers, refit
from tests.jobs import ANSWERS, KINDS, LEARNING, JobClient
from tests.promises.invariants import broken_invariants
from tests.promises.replay import Replay, history_of
from tests.waiting import finished

CSV, NDJSON = "text/csv", "application/x-ndjson"


async def send(job: JobClient, body: str | bytes, media: str = CSV) -> httpx.Response:
    return await job.http.post(f"{job.path}/answers", content=body, headers={"Content-Type": media})


async def imported(job: JobClient, body: str | bytes, media: str = CSV) -> dict:
    """Import answers, wait until they are judged, and return the response."""
    response = await send(job, body, media)
    assert response.status_code == 201, response.text
    found = response.json()
    if found["operation"] is not None:
        ended = await finished(job.http, f"{job.path}/operations/{found['operation']}")
        assert ended["state"] == "done", ended
    return found


async def exported(job: JobClient) -> str:
    return (await job.http.get(f"{job.path}/answers", headers={"Accept": CSV})).text


async def items_of(job: JobClient) -> list[dict]:
    return (await job.http.get(f"{job.path}/items", params={"limit": 1000})).json()["items"]


def csv_of(rows: list[tuple[str, str, str]]) -> str:
    return "item,worker,label\n" + "".join(f"{','.join(row)}\n" for row in rows)


@pytest.mark.parametrize("media", [CSV, NDJSON])
async def test_recorded_answers_count_like_others(new_job, database, media):
    """They are votes, they cost nothing, items become resolved by them, and a repeated import changes nothing."""
    job = await new_job(items=4, requirement={"kind": "count", "labels": 3}, budget="1")
    rows = [(f"i{n}", worker, "cat") for n in (1, 2) for worker in "abc"] + [("i3", "a", "dog")]
    body = csv_of(rows)
    if media == NDJSON:
        body = "".join(json.dumps(dict(zip(("item", "worker", "label"), row, strict=True))) + "\n" for row in rows)
    assert await imported(job, body, media) == {"added": 7, "unchanged": 0, "operation": "1"}
    assert [(one["state"], one["votes"]["cat"], one["votes"]["dog"]) for one in await items_of(job)] == [
        *[("resolved", 3, 0)] * 2,
        *[("open", 0, 1), ("open", 0, 0)],
    ]
    assert await imported(job, body, media) == {"added": 0, "unchanged": 7, "operation": None}
    assert await broken_invariants(database, job.id, at_rest=True) == {}
    again = await job.answer("i1", "a", "cat")
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert (await job.answer("i1", "a", "dog")).json()["code"] == "answer-conflict"
    assert (await job.answer("i3", "b", "dog")).status_code == 200  # the job goes on
    assert await broken_invariants(database, job.id, at_rest=True) == {}


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_exported_can_be_imported(new_job, database, kind):
    """Every kind of answer: another job ends with the same answers, times and votes as from one answer at a time."""
    first, second = [await new_job(items=6, **KINDS[kind] | {"max_votes_per_label": None}) for _ in range(2)]
    for number in range(18):
        said = await first.say(f"i{number % 6 + 1}", f"w{number // 6}", **ANSWERS[kind](number * 7 // 3))
        assert said.status_code in {200, 409}, said.text
    body = await exported(first)
    await refit(first)  # as after an import
    await imported(second, body)
    assert sorted((await exported(second)).splitlines()) == sorted(body.splitlines())
    assert await broken_invariants(database, second.id, at_rest=True) == {}
    before, after = await items_of(first), await items_of(second)
    for name in ("key", "votes", "confidence", "state"):
        assert [one[name] for one in after] == [one[name] for one in before], name


@pytest.mark.parametrize(
    "model",
    [{"kind": "anonymous"}, {"kind": "tiers"}],
    ids=lambda it: it["kind"],
)
async def test_items_end_as_the_engine_says(new_job, database, model):
    """Where nothing is learned about workers, every item is as after the same answers one by one, in their order."""
    requirement = {"kind": "ratio"} if model["kind"] == "anonymous" else {"kind": "posterior"}
    aggregation = {"kind": "majority"} if model["kind"] == "anonymous" else {"kind": "model"}
    job = await new_job(items=12, worker_model=model, requirement=requirement, aggregation=aggregation)
    tiers = [""] if model["kind"] == "anonymous" else ["good", "bad", ""]
    lines = [
        f"i{n},w{w},{LABELS[(n * w) % 5 % 2]}{',' + tiers[(n + w) % 3] if tiers[1:] else ''}\n"
        for w in range(7)
        for n in range(1, 13)
    ]
    await imported(job, f"item,worker,label{',tier' if tiers[1:] else ''}\n" + "".join(lines))
    history = await history_of(database, job.id)
    engine, skill_of = history.engine, history.policy.worker_model
    for item in history.items:
        context = Replay(engine, [item]).context[item.item_id]
        state = engine.initial(context)
        for answer in (one for one in history.answers if one.item_id == item.item_id):
            skill = skill_of.skill_of(answer.tier) if answer.tier else engine.newcomer()
            state, _ = engine.learn(state, context, skill[None, :], np.array([answer.label]))
        judged = engine.judge(state, context)
        verdict = engine.verdict(judged, 0)
        assert state.votes[0].tolist() == item.votes
        assert state.model_state[0].tolist() == pytest.approx(item.model_state)
        assert (verdict.label, STATE_AFTER[verdict.decision]) == (item.label, item.state)
        assert (judged.confidence[0], judged.priority[0]) == pytest.approx((item.confidence, item.priority))


async def test_skills_are_learned_from_them(new_job, database):
    """A refit of the same answers finds the same skills, whichever way they came."""
    live, moved = [
        await new_job(items=60, refit=None, **LEARNING | {"requirement": {"kind": "count", "labels": 6}})
        for _ in range(2)
    ]
    await all_answers(live, 60, CROWD)
    await imported(moved, await exported(live))
    await refit(live)
    skills = []
    for job in (live, moved):
        workers = (await job.http.get(f"{job.path}/workers")).json()["workers"]
        skills.append({one["worker"]: (one["answers"], one["skill"]["estimate"]) for one in workers})
        assert await broken_invariants(database, job.id, at_rest=True) == {}
    assert skills[1] == {name: (n, pytest.approx(estimate, abs=1e-3)) for name, (n, estimate) in skills[0].items()}


@pytest.mark.parametrize(
    ("rows", "status", "code", "line"),
    [
        ([("i1", "a", "cat"), ("i9", "a", "cat")], 404, "item-unknown", 3),
        ([("i1", "a", "cat"), ("i1", "b", "horse")], 422, "label-unknown", 3),
        ([("i1", "a", "cat"), ("i1", "a", "dog")], 409, "answer-conflict", 3),
        ([("i1", "b", "cat"), ("i1", "known", "dog")], 409, "answer-conflict", 3),
        ([("i1", "b", "cat"), ("i1", "", "dog")], 422, "invalid", 3),
        ([("i1", "b", "cat"), ("i1", "c", "")], 422, "invalid", 3),
    ],
)
async def test_one_wrong_line_refuses_all(new_job, database, rows, status, code, line):
    job = await new_job(items=2)
    await job.answer("i1", "known", "cat")
    refused = await send(job, csv_of(rows))
    assert refused.status_code == status, refused.text
    problem = refused.json()
    assert code in problem["code"]
    assert f"Line {line}" in problem["errors"][0]["message"]
    assert len((await exported(job)).splitlines()) == 2  # the header and the answer before
    async with database.connect() as connection:
        waiting = text("SELECT count(*) FROM imported_answers WHERE job_id = :job")
        assert await connection.scalar(waiting, {"job": UUID(job.id)}) == 0


async def test_the_first_twenty_errors_are_named(new_job):
    job = await new_job(items=1)
    problem = (await send(job, csv_of([(f"x{n}", "a", "cat") for n in range(30)]))).json()
    assert len(problem["errors"]) == 20
    assert problem["errors"][19]["pointer"] == "#/19/item"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("item,label\ni1,cat\n", "column 'worker'"),
        ("item,worker\ni1,a\n", "'label', 'labels' or 'value'"),
        ("item,worker,label,colour\ni1,a,cat,red\n", "'colour' is unknown"),
        ("item,worker,label,answered_at\ni1,a,cat,yesterday\n", "Line 2, column 'answered_at'"),
        ("item,worker,label\ni1,a,cat,dog\n", "4 cells"),
        ("", "column 'item'"),
        ("item,worker,label\n", "at least one answer"),
    ],
)
async def test_a_table_that_cannot_be_read(new_job, body, message):
    problem = await send(await new_job(items=1), body)
    assert problem.status_code == 422
    assert message in problem.text


async def test_the_times_of_the_file_stay(new_job):
    job = await new_job(items=3)
    times = ["2020-03-01T00:00:00Z", "2019-03-01T00:00:00Z", "2021-03-01T00:00:00Z"]
    await imported(job, "item,worker,label,answered_at\n" + "".join(f"i{n},a,cat,{times[n - 1]}\n" for n in (1, 2, 3)))
    only = {"since": "2020-01-01T00:00:00Z", "until": "2020-12-31T00:00:00Z"}
    found = (await job.http.get(f"{job.path}/answers", params=only)).json()["answers"]
    assert [one["item"] for one in found] == ["i1"]


async def test_who_holds_what_the_file_answers_holds_it_no_longer(new_job, database):
    job = await new_job(items=1, budget="5")
    given = (await job.next("a"))["assignments"]
    await imported(job, csv_of([("i1", "a", "cat")]))
    assert await broken_invariants(database, job.id, at_rest=True) == {}
    again = await job.http.post(f"{job.path}/answers", json={"assignment": given[0]["id"], "label": "cat"})
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert (await job.next("a"))["assignments"] == []


async def test_gold_tests_workers(new_job):
    job = await new_job()
    await job.http.post(f"{job.path}/items", json=[{"key": "g", "gold": "cat"}, {"key": "i1"}])
    await imported(job, csv_of([("g", "a", "cat"), ("g", "b", "dog"), ("i1", "a", "cat")]))
    workers = (await job.http.get(f"{job.path}/workers")).json()["workers"]
    gold = {one["worker"]: (one["answers"], one["gold"]["asked"], one["gold"]["right"]) for one in workers}
    assert gold == {"a": (2, 1, 1), "b": (1, 1, 0)}


async def test_the_votes_of_a_blocked_worker_do_not_count(new_job, database):
    job = await new_job(items=2)
    await job.http.post(f"{job.path}/workers/bad/block", json={"votes": "remove"})
    await imported(job, csv_of([("i1", "bad", "dog"), ("i1", "a", "cat")]))
    assert (await items_of(job))[0]["votes"] == {"cat": 1, "dog": 0}
    assert await broken_invariants(database, job.id, at_rest=True) == {}


async def test_two_imports_at_once_add_every_answer_once(new_job, database):
    job = await new_job(items=300, requirement={"kind": "count", "labels": 4})
    body = csv_of([(f"i{n}", worker, "cat") for n in range(1, 301) for worker in "abc"])
    found = await asyncio.gather(imported(job, body), imported(job, body))
    assert sorted(one["added"] for one in found) == [0, 900]
    assert len((await exported(job)).splitlines()) == 901
    assert await broken_invariants(database, job.id, at_rest=True) == {}


async def test_workers_answer_meanwhile(new_job, database):
    """Live answers are recorded between the pages; where both say something, the first answer stays."""
    job = await new_job(items=1500, requirement={"kind": "count", "labels": 20}, max_votes_per_label=None)
    body = csv_of([(f"i{n}", f"w{worker}", LABELS[n % 2]) for n in range(1, 1501) for worker in range(10)])
    over = asyncio.Event()

    async def live(worker: str) -> int:
        answered = 0
        while not over.is_set():
            for one in (await job.next(worker, 5))["assignments"]:
                sent = {"assignment": one["id"], "label": LABELS[int(one["item"][1:]) % 2]}
                response = await job.http.post(f"{job.path}/answers", json=sent)
                assert response.status_code == 200, response.text
                answered += not response.json()["duplicate"]
                assert await broken_invariants(database, job.id) == {}
        return answered

    working = [asyncio.create_task(live(f"w{n}")) for n in (3, 4, 99)]
    added = (await imported(job, body))["added"]
    over.set()
    answered = sum(await asyncio.gather(*working))
    recorded = len((await exported(job)).splitlines()) - 1
    assert 15_000 <= recorded <= added + answered
    assert answered > 0
    assert await broken_invariants(database, job.id) == {}


async def test_an_item_whose_answers_wait_cannot_be_deleted(new_job, database):
    job = await new_job(items=1)
    draft = AnswerDraft("i1", "a", None, "cat", None, None, None, 1)
    await import_answers(database, UUID(job.id), iter([[draft]]), datetime.now(UTC))
    refused = await job.http.delete(f"{job.path}/items/i1")
    assert (refused.status_code, refused.json()["code"]) == (409, "item-has-answers")
