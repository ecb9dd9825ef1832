"""A job's own answers are replayed under other policies in the background, and the job does not change."""

from uuid import UUID

import numpy as np
import pytest

from app.policy.job_policy import JobPolicy
from app.simulation.crowd_generator import Distribution, Recipe, generate_answers
from app.simulation.named_policies import policy_of
from app.simulation.policy_replay import replay
from app.simulation.recorded_crowd import read_recorded
from app.simulation.replay_report import ReplayLine
from app.use_cases.operations import replay as replay_operation
from tests.api.crowds import CROWD, all_answers
from tests.jobs import JobClient
from tests.waiting import finished

MANY = {"requirement": {"kind": "count", "labels": 6}, "max_votes_per_label": None}


async def replayed(job, **asked) -> dict:
    response = await job.http.post(f"{job.path}/replay", json=asked)
    assert response.status_code == 202, response.text
    assert response.json()["outcome"] is None
    return await finished(job.http, response.headers["location"])


@pytest.fixture
async def job(new_job):
    job = await new_job(items=40, **MANY)
    await all_answers(job, 40, CROWD)
    return job


async def test_it_finds_what_the_command_finds_on_the_same_answers(job, tmp_path):
    """Row by row for round-robin with recorded order, which uses no random numbers; the same columns for requallo."""
    before = await job.status()
    operation = await replayed(
        job, policies=["round-robin", "requallo"], labels_per_item=[3, 6], order="recorded", seeds=10
    )
    assert operation["state"] == "done", operation
    assert operation["kind"] == "replay"
    outcome = operation["outcome"]
    assert (outcome["answers"], outcome["items"], outcome["seeds"]) == (240, 40, 10)
    (tmp_path / "answers.csv").write_bytes(
        (await job.http.get(f"{job.path}/answers", headers={"Accept": "text/csv"})).content
    )
    labels = {result["item"]: result["label"] for result in await job.results(limit=100)}
    known = {item: label for item, label in labels.items() if label is not None}
    (tmp_path / "truth.csv").write_text("item,truth\n" + "".join(f"{i},{c}\n" for i, c in known.items()))
    crowd = read_recorded(tmp_path / "answers.csv", tmp_path / "truth.csv")
    for row in outcome["replays"]:
        policy = policy_of(row["policy"], crowd.labels, "pull")
        found = replay(crowd, policy, [row["labels_per_item"]], runs=10, order="recorded")[0]
        expected = ReplayLine.of(row["policy"], row["labels_per_item"], found).as_json()
        if row["policy"] == "round-robin":
            assert row == pytest.approx(expected)
        else:
            assert row.keys() == expected.keys()
    everything = outcome["replays"][1]
    assert (everything["labels"], everything["accuracy"]) == (240, 1.0)  # all answers say what all answers say
    changing = {"operations": None, "forecast": None}  # a forecast of the finished job may arrive at any time
    assert before | changing == await job.status() | changing


async def test_the_job_itself_can_be_replayed(new_job):
    """Two labels each were asked for: 80 of the 240 would have done."""
    job = await new_job(items=40, **MANY)
    await all_answers(job, 40, CROWD)
    changed = await job.http.patch(job.path, json={"requirement": {"kind": "count", "labels": 2}})
    assert changed.status_code == 200, changed.text
    rows = (await replayed(job, policies=["job"], labels_per_item=[6], workers="choose", seeds=1))["outcome"]["replays"]
    assert [(row["policy"], row["labels"], row["accuracy_sd"]) for row in rows] == [("job", 80, None)]


@pytest.mark.parametrize("items", [0, 2])
async def test_a_job_without_answers_or_items_has_nothing_to_replay(new_job, items):
    job = await new_job(items=items)
    refused = await job.http.post(f"{job.path}/replay", json={})
    assert (refused.status_code, refused.json()["code"]) == (409, "nothing-to-replay")


