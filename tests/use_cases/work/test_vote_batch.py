"""Answers in one request give the same results and the same rows as one after the other, to the last digit."""

import random
import re
from collections.abc import Collection
from uuid import UUID

import pytest
from sqlalchemy import text

from app.api.work.schemas import AnswersOut
from tests.depth import depth
from tests.jobs import ANSWERS, KINDS, PLAIN_VOTES

WORKERS = [f"w{n}" for n in range(6)]
ITEMS = 8
BY_MODEL = {"requirement": {"kind": "posterior"}, "aggregation": {"kind": "model"}}
THREE_LABELS = {"labels": ["dog", "cat", "owl"]}
# Each kind of job with the fields that differ from one that counts votes.
JOBS: dict[str, dict] = {
    "default": BY_MODEL | {"worker_model": {"kind": "auto"}},
    "three labels": BY_MODEL | THREE_LABELS | {"worker_model": {"kind": "auto"}},
    "two rows per worker": BY_MODEL | {"worker_model": {"kind": "two-coin"}},
    "ordinal": BY_MODEL | THREE_LABELS | KINDS["ordinal"] | {"worker_model": {"kind": "auto"}},
    "choices": BY_MODEL | KINDS["choices"] | {"worker_model": {"kind": "auto"}},
    "number": KINDS["number"],
    "votes": PLAIN_VOTES | {"max_labels": 5},
    "opinions": BY_MODEL | {"worker_model": {"kind": "auto"}, "prior_source": "w0"},
    "one-coin": BY_MODEL | {"worker_model": {"kind": "one-coin"}},
    "tiers": BY_MODEL | {"worker_model": {"kind": "tiers"}},
    "spam-filter": BY_MODEL | {"worker_model": {"kind": "spam-filter"}},
}
# The rows without what differs between any two jobs: forecasts are made in the background, sooner or later. Of the last
# answer that was compared with an item's label only how many answers on the item it covers, because it is the last of
# the batch.
SCORED = (
    "(SELECT count(*) FROM answer a WHERE a.job_id = t.job_id AND a.item_id = t.item_id AND a.answer_id <= t.scored)"
)
ROWS = dict.fromkeys(["worker", "assignment", "answer"], "to_jsonb(t) - 'job_id'") | {
    "job": "to_jsonb(t) - '{job_id,created_at,forecast}'::text[]",
    "item": f"to_jsonb(t) - '{{job_id,scored}}'::text[] || jsonb_build_object('covered', {SCORED})",
}


# How often a worker agreed with labels. Votes are compared at the end of a batch, so a vote on an item that had closed
# while its worker held it may be the one that lets earlier votes on the item be compared.
AGREEMENT = ("scored_answers", "agreed_answers", "ucb_score")


async def rows_of(database, job, *, besides: Collection[str] = ()) -> list[dict]:
    """Everything that is stored of the job, in a fixed order, besides these columns."""
    rows: list[dict] = []
    async with database.connect() as connection:
        for table, row in ROWS.items():
            query = text(f"SELECT {row} AS row FROM {table} t WHERE job_id = :job ORDER BY ({row})::text")
            rows += await connection.scalars(query, {"job": UUID(job.id)})
    return [{name: value for name, value in row.items() if name not in besides} for row in rows]


async def prepared(new_job, kind: str, *, holds: bool, **fields: object):
    """A job with gold, an item with a prior, a trusted worker and live assignments; the same each time."""
    job = await new_job(**({"seed": 7, "refit": None} | JOBS[kind] | fields))
    names_label = KINDS["number"] is not JOBS[kind] and "choices" not in kind
    items = [{"key": f"i{n}", "cost": str(1 + n % 3)} for n in range(ITEMS)]
    if names_label:
        items[0]["gold"] = "cat"
        items[1]["prior"] = {"cat": 0.7, "dog": 0.3} if len(JOBS[kind].get("labels", "12")) == 2 else None
    added = await job.http.post(f"{job.path}/items", json=items)
    assert added.status_code == 201, added.text
    trusted = await job.http.post(f"{job.path}/workers", json=[{"worker": "w5", "trusted": True, "price": "2"}])
    assert trusted.status_code in (200, 201), trusted.text
    held = []
    for worker in (*WORKERS[:3], None, None) if holds else ():
        held += [one["id"] for one in (await job.next(worker, count=3))["assignments"]]
    return job, held


def answers_of(chosen: random.Random, kind: str, held: list[str], count: int) -> list[dict]:
    """Answers with repeated items and workers, under assignments and without, some of them wrong or sent twice."""
    says = ANSWERS[next((name for name in KINDS if name == kind), "choice")]
    tiers = [{"tier": "good"}] if kind == "tiers" else []
    answers: list[dict] = []
    for _ in range(count):
        said = says(0 if chosen.random() < 0.7 else chosen.randrange(10))
        what = chosen.random()
        if answers and what < 0.1:
            answers.append(chosen.choice(answers))
        elif what < 0.13:
            answers.append({"item": "nowhere", "worker": "w1"} | said)
        elif what < 0.16:
            answers.append({"item": "i1", "worker": "w1", "label": "unknown"})
        elif held and what < 0.45:
            answers.append({"assignment": chosen.choice(held)} | said)
        else:
            item, worker = f"i{chosen.randrange(ITEMS)}", chosen.choice(WORKERS)
            tier = chosen.choice(tiers) if tiers and chosen.random() < 0.2 else {}
            answers.append({"item": item, "worker": worker} | said | tier)
    return answers


def plain(result: dict) -> dict:
    """A result without what names its request."""
    if result["accepted"]:
        return result
    detail = re.sub("#/answers/[0-9]+", "#", result["error"]["detail"])
    return result | {"error": (result["error"]["code"], detail)}


async def send(job, answers: list[dict]) -> list[dict]:
    response = await job.http.post(f"{job.path}/answers", json={"answers": answers})
    assert response.status_code == 200, response.text
    as_documented = AnswersOut.model_validate_json(response.content).model_dump_json(exclude_unset=True)
    assert response.text == as_documented  # although no model is built for it
    return [plain(result) for result in response.json()["results"]]


@pytest.mark.parametrize("budget", [None, "60"])
@pytest.mark.parametrize("kind", JOBS)
async def test_many_at_once_are_as_one_by_one(new_job, database, kind, budget):
    accepted = refused = 0
    for seed in range(depth(2, 10)):
        holds = seed % 2 == 1
        together, held = await prepared(new_job, kind, holds=holds, budget=budget)
        apart, _ = await prepared(new_job, kind, holds=holds, budget=budget)
        answers = answers_of(random.Random(seed), kind, held, 60)  # noqa: S311
        results = await send(together, answers)
        for result, answer in zip(results, answers, strict=True):
            assert [result] == await send(apart, [answer])
        rows = [await rows_of(database, job, besides=AGREEMENT if holds else ()) for job in (together, apart)]
        for row, expected in zip(*rows, strict=True):
            assert row == expected
        accepted += sum(result["accepted"] and not result["duplicate"] for result in results)
        refused += sum(not result["accepted"] for result in results)
    assert accepted
    assert refused
