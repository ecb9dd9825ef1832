"""`results?aggregation=` takes every aggregation of the catalog, with its parameters."""

import json

import pytest

from app.policy.catalog import catalog
from tests.jobs import LEARNING, PLAIN_VOTES

KINDS = [entry.kind for entry in catalog()["aggregation"]]
OPEN = {"requirement": {"kind": "count", "labels": 9}}  # so that no item is decided
VOTES = {"w1": ("cat", "dog", "cat"), "w2": ("cat", "dog", "cat"), "w3": ("cat", "dog", "dog")}


async def three_items(new_job, **policy: object):
    job = await new_job(items=3, **policy)
    for worker, labels in VOTES.items():
        for number, label in enumerate(labels, 1):
            assert (await job.answer(f"i{number}", worker, label)).status_code == 200
    return job


async def confidences(job, **aggregation: object) -> list[float]:
    return [one["confidence"] for one in await job.results(aggregation=json.dumps(aggregation))]


async def refused(job, aggregation: str) -> tuple[str, str]:
    response = await job.http.get(f"{job.path}/results", params={"aggregation": aggregation})
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    return error["pointer"], error["message"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answers", [PLAIN_VOTES, LEARNING])
async def test_every_aggregation_of_the_catalog_labels_the_results(new_job, kind, answers):
    """KOS fails where most items have the same label; the others agree with the majority."""
    job = await three_items(new_job, **answers | OPEN)
    shown = await job.results(aggregation=kind)
    assert shown == await job.results(aggregation=json.dumps({"kind": kind}))
    assert [one["label"] for one in shown] == ["cat", "dog", "cat"] or kind == "kos"


async def test_parameters_decide_the_result(new_job):
    """One M step by hand: odds of the third item 3.5 * 3.5 / 2.6 with Beta(2, 1), 3 * 3 / 2.2 with Beta(3, 2)."""
    job = await three_items(new_job, **PLAIN_VOTES | OPEN)
    once = {"kind": "one-coin", "max_iterations": 1}
    strong, weak, third = 14 / 4, (3 + 8 / 3) / (2 + 1 / 3), (3 + 7 / 3) / (2 + 2 / 3)
    assert (await confidences(job, **once))[2] == pytest.approx(1 - 1 / (1 + strong**2 / (13 / 5)), abs=1e-6)
    by_prior = await confidences(job, **once, prior_right=3, prior_wrong=2)
    assert by_prior[2] == pytest.approx(1 - 1 / (1 + weak**2 / third), abs=1e-6)
    assert (await confidences(job, kind="one-coin"))[2] != pytest.approx(0.824916, abs=1e-3)


async def test_the_model_is_that_of_the_job(new_job):
    """Majority has 2 of 3 votes; the job's worker model has what an item shows as its posterior."""
    job = await three_items(new_job, **PLAIN_VOTES | OPEN | {"worker_model": {"kind": "two-coin"}})
    shown = await job.results(aggregation="model")
    for one in shown:
        item = (await job.http.get(f"{job.path}/items/{one['item']}")).json()
        assert one["confidence"] == pytest.approx(item["posterior"][one["label"]], abs=1e-6)
    assert shown != await job.results(aggregation="majority")


@pytest.mark.parametrize("aggregation", ["model", '{"kind": "glad", "ascent_steps": 1}'])
async def test_an_export_takes_the_parameter_as_a_page_does(new_job, aggregation):
    job = await three_items(new_job, **PLAIN_VOTES | OPEN)
    asked = {"params": {"aggregation": aggregation}, "headers": {"Accept": "application/x-ndjson"}}
    lines = (await job.http.get(f"{job.path}/results", **asked)).text.splitlines()
    assert [json.loads(line) for line in lines] == await job.results(aggregation=aggregation)


@pytest.mark.parametrize(
    ("aggregation", "pointer", "words"),
    [
        ("magic", "?aggregation", "choose one of model, majority"),
        ('{"smoothing": 1}', "?aggregation", "Must have a `kind`"),
        ('{"kind": "glad"', "?aggregation", "or a JSON object"),
        ('{"kind": "glad", "ascent_step": 1}', "?aggregation/ascent_step", "did you mean `ascent_steps`?"),
        ('{"kind": "dawid-skene", "smoothing": 200}', "?aggregation/smoothing", "Must be at most 100"),
        ('{"kind": "model", "prior": 1}', "?aggregation/prior", "the known fields are kind"),
        ("x" * 1001, "?aggregation", "at most 1,000 characters"),
    ],
)
async def test_a_wrong_parameter_is_refused_by_name(new_job, aggregation, pointer, words):
    found, message = await refused(await new_job(items=1), aggregation)
    assert found == pointer
    assert words in message


async def test_numbers_have_no_other_aggregation(client):
    body = {"answer": {"kind": "number", "low": 0, "high": 10}, "budget": "9"}
    path = f"/v1/jobs/{(await client.post('/v1/jobs', json=body)).json()['id']}/results"
    assert (await client.get(path, params={"aggregation": "model"})).status_code == 200
    response = await client.get(path, params={"aggregation": "majority"})
    assert response.status_code == 422
    assert response.json()["errors"] == [
        {
            "pointer": "?aggregation",
            "message": "majority takes jobs whose answers are choice or choices or ordinal, not number",
        }
    ]