@pytest.mark.parametrize(
    ("asked", "pointer", "said"),
    [
        ({"policies": ["opt-gk"]}, "#/policies/0", "There is no policy 'opt-gk'. Did you mean opt-kg?"),
        ({"policies": ["Job"]}, "#/policies/0", "`job` is the job's own policy."),
        ({"policies": ["requallo-p0.9"]}, "#/policies/0", "requallo-p0.9 cannot be replayed"),
        ({"policies": []}, "#/policies", "at least 1 entry"),
        ({"labels_per_item": [0]}, "#/labels_per_item/0", "more than 0"),
        ({"seeds": 0}, "#/seeds", "at least 1"),
        ({"seed": 1}, "#/seed", ""),
    ],
)
async def test_what_cannot_be_is_named(job, asked, pointer, said):
    response = await job.http.post(f"{job.path}/replay", json=asked)
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["pointer"] == pointer
    assert said in error["message"]


async def test_what_would_take_too_long_is_refused(job, monkeypatch):
    monkeypatch.setattr(replay_operation, "MAX_ANSWERS", 1000)
    asked = {"policies": ["round-robin", "random"], "labels_per_item": [5], "seeds": 3}
    response = await job.http.post(f"{job.path}/replay", json=asked)
    assert response.status_code == 422
    assert response.json()["errors"] == [{"pointer": "#/seeds", "message": "Must be at most 2"}]
    assert (await replayed(job, **asked | {"seeds": 2}))["state"] == "done"


@pytest.mark.parametrize(
    ("asked", "most"),
    [
        ({"policies": ["round-robin"], "labels_per_item": [1, 2, 3]}, 50),  # 120 answers of a run, of 6000
        ({"policies": ["crowdbudget"], "labels_per_item": [1, 2, 3]}, 25),  # 40 + 80 + 120: another run for each
        ({"policies": ["job"], "labels_per_item": [1, 2, 3]}, 50),
        ({"policies": ["job"], "labels_per_item": [1, 2, 3], "workers": "choose"}, 5),  # ten times as long
    ],
)
async def test_all_that_is_run_counts(new_job, monkeypatch, asked, most):
    job = await new_job(items=40, worker_choice={"kind": "ucb"}, **MANY)
    await all_answers(job, 40, CROWD)
    monkeypatch.setattr(replay_operation, "MAX_ANSWERS", 6000)
    response = await job.http.post(f"{job.path}/replay", json=asked | {"seeds": 100})
    assert response.json()["errors"] == [{"pointer": "#/seeds", "message": f"Must be at most {most}"}]


async def test_too_many_workers_times_items_are_refused_where_runs_go_apart(new_job, monkeypatch):
    """Ten unnamed answers on five items count as ten workers."""
    job = await new_job(items=5, spammers={"votes": "keep"}, **MANY)
    for _ in range(10):
        (offered,) = (await job.next())["assignments"]
        given = await job.http.post(f"{job.path}/answers", json={"assignment": offered["id"], "label": "cat"})
        assert given.status_code == 200, given.text
    asked = {"policies": ["round-robin", "job"], "seeds": 1}
    monkeypatch.setattr(replay_operation, "MAX_CELLS", 49)
    response = await job.http.post(f"{job.path}/replay", json=asked)
    assert response.status_code == 422
    assert response.json()["detail"].endswith("10 workers (each unnamed answer counts as one) times 5 items.")
    assert [error["pointer"] for error in response.json()["errors"]] == ["#/policies/1"]
    assert (await replayed(job, **asked | {"policies": ["round-robin"]}))["state"] == "done"
    monkeypatch.setattr(replay_operation, "MAX_CELLS", 50)
    assert (await replayed(job, **asked))["state"] == "done"


async def test_jobs_take_turns_and_few_replays_wait(new_job, app, monkeypatch):
    jobs, worked_on = [await new_job(items=2) for _ in range(2)], []
    for job in jobs:
        assert (await job.answer("i1", "w1", "cat")).status_code == 200
    runner, carry_out = app.state.services.runner, replay_operation.carry_out

    async def noted(connection, job_id, *arguments):
        worked_on.append(str(job_id))
        return await carry_out(connection, job_id, *arguments)

    begin = runner.begin
    monkeypatch.setattr(runner, "begin", lambda *_: None)
    monkeypatch.setattr(replay_operation, "MAX_WAITING", 3)
    paths = []
    for job in jobs:
        paths += [(await job.http.post(f"{job.path}/replay", json={})).headers["location"] for _ in range(3)]
        refused = await job.http.post(f"{job.path}/replay", json={})
        assert refused.status_code == 422
        assert "3 replays of this job are already waiting" in refused.json()["detail"]
    monkeypatch.undo()
    monkeypatch.setattr(replay_operation, "carry_out", noted)
    for job in jobs:
        begin(UUID(job.id), "replay")
    assert [(await finished(jobs[0].http, path))["state"] for path in paths] == ["done"] * 6
    first, second = worked_on[:2]
    assert first != second
    assert worked_on == [first, second] * 3
    assert (await jobs[0].http.post(f"{jobs[0].path}/replay", json={})).status_code == 202


