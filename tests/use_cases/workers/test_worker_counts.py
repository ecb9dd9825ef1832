"""The counters of workers are the same as a count of all rows."""

import random
from uuid import UUID

import pytest
from sqlalchemy import text

COUNTS = ("answers", "scored_answers", "agreed_answers", "gold_asked", "gold_right")
# A vote is looked at when its item is resolved, or when it comes to one that is, by the votes so far.
BRUTE_FORCE = """
    WITH verdicts AS (
        SELECT item_id, min(answer_id) FILTER (WHERE verdict ->> 'decision' = 'stop') AS resolved_by
        FROM answer WHERE job_id = :job GROUP BY item_id
    ), looked_at AS (
        SELECT a.worker, a.item_id, a.label, a.counted, i.label AS right_label, i.gold,
               greatest(v.resolved_by, a.answer_id) AS moment, v.resolved_by IS NOT NULL AS resolved
        FROM answer a JOIN item i USING (job_id, item_id) JOIN verdicts v USING (item_id)
        WHERE a.job_id = :job AND a.worker IS NOT NULL
    ), judged AS (
        SELECT l.*, l.gold IS NOT NULL OR (l.resolved AND l.counted AND (l.label <> l.right_label OR
            (SELECT count(*) FROM answer b WHERE b.job_id = :job AND b.item_id = l.item_id AND b.counted
                AND b.answer_id <= l.moment AND b.label = l.right_label) - 1
            > coalesce((SELECT max(votes) FROM (
                SELECT count(*) AS votes FROM answer b WHERE b.job_id = :job AND b.item_id = l.item_id AND b.counted
                AND b.answer_id <= l.moment AND b.label <> l.right_label GROUP BY b.label) AS others), 0))) AS held
        FROM looked_at l
    )
    SELECT worker, count(*) AS answers, count(*) FILTER (WHERE held) AS scored_answers,
           count(*) FILTER (WHERE held AND label = coalesce(gold, right_label)) AS agreed_answers,
           count(gold) AS gold_asked, count(*) FILTER (WHERE label = gold) AS gold_right
    FROM judged GROUP BY worker"""
KEPT = f"SELECT worker, {', '.join(COUNTS)} FROM worker WHERE job_id = :job AND answers > 0"


async def rows(database, job, query: str) -> dict[str, dict]:
    async with database.connect() as connection:
        found = await connection.execute(text(query), {"job": UUID(job.id)})
        return {row["worker"]: {name: row[name] for name in COUNTS} for row in found.mappings()}


async def column(database, job, name: str) -> dict[str, object]:
    async with database.connect() as connection:
        found = await connection.execute(text(f"SELECT worker, {name} FROM worker WHERE job_id = :j"), {"j": job.id})
        return {row.worker: row[1] for row in found}


@pytest.mark.parametrize("model", ["anonymous", "one-coin", "spam-filter", "weighted"])
async def test_counts_are_those_of_the_rows(new_job, database, clock, model):
    """After any mixture of assigned, late, repeated and unassigned answers, by named and unnamed workers."""
    rng = random.Random(model)  # noqa: S311  which answer comes next is no secret
    settings = {"max_labels": 9, "lease_seconds": 60, "refit": None}  # a fit may change the label of what is resolved
    job = await new_job(worker_model={"kind": model}, labels=["cat", "dog", "eel"], **settings)
    items = [{"key": f"i{n}", "gold": "cat" if n % 5 == 0 else None} for n in range(1, 21)]
    await job.http.post(f"{job.path}/items", json=items)
    for _ in range(120):
        worker = f"w{rng.randrange(6)}"
        clock.advance(rng.choice([1, 5, 70]))
        given = await job.next(rng.choice([worker, None]), count=rng.choice([1, 3]))
        for assignment in rng.sample(given["assignments"], rng.randint(0, len(given["assignments"]))):
            label = rng.choice(["cat", "cat", "cat", "dog", "eel"])
            await job.http.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": label})
        await job.answer(f"i{rng.randint(1, 20)}", worker, rng.choice(["cat", "cat", "dog"]))
    expected = await rows(database, job, BRUTE_FORCE)
    assert await rows(database, job, KEPT) == expected
    assert sum(one["scored_answers"] for one in expected.values()) > 20
    assert sum(one["gold_right"] for one in expected.values()) > 3


