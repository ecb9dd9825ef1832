"""Choice: the best item for the worker who asks, or the best of the available workers."""

import random
import time
from collections import Counter

import numpy as np
import pytest

from app.policy.core.belief import ItemContext, State
from app.policy.worker_choice.base import SHORTLIST
from tests.jobs import LEARNING
from tests.promises.replay import history_of

COUNT = LEARNING | {"requirement": {"kind": "count", "labels": 3}, "refit": None}


async def register(job, *workers: dict) -> None:
    response = await job.http.post(f"{job.path}/workers", json=list(workers))
    assert response.status_code == 200, response.text


async def ask(job, **body: object) -> dict:
    response = await job.http.post(f"{job.path}/next", json=body)
    assert response.status_code == 200, response.text
    return response.json()


async def teach(job, worker: str, right: int, wrong: int) -> None:
    """The worker agrees with two others on so many items, and differs on so many."""
    for number in range(1, right + wrong + 1):
        item = f"i{number}"
        for other in ("x", "y"):
            await job.answer(item, other, "cat")
        await job.answer(item, worker, "cat" if number <= right else "dog")


@pytest.mark.parametrize("allocation", ["information", "requallo"])
async def test_a_worker_gets_what_is_best_for_that_worker(new_job, database, allocation):
    """Of the first in the queue that are new to the worker, the one that the engine values most with that skill."""
    fields = {"worker_model": {"kind": "confusion"}, "allocation": {"kind": allocation}, "refit": None}
    job = await new_job(items=60, requirement={"kind": "posterior", "min_probability": 0.999}, **fields)
    rng = random.Random(2)  # noqa: S311  a crowd is no secret
    for worker, cats in (("x", 0.5), ("sees cats", 0.9), ("y", 0.3), ("sees dogs", 0.1)):
        for number in rng.sample(range(1, 61), 35):
            await job.answer(f"i{number}", worker, "cat" if rng.random() < cats else "dog")
    differs = 0
    for worker in ("x", "y", "sees cats", "sees dogs"):
        expected, first = await best_of_the_shortlist(database, job, worker)
        assert (await ask(job, worker=worker))["assignments"][0]["item"] == expected
        differs += expected != first
    assert differs  # the queue's own order is not everybody's


async def best_of_the_shortlist(database, job, worker: str) -> tuple[str, str]:
    """By the engine, from the rows: the best of the first, and the very first."""
    history = await history_of(database, job.id)
    seen = {answer.item_id for answer in history.answers if answer.worker == worker}
    seen |= {lease.item_id for lease in history.assignments if lease.worker == worker}
    new = [item for item in history.items if item.state == "open" and item.open_assignments < item.max_open_assignments]
    queue = sorted((one for one in new if one.item_id not in seen), key=lambda one: (-one.priority, one.tie_break))
    shortlist, engine = queue[:SHORTLIST], history.engine
    state = State(*(np.array([getattr(one, name) for one in shortlist], float) for name in ("votes", "model_state")))
    worth = engine.value_for(
        state, ItemContext.plain(len(shortlist)), np.tile(history.skills[worker], (len(shortlist), 1))
    )
    return shortlist[int(worth.argmax())].key, queue[0].key


async def test_of_those_who_are_there_the_index_picks_the_best(new_job):
    """Eight of eight before four of eight; new workers come first."""
    job = await new_job(items=80, worker_choice={"kind": "ucb"}, **COUNT | {"worker_model": {"kind": "anonymous"}})
    await teach(job, "good", 8, 0)
    for number in range(9, 17):
        for other in ("x", "y"):
            await job.answer(f"i{number}", other, "cat")
        await job.answer(f"i{number}", "bad", "cat" if number % 2 else "dog")
        await job.answer(f"i{number}", "z", "cat")
    picked = await ask(job, workers=["bad", "good"])
    assert [one["worker"] for one in picked["assignments"]] == ["good"]
    with_a_newcomer = await ask(job, workers=["bad", "new"])
    assert [one["worker"] for one in with_a_newcomer["assignments"]] == ["new"]


async def test_asking_again_returns_what_they_hold_together(new_job):
    """`count` is how many they should hold together: a lost response does no harm."""
    job = await new_job(items=20, worker_choice={"kind": "pair"}, max_assignments_per_worker=2, **COUNT)
    first = await ask(job, workers=["a", "b"], count=3)
    assert [one["worker"] for one in first["assignments"]].count("a") in {1, 2}
    assert await ask(job, workers=["a", "b"], count=3) == first | {
        "reason": {"code": "assigned", "message": "3 assignments already held."}
    }
    more = await ask(job, workers=["a", "b"], count=4)
    assert more["assignments"][:3] == first["assignments"]
    assert len(more["assignments"]) == 4