async def test_two_at_once_are_done_one_after_the_other_and_refits_do_not_wait(job):
    """Refits and replays are in different lanes."""
    first, second = [
        (await job.http.post(f"{job.path}/replay", json={"policies": ["information"], "seeds": 2})).headers["location"]
        for _ in range(2)
    ]
    fitted = await finished(job.http, (await job.http.post(f"{job.path}/refit")).headers["location"])
    assert fitted["state"] == "done"
    done = [(await finished(job.http, each))["outcome"]["replays"] for each in (first, second)]
    assert done[0] == done[1]
    assert np.isfinite([row["accuracy"] for row in done[0]]).all()


NUMBER = {"answer": {"kind": "number", "low": 0, "high": 100}, "requirement": {"kind": "count", "labels": 4}}
SETS = {"answer": {"kind": "choices"}, "labels": ["cat", "dog", "cow"], "requirement": {"kind": "count", "labels": 4}}
STARS = {"answer": {"kind": "ordinal"}, "labels": ["1", "2", "3"], "requirement": {"kind": "count", "labels": 4}}


async def job_of_kind(client, fields: dict) -> JobClient:
    """Four perfect workers on 12 items; two items are gold."""
    recipe = Recipe(items=12, workers=4, classes=3, skill=Distribution("fixed", 1.0))
    policy = JobPolicy.model_validate(fields)
    crowd = generate_answers(recipe, np.random.default_rng(2), policy.answer)
    made = await client.post("/v1/jobs", json=fields | {"budget": None})
    assert made.status_code == 201, made.text
    job, said = JobClient(client, made.json()), crowd.answer.content
    items = [
        {"key": name} | ({"gold": said(crowd.truth[n].item(), policy.labels)} if n < 2 else {})
        for n, name in enumerate(crowd.items)
    ]
    assert (await client.post(f"{job.path}/items", json=items)).status_code == 201
    for item, worker, label in zip(crowd.item, crowd.worker, crowd.label.tolist(), strict=True):
        answer = {"item": crowd.items[item], "worker": crowd.workers[worker]}
        sent = await client.post(f"{job.path}/answers", json=answer | {crowd.answer.field: said(label, policy.labels)})
        assert sent.status_code == 200, sent.text
    return job


@pytest.mark.parametrize(
    ("fields", "errors"),
    [
        (NUMBER, {"mean_absolute_error", "root_mean_squared_error"}),
        (SETS, {"label_accuracy"}),
        (STARS, {"mean_absolute_error"}),
    ],
    ids=["number", "choices", "ordinal"],
)
async def test_jobs_of_every_kind_are_replayed(client, fields, errors):
    job = await job_of_kind(client, fields)
    operation = await replayed(job, labels_per_item=[4], seeds=2)  # the job, information and round-robin
    assert operation["state"] == "done", operation
    rows = operation["outcome"]["replays"]
    assert [row["policy"] for row in rows] == ["job", "information", "round-robin"]
    for row in rows:
        assert errors < row.keys()
        assert (row["labels"], row["accuracy"]) == (48, 1.0)
    assert rows[0]["resolved"] == 12


@pytest.mark.parametrize(
    ("asked", "pointer", "said"),
    [
        (
            {"policies": ["job", "requallo"]},
            "#/policies/1",
            "requallo cannot be replayed on this job: ratio takes jobs",
        ),
        ({"policies": ["job"], "workers": "choose"}, "#/workers", "Jobs choose workers where answers are choice or"),
    ],
)
async def test_what_does_not_decide_about_numbers_is_refused(client, asked, pointer, said):
    job = await job_of_kind(client, NUMBER)
    response = await job.http.post(f"{job.path}/replay", json=asked)
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["pointer"] == pointer
    assert said in error["message"]
