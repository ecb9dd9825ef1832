"""Jobs whose answers are several labels, labels in order, or numbers: from creation to results, over HTTP."""

import csv
import io
import random

import pytest

from tests.api.crowds import refit
from tests.jobs import JobClient
from tests.waiting import finished

TAGS = {"answer": {"kind": "choices"}, "labels": ["cat", "dog", "cow"], "budget": "200"}


async def create(client, body: dict, items: list[dict]) -> JobClient:
    made = await client.post("/v1/jobs", json=body)
    assert made.status_code == 201, made.text
    job = JobClient(client, made.json())
    added = await client.post(f"{job.path}/items", json=items)
    assert added.status_code == 201, added.text
    return job


async def say(job: JobClient, item: str, worker: str, **said: object) -> dict:
    sent = await job.http.post(f"{job.path}/answers", json={"item": item, "worker": worker} | said)
    assert sent.status_code == 200, sent.text
    return sent.json()


async def refused(job: JobClient, item: str = "i1", worker: str = "w9", **said: object) -> dict:
    sent = await job.http.post(f"{job.path}/answers", json={"item": item, "worker": worker} | said)
    assert sent.status_code in {409, 422}, sent.text
    return sent.json()


async def table(job: JobClient, path: str = "results") -> list[dict]:
    got = await job.http.get(f"{job.path}/{path}", headers={"Accept": "text/csv"})
    return list(csv.DictReader(io.StringIO(got.text)))


async def test_a_job_of_choices_from_creation_to_results(client):
    job = await create(client, TAGS, [{"key": f"i{n}"} for n in range(1, 21)])
    truth = {f"i{n}": ["cat", "cow"] if n % 2 else [] for n in range(1, 21)}
    for worker in (f"w{n}" for n in range(1, 9)):
        while (found := await job.next(worker))["status"] == "continue":
            (one,) = found["assignments"]
            told = (
                await client.post(f"{job.path}/answers", json={"assignment": one["id"], "labels": truth[one["item"]]})
            ).json()
            assert told["accepted"]
            assert told["labels"] == (truth[one["item"]] if told["verdict"] == "stop" else None)
    assert (await refit(job))["state"] == "done"
    assert {row["item"]: row["labels"] for row in await job.results()} == truth
    assert {row["state"] for row in await job.results()} == {"resolved"}
    row = (await table(job))[0]
    assert (row["item"], row["labels"], row["votes.dog"]) == ("i1", "cat|cow", "0")
    answers = (await client.get(f"{job.path}/answers")).json()["answers"]
    assert answers[0]["labels"] == truth[answers[0]["item"]]
    assert {one["labels"] for one in await table(job, "answers")} == {"", "cat|cow"}
    item = (await client.get(f"{job.path}/items/i1")).json()
    assert item["labels"] == ["cat", "cow"]
    assert item["posterior"]["dog"] < 0.05
    assert item["posterior"]["cat"] > 0.95
    for aggregation in ("majority", "dawid-skene", "one-coin"):
        assert {row["item"]: row["labels"] for row in await job.results(aggregation=aggregation)} == truth


@pytest.mark.parametrize(
    ("said", "code", "pointer", "words"),
    [
        ({"label": "cat"}, "answer-kind", "#/label", "Must be left out: send `labels`"),
        ({"value": 3}, "answer-kind", "#/value", "Must be left out: send `labels`"),
        ({"labels": ["cat", "unicorn"]}, "label-unknown", "#/labels", "Must be one of 'cat', 'dog', 'cow'"),
        ({"labels": ["cat", "cat"]}, "answer-kind", "#/labels", "at most once"),
    ],
)
async def test_an_answer_of_the_wrong_kind_is_told_what_the_job_takes(client, said, code, pointer, words):
    job = await create(client, TAGS, [{"key": "i1"}])
    problem = await refused(job, **said)
    assert problem["code"] == code
    (error,) = problem["errors"]
    assert error["pointer"] == pointer
    assert words in error["message"]
    if code == "answer-kind":
        assert problem["detail"] == "An answer of this job is any number of labels, in `labels`."
    assert (await job.status())["answers"] == 0