async def test_nobody_who_is_chosen_holds_too_much(new_job):
    """With two each, two workers take four; then the answer is to wait."""
    job = await new_job(items=20, worker_choice={"kind": "ucb"}, max_assignments_per_worker=2, **COUNT)
    await register(job, {"worker": "a"}, {"worker": "b"})
    given = [await ask(job) for _ in range(4)]
    assert sorted(one["worker"] for each in given for one in each["assignments"]) == ["a", "a", "b", "b"]
    full = await ask(job)
    assert (full["status"], full["reason"]["code"], full["assignments"]) == ("wait", "workers-busy", [])
    busy = await ask(job, workers=["a", "b"], count=9)
    assert len(busy["assignments"]) == 4
    await job.answer(given[0]["assignments"][0]["item"], given[0]["assignments"][0]["worker"], "cat")
    assert (await ask(job))["status"] == "continue"


async def test_without_registered_workers_the_answer_says_what_is_missing(new_job):
    job = await new_job(items=2, worker_choice={"kind": "pair"}, **COUNT)
    empty = await ask(job)
    assert (empty["status"], empty["reason"]["code"]) == ("wait", "no-workers")
    assert "register" in empty["reason"]["message"]
    assert empty["retry_after"] >= 1


async def test_a_pair_is_bought_by_value_per_cost(new_job):
    """Of two equally known workers the cheaper is asked; at a thousandth of the price, even the worse."""
    job = await new_job(items=30, worker_choice={"kind": "pair"}, **COUNT)
    await register(job, {"worker": "dear", "price": "2"}, {"worker": "cheap", "price": "0.05"})
    given = await ask(job, count=2)
    assert {one["worker"] for one in given["assignments"]} == {"cheap"}
    assert {one["cost"] for one in given["assignments"]} == {"0.05"}


async def test_the_pull_takes_those_who_are_there_in_their_order(new_job):
    job = await new_job(items=5, **COUNT)
    given = await ask(job, workers=["second", "first"], count=1)
    assert given["assignments"][0]["worker"] == "second"


async def test_the_blocked_are_not_chosen(new_job):
    job = await new_job(items=5, worker_choice={"kind": "ucb"}, **COUNT)
    await register(job, {"worker": "a"}, {"worker": "b"})
    await job.http.post(f"{job.path}/workers/a/block", json={})
    for _ in range(3):
        assert [one["worker"] for one in (await ask(job))["assignments"]] == ["b"]
    blocked = await ask(job, workers=["a"])
    assert (blocked["status"], blocked["reason"]["code"]) == ("stop", "worker-blocked")


async def test_who_is_chosen_never_gets_an_item_twice(new_job):
    """Until the job is done, by four workers who are chosen, within the budget."""
    job = await new_job(items=12, worker_choice={"kind": "pair"}, budget="40", **COUNT)
    await register(job, *({"worker": name, "price": "0.5"} for name in "abcd"))
    rng, seen = random.Random(4), set()  # noqa: S311  a crowd is no secret
    while (given := await ask(job, count=3))["status"] == "continue":
        for one in given["assignments"]:
            assert (one["item"], one["worker"]) not in seen
            seen.add((one["item"], one["worker"]))
            await job.answer(one["item"], one["worker"], rng.choice(["cat", "cat", "dog"]))
    assert given["reason"]["code"] == "all-resolved"
    assert len(seen) == 36
    status = await job.status()
    assert (status["spent"], status["reserved"]) == ("18", "0")


@pytest.mark.parametrize(
    "body", [{"worker": "a", "workers": ["b"]}, {"workers": []}, {"workers": ["a"] * 201}, {"workers": [""]}]
)
async def test_a_request_that_cannot_be_meant_is_refused(new_job, body):
    job = await new_job(items=1)
    response = await job.http.post(f"{job.path}/next", json=body)
    assert response.status_code == 422
    assert response.json()["errors"][0]["pointer"].startswith("#")


async def test_skills_are_brought_along(new_job, client):
    """A job with the reputation of another begins with what that one has learned, where that makes sense."""
    source = await new_job(items=60, **COUNT)
    await teach(source, "good", 30, 0)
    skill = (await source.http.get(f"{source.path}/workers/good")).json()["skill"]
    target = await new_job(items=5, reputation=source.id, **COUNT)
    assert (await target.http.get(f"{target.path}/workers/good")).json()["skill"] == skill
    assert (await target.status())["reputation"] == source.id
    for fields in (
        {"labels": ["dog", "cat"]},
        {"worker_model": {"kind": "one-coin"}},
        {"reputation": "00000000-0000-0000-0000-000000000000"},
    ):
        body = {"labels": ["cat", "dog"], "budget": None, "reputation": source.id} | COUNT | fields
        refused = await client.post("/v1/jobs", json=body)
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["pointer"] == "#/reputation"