async def test_a_vote_that_decides_the_label_is_not_scored(new_job, database):
    """A vote that agrees is scored only if the label would win without it; a vote that disagrees is always scored."""
    job = await new_job(items=1, requirement={"kind": "count", "labels": 3})
    for worker, label in (("a", "cat"), ("b", "cat"), ("c", "dog")):
        await job.answer("i1", worker, label)
    counted = await rows(database, job, KEPT)
    assert {worker: (one["scored_answers"], one["agreed_answers"]) for worker, one in counted.items()} == {
        "a": (0, 0),
        "b": (0, 0),
        "c": (1, 0),
    }


async def test_with_own_votes_the_record_is_the_papers(new_job, database):
    """All answers on decided items count in t, in t+ those that agree (Abraham et al., SIGIR 2016, section 7)."""
    choice = {"kind": "ucb", "own_votes": True}
    job = await new_job(items=2, requirement={"kind": "count", "labels": 5}, worker_choice=choice)
    for item, labels in (("i1", "ccddc"), ("i2", "ccccd")):
        for worker, label in zip("abcde", labels, strict=True):
            await job.answer(item, worker, "cat" if label == "c" else "dog")
    counted = await rows(database, job, KEPT)
    assert {worker: (one["scored_answers"], one["agreed_answers"]) for worker, one in counted.items()} == {
        "a": (2, 2),
        "b": (2, 2),
        "c": (2, 1),
        "d": (2, 1),
        "e": (2, 1),
    }
    index = {worker: two / 2 + 2**-0.5 for worker, two in {"a": 2, "c": 1}.items()}
    scores = await column(database, job, "ucb_score")
    assert {worker: scores[worker] for worker in index} == {
        worker: pytest.approx((2 * one - 1) ** 2) for worker, one in index.items()
    }


async def test_a_vote_is_scored_once(new_job, database):
    """Reopening an item keeps the scores; resolving it again scores only the votes that are new."""
    job = await new_job(items=1, requirement={"kind": "count", "labels": 3})
    for worker in ("a", "b", "c"):
        await job.answer("i1", worker, "cat")
    for labels in (4, 3, 4):
        await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": labels}})
    await job.answer("i1", "d", "dog")
    counted = await rows(database, job, KEPT)
    assert {worker: (one["scored_answers"], one["agreed_answers"]) for worker, one in counted.items()} == {
        "a": (1, 1),
        "b": (1, 1),
        "c": (1, 1),
        "d": (1, 0),
    }


async def test_a_new_requirement_scores_votes_against_the_labels_it_gives(new_job, database):
    job = await new_job(items=2, requirement={"kind": "count", "labels": 4})
    for item in ("i1", "i2"):
        for worker, label in (("a", "cat"), ("b", "cat"), ("c", "cat")):
            await job.answer(item, worker, label)
    await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 3}})
    assert {one["agreed_answers"] for one in (await rows(database, job, KEPT)).values()} == {2}


async def test_the_last_25_times_are_kept(new_job, database, clock):
    """From assignment to answer; an answer without an assignment, or after it has expired, has no time."""
    job = await new_job(items=30, lease_seconds=60)
    for seconds in range(1, 29):
        (assignment,) = (await job.next("w"))["assignments"]
        clock.advance(seconds)
        await job.http.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": "cat"})
    (assignment,) = (await job.next("w"))["assignments"]
    clock.advance(61)
    late = await job.http.post(f"{job.path}/answers", json={"assignment": assignment["id"], "label": "cat"})
    assert late.json()["late"]
    await job.answer(assignment["item"], "uninvited", "cat")
    assert await column(database, job, "seconds") == {"w": list(range(4, 29)), "uninvited": []}


async def test_many_times_of_one_transaction_are_cut_too(new_job, database, clock):
    job = await new_job(items=30)
    held = (await job.next("w", count=30))["assignments"]
    clock.advance(7)
    answers = [{"assignment": assignment["id"], "label": "cat"} for assignment in held]
    await job.http.post(f"{job.path}/answers", json={"answers": answers})
    assert await column(database, job, "seconds") == {"w": [7.0] * 25}


async def test_accuracy_goes_with_the_skill(new_job, database):
    """And is unknown if the model does not estimate it."""
    for model, expected in (("one-coin", pytest.approx(0.8)), ("anonymous", None)):
        job = await new_job(items=1, worker_model={"kind": model})
        await job.answer("i1", "w", "cat")
        assert await column(database, job, "accuracy") == {"w": expected}