async def test_the_same_set_again_is_the_same_answer(client):
    job = await create(client, TAGS, [{"key": "i1"}])
    assert not (await say(job, "i1", "ann", labels=["cat", "cow"]))["duplicate"]
    assert (await say(job, "i1", "ann", labels=["cow", "cat"]))["duplicate"]
    problem = await refused(job, worker="ann", labels=["cow"])
    assert problem["code"] == "answer-conflict"
    assert "['cat', 'cow'], not ['cow']" in problem["detail"]


async def test_gold_sets_and_priors_per_label(client):
    items = [
        {"key": "known", "gold": ["dog"]},
        {"key": "none", "gold": []},
        {"key": "guessed", "prior": {"cat": 0.9, "cow": 0.8}},
    ]
    job = await create(client, TAGS, items)
    rows = {row["item"]: row for row in await job.results()}
    assert rows["known"]["labels"] == ["dog"]
    assert rows["none"]["labels"] == []
    found = (await client.get(f"{job.path}/items/guessed")).json()["posterior"]
    assert found["dog"] < found["cow"] < found["cat"]
    as_table = "key,gold\na,cat|dog\nb,\n"
    added = await client.post(f"{job.path}/items", content=as_table, headers={"Content-Type": "text/csv"})
    assert added.json()["added"] == 2
    assert {row["item"]: row["labels"] for row in await job.results()}["a"] == ["cat", "dog"]
    wrong = await client.post(f"{job.path}/items", json=[{"key": "x", "gold": "cat|unicorn"}])
    assert wrong.json()["code"] == "label-unknown"


@pytest.mark.parametrize(
    ("fields", "pointer", "words"),
    [
        ({"worker_model": {"kind": "weighted"}}, "#/worker_model", "takes jobs whose answers are choice or ordinal"),
        ({"labels": [f"l{n}" for n in range(51)]}, "#/labels", "at most 50 labels"),
        ({"labels": ["a|b"]}, "#/labels", "separates the labels"),
        ({"labels": []}, "#/labels", "at least 1"),
        ({"answer": {"kind": "choice"}, "labels": ["a"]}, "#/labels", "at least 2"),
        ({"spammers": {}}, "#/spammers", "takes jobs whose answers are choice or ordinal"),
    ],
)
async def test_a_job_that_cannot_decide_about_its_answers_is_refused(client, fields, pointer, words):
    refused = await client.post("/v1/jobs", json=TAGS | fields)
    assert refused.status_code == 422
    (error,) = refused.json()["errors"]
    assert error["pointer"].startswith(pointer)
    assert words in error["message"]


async def test_the_median_of_labels_in_order(client):
    stars = {
        "answer": {"kind": "ordinal", "label": "median"},
        "labels": ["1", "2", "3", "4", "5"],
        "budget": None,
        "requirement": {"kind": "count", "labels": 5},
        "worker_model": {"kind": "anonymous"},
    }
    by_median = await create(client, stars, [{"key": "i1"}])
    by_mode = await create(client, stars | {"answer": {"kind": "ordinal"}}, [{"key": "i1"}])
    for job, label in ((by_median, "4"), (by_mode, "5")):
        for worker, said in zip("abcde", "23455", strict=True):
            last = await say(job, "i1", worker, label=said)
        assert (last["verdict"], last["label"]) == ("stop", label)


STARS = {"answer": {"kind": "ordinal"}, "labels": ["1", "2", "3", "4", "5"], "budget": "500"}