async def test_a_reputation_counts_in_a_refit(new_job):
    """Who was good elsewhere is trusted here after a refit with a handful of answers."""
    source = await new_job(items=60, **COUNT)
    await teach(source, "good", 40, 0)
    target = await new_job(items=5, reputation=source.id, **COUNT)
    for worker in ("good", "new"):
        await target.answer("i1", worker, "cat")
    assert (await target.http.post(f"{target.path}/refit")).status_code == 202
    for _ in range(200):
        operation = (await target.http.get(f"{target.path}/operations/1")).json()
        if operation["state"] == "done":
            break
    found = {
        one["worker"]: one["skill"]["estimate"]
        for one in (await target.http.get(f"{target.path}/workers")).json()["workers"]
        if one["skill"]
    }
    assert found["good"] > found["new"] + 0.05


async def test_whoever_is_left_is_found(new_job):
    """However many of the most promising have seen what is open: a hundred workers, one item, seventy answers."""
    fields = {"requirement": {"kind": "count", "labels": 70}, "max_votes_per_label": None}
    job = await new_job(items=1, worker_choice={"kind": "ucb"}, **fields)
    await register(job, *({"worker": f"w{n:03}"} for n in range(100)))
    asked = []
    while (given := await ask(job))["status"] == "continue":
        asked += [one["worker"] for one in given["assignments"]]
        await job.answer("i1", asked[-1], "cat")
    assert given["reason"]["code"] == "all-resolved"
    assert len(set(asked)) == len(asked) == 70


async def test_a_large_team_does_not_hold_up_everybody(new_job):
    """Two hundred workers and thirty labels are valued away from the event loop.

    Measured by processor time, because on busy cores the clock also counts other processes.
    """
    labels = [f"l{n}" for n in range(30)]
    job = await new_job(items=60, labels=labels, worker_choice={"kind": "pair"}, **LEARNING | {"refit": None})
    loop, everything = time.thread_time(), time.process_time()
    given = await ask(job, workers=[f"w{n}" for n in range(200)], count=5)
    loop, everything = time.thread_time() - loop, time.process_time() - everything
    assert len(given["assignments"]) == 5
    assert everything - loop > everything / 5  # measured: half; nothing if it is done on the loop


async def test_a_trial_is_asked_first_and_says_so(new_job):
    """A few of forty items get three answers each before any other has one: there an answer is valued 20 times."""
    fields = {"requirement": {"kind": "count", "labels": 4}, "worker_choice": {"kind": "pair", "trial": 0.2}, "seed": 4}
    job = await new_job(items=40, **fields)
    asked: Counter[str] = Counter()
    priorities: set[float] = set()
    while True:
        lease = (await ask(job, workers=[f"w{number}" for number in range(6)]))["assignments"][0]
        if "asked first" not in lease["why"]["message"]:
            break
        asked[lease["item"]] += 1
        priorities.add(lease["why"]["priority"])
        await job.answer(lease["item"], lease["worker"], "cat")
    assert 3 < len(asked) < 15
    assert set(asked.values()) == {3}
    assert min(priorities) > lease["why"]["priority"] > 0


async def test_second_opinions_are_drawn_at_random_and_say_so(new_job):
    """From as many answers as items on, half of the turns where the job says so, and of many people; never unasked."""
    workers = [f"w{number}" for number in range(8)]
    for share, least, most in ((0.5, 35, 65), (0, 0, 0)):
        choice = {"kind": "pair", "trial": 0, "second_opinions": share}
        job = await new_job(items=20, requirement={"kind": "count", "labels": 8}, worker_choice=choice, seed=4)
        others = []
        for answer in range(120):
            lease = (await ask(job, workers=workers))["assignments"][0]
            if "second opinion" in lease["why"]["message"]:
                assert answer >= 20
                others.append(lease["worker"])
            await job.answer(lease["item"], lease["worker"], "dog" if lease["worker"] == "w0" else "cat")
        assert least <= len(others) <= most
        assert not others or len(set(others)) > 4


async def test_second_opinions_are_a_share(client):
    """Anything else is refused by name."""
    job = {"labels": ["cat", "dog"], "budget": None, "worker_choice": {"kind": "pair", "second_opinions": 1.5}}
    refused = await client.post("/v1/jobs", json=job)
    assert refused.status_code == 422
    assert "second_opinions" in refused.json()["errors"][0]["pointer"]


async def test_a_team_that_has_seen_all_is_told_so_as_a_team(new_job):
    """Of one alone it is told by name; where somebody has an item left, that is asked for."""
    job = await new_job(items=1, worker_choice={"kind": "pair"}, **COUNT)
    for worker in ("a", "b"):
        await job.answer("i1", worker, "cat")
    code = "worker-has-seen-all"
    message = "None of these 2 workers gets an item now: 2 have answered or skipped every open item. "
    message += "Ask other workers."
    one_left = "Worker 'b' has answered or skipped every open item. Ask other workers."
    team, alone = await ask(job, workers=["a", "b"]), await ask(job, workers=["b"])
    assert team["reason"] == {"code": code, "message": message}
    assert alone["reason"] == {"code": code, "message": one_left}
    assert (await ask(job, workers=["a", "b", "c"]))["assignments"][0]["worker"] == "c"
