"""A job with the allocation `random` to which items are added while it runs."""

import pytest

RANDOM = {
    "allocation": {"kind": "random"},
    "requirement": {"kind": "count", "labels": 100},
    "max_votes_per_label": None,
}
EARLY, LATE = 8, 8


async def ask(job, questions: int, first: int = 0) -> list[int]:
    """The numbers of the items that these questions are about, one worker after the other."""
    asked = []
    for number in range(first, first + questions):
        (one,) = (await job.next(f"w{number}"))["assignments"]
        sent = {"assignment": one["id"], "label": "cat"}
        assert (await job.http.post(f"{job.path}/answers", json=sent)).status_code == 200
        asked.append(int(one["item"][1:]))
    return asked


async def add_late(job) -> None:
    late = [{"key": f"i{EARLY + n}"} for n in range(1, LATE + 1)]
    assert (await job.http.post(f"{job.path}/items", json=late)).status_code == 201


async def test_late_items_get_their_share_and_no_more(new_job):
    """Half of the open items are new; with clocks from 0 they would get all of these questions."""
    job = await new_job(items=EARLY, seed=3, **RANDOM)
    await ask(job, 80)
    await add_late(job)
    asked = await ask(job, 64, first=80)
    assert asked[0] <= EARLY  # it was next before the others came
    assert 16 <= sum(item > EARLY for item in asked) <= 48  # binomial: beyond 4 standard deviations otherwise


async def test_judging_again_keeps_the_order(new_job):
    """A new requirement judges all items again, by the same clocks."""
    job = await new_job(items=EARLY, seed=4, **RANDOM)
    await ask(job, 40)
    await add_late(job)
    before = [(await job.http.get(f"{job.path}/items/i{n}")).json()["priority"] for n in range(1, EARLY + LATE + 1)]
    changed = await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 90}})
    assert changed.status_code == 200, changed.text
    after = [(await job.http.get(f"{job.path}/items/i{n}")).json()["priority"] for n in range(1, EARLY + LATE + 1)]
    assert after == pytest.approx(before)


async def test_items_that_join_when_nothing_is_open_start_together(new_job):
    job = await new_job(items=1, seed=5, **RANDOM | {"requirement": {"kind": "count", "labels": 1}})
    await ask(job, 1)
    await add_late(job)
    assert set(await ask(job, LATE, first=1)) == set(range(EARLY + 1, EARLY + LATE + 1))