async def rate(job: JobClient, truth: dict[str, int], seed: int) -> None:
    """Six people who know, and err by a step now and then, and two who guess 4 or 5; until nothing is left to ask."""
    rng = random.Random(seed)  # noqa: S311  a crowd is no secret
    for worker in (*(f"w{n}" for n in range(1, 7)), "g1", "g2"):
        while (found := await job.next(worker))["status"] == "continue":
            (one,) = found["assignments"]
            near = truth[one["item"]] + rng.choice([0] * 8 + [-1, 1])
            label = rng.choice("45") if worker.startswith("g") else str(min(max(near, 1), 5))
            sent = await job.http.post(f"{job.path}/answers", json={"assignment": one["id"], "label": label})
            assert sent.status_code == 200, sent.text


async def test_a_job_of_ratings_from_creation_to_results(client):
    truth = {f"i{n}": n % 5 + 1 for n in range(1, 31)}
    items: list[dict] = [{"key": key} for key in truth]
    items[0] |= {"gold": "2"}
    items[1] |= {"prior": {"3": 0.7, "4": 0.3}}
    asks = {"requirement": {"kind": "count", "labels": 8}}
    job = await create(client, STARS | asks, items)
    stated = await client.post(f"{job.path}/workers", json=[{"worker": "w1", "accuracy": 0.95, "accuracy_weight": 50}])
    assert stated.status_code in {200, 201}, stated.text
    await rate(job, truth, 1)
    assert (await refit(job))["state"] == "done"
    results = await job.results()
    assert {row["state"] for row in results} == {"resolved"}
    assert sum(int(row["label"]) == truth[row["item"]] for row in results) >= 27
    status = await job.status()
    assert status["worker_model"] == {"kind": "auto", "prior": [4.0, 1.0], "margin": 1.0}
    assert status["worker_model_in_force"]["kind"] == "knows-or-guesses"
    skills = {row["worker"]: row["skill"] for row in (await client.get(f"{job.path}/workers")).json()["workers"]}
    for skill in skills.values():
        assert skill["low"] < skill["estimate"] < skill["high"]
    assert skills["w1"]["estimate"] == pytest.approx(0.95, abs=0.05)
    assert max(skills["g1"]["estimate"], skills["g2"]["estimate"]) < 0.55 < skills["w2"]["estimate"]
    found = (await client.get(f"{job.path}/items/i7")).json()
    near, far = (found["posterior"][str(label)] for label in (2, 5))
    assert found["posterior"]["3"] > near > far
    for operation, body in (("forecast", None), ("replay", {"policies": ["job"], "labels_per_item": [2], "seeds": 2})):
        asked = await client.post(f"{job.path}/{operation}", json=body)
        assert asked.status_code == 202, asked.text
        assert (await finished(client, asked.headers["location"]))["state"] == "done"
    await a_second_job_takes_its_skills(client, job, truth)


async def a_second_job_takes_its_skills(client, job: JobClient, truth: dict[str, int]) -> None:
    """Workers keep what they showed, and a verdict says what the posterior is."""
    second = await create(client, STARS | {"reputation": job.id}, [{"key": key} for key in truth])
    said = await say(second, "i1", "w1", label="2")
    assert said["verdict"] == "continue"
    assert "0.95" in said["reason"]["message"]
    assert (await say(second, "i1", "w2", label="2"))["verdict"] == "stop"
    guessed = [await say(second, "i2", worker, label="5") for worker in ("g1", "g2")]
    assert guessed[-1]["verdict"] == "continue"
    other = await client.post("/v1/jobs", json=STARS | {"reputation": job.id, "answer": {"kind": "choice"}})
    assert other.status_code == 422
    assert other.json()["errors"][0]["pointer"] == "#/reputation"


NUMBERS = {"answer": {"kind": "number", "low": 0, "high": 100}, "budget": "500"}


async def test_a_job_of_numbers_from_creation_to_results(client):
    precise = NUMBERS | {"requirement": {"kind": "precision", "half_width": 6, "confidence": 0.9}}
    job = await create(client, precise, [{"key": f"i{n}"} for n in range(20)] + [{"key": "known", "gold": 12.5}])
    chance = random.Random(3)  # noqa: S311  a crowd
    truth = {f"i{n}": 5 * n for n in range(20)} | {"known": 12.5}
    bias = {f"w{n}": chance.gauss(0, 3) for n in range(12)}
    waiting = list(bias)
    while waiting:
        for worker in list(waiting):
            found = await job.next(worker)
            if found["status"] != "continue":
                waiting.remove(worker)
                continue
            (one,) = found["assignments"]
            value = min(max(truth[one["item"]] + bias[worker] + chance.gauss(0, 4), 0), 100)
            sent = await client.post(f"{job.path}/answers", json={"assignment": one["id"], "value": value})
            told = sent.json()
            assert (told["label"], told["value"] is None) == (None, told["verdict"] != "stop")
    assert (await refit(job))["state"] == "done"
    rows = {row["item"]: row for row in await job.results()}
    assert rows["known"]["value"] == 12.5
    assert all(abs(rows[key]["value"] - truth[key]) < 8 for key in truth)
    resolved = [row for row in rows.values() if row["state"] == "resolved"]
    assert len(resolved) > 10
    assert all(row["interval"][0] <= row["value"] <= row["interval"][1] for row in resolved)
    assert all(row["interval"][1] - row["interval"][0] <= 12 + 1e-6 for row in resolved)
    assert all(row["confidence"] >= 0.9 for row in resolved)
    first = (await table(job))[0]
    assert float(first["low"]) <= float(first["value"]) <= float(first["high"])
    answers = (await client.get(f"{job.path}/answers")).json()["answers"]
    assert float((await table(job, "answers"))[0]["value"]) == answers[0]["value"]
    item = (await client.get(f"{job.path}/items/i3")).json()
    assert item["value"] == rows["i3"]["value"]
    assert item["answers"][0]["value"] is not None


@pytest.mark.parametrize(
    ("said", "pointer", "words"),
    [
        ({"label": "cat"}, "#/label", "Must be left out: send `value`"),
        ({"value": 100.5}, "#/value", "Must be from 0 to 100, not 100.5"),
    ],
)
async def test_a_number_must_be_in_its_range(client, said, pointer, words):
    job = await create(client, NUMBERS, [{"key": "i1"}])
    problem = await refused(job, **said)
    assert (problem["code"], problem["detail"]) == ("answer-kind", "An answer of this job is a number, in `value`.")
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["message"]) == (pointer, words)


async def test_the_same_number_again_is_the_same_answer(client):
    job = await create(client, NUMBERS, [{"key": "i1"}])
    assert not (await say(job, "i1", "ann", value=0.1))["duplicate"]
    assert (await say(job, "i1", "ann", value=0.1))["duplicate"]
    assert "with 0.1, not 0.2" in (await refused(job, worker="ann", value=0.2))["detail"]


async def test_numbers_have_a_range_and_no_labels(client):
    for body, pointer, words in (
        (NUMBERS | {"labels": ["a", "b"]}, "#/labels", "Must be left out"),
        (NUMBERS | {"answer": {"kind": "number", "low": 5, "high": 5}}, "#/answer/high", "larger than `low`"),
        (NUMBERS | {"requirement": {"kind": "ratio"}}, "#/requirement", "takes jobs whose answers are"),
    ):
        refused = await client.post("/v1/jobs", json=body)
        assert refused.status_code == 422, refused.text
        assert words in refused.json()["errors"][0]["message"]
        assert refused.json()["errors"][0]["pointer"] == pointer


@pytest.mark.parametrize("body", [TAGS, NUMBERS])
async def test_what_takes_one_label_says_so(client, body):
    job = await create(client, body, [{"key": "i1"}])
    for path, sent in (("audits", {"min_accuracy": 0.9}), ("forecast", None)):
        answer = await client.post(f"{job.path}/{path}", json=sent)
        assert (answer.status_code, answer.json()["code"]) == (422, "answer-kind"), path
