"""Every policy can be configured over HTTP, and the service decides as the pure engine does."""

import asyncio

import pytest

from app.policy.catalog import catalog
from tests.jobs import ANSWERS, KINDS
from tests.promises.replay import history_of, replayed

CATALOG = catalog()
NEEDED = {
    "profit": {"value": 50, "loss": 50},
    "count": {"labels": 3},
    "online-majority": {"labels": 5},
    "precision": {"half_width": 8},
    "all": {"of": [{"kind": "ratio"}, {"kind": "count", "labels": 4}]},
    "any": {"of": [{"kind": "posterior"}, {"kind": "count", "labels": 4}]},
    "margin": {"rounding": "random"},
    "spam-filter": {"alpha": 0.4, "min_labels": 3},
}
ONLY_NUMBERS = {"precision", "number"}  # kinds of policies
EVERY = [
    pytest.param(
        "number" if entry.kind in ONLY_NUMBERS else "choice",
        family,
        {"kind": entry.kind} | NEEDED.get(entry.kind, {}),
        id=f"{family}-{entry.kind}",
    )
    for family, entries in CATALOG.items()
    for entry in entries
    if family != "answer"
] + [pytest.param(kind, "answer", fields.get("answer", {"kind": "choice"}), id=kind) for kind, fields in KINDS.items()]


def truth(number: int) -> str:
    return "cat" if number % 2 else "dog"


async def label_everything(job, workers: int, kind: str = "choice") -> None:
    """Workers of different quality ask and answer at once until there is nothing left to do."""

    async def work(number: int) -> None:
        while (ask := await job.next(f"w{number}", count=2))["status"] == "continue":
            for one in ask["assignments"]:
                item = int(one["item"][1:])
                slip = (item * 7 + number * 5) % 11 < number
                await job.say(one["item"], f"w{number}", **ANSWERS[kind](item + slip))

    await asyncio.gather(*(work(number) for number in range(workers)))


@pytest.mark.parametrize(("kind", "family", "policy"), EVERY)
async def test_a_job_runs_to_its_end_and_can_be_replayed(new_job, database, kind, family, policy):
    """The committed answers, in order, through the pure engine: the same votes, evidence, skills and verdicts."""
    fields = {"budget": "60", "seed": 5, "refit": None} | KINDS[kind] | {family: policy}
    job = await new_job(costs=["1", "0.5", "2"] * 3, **fields)
    await label_everything(job, workers=5, kind=kind)
    status = await job.status()
    assert status[family]["kind"] == policy["kind"]
    assert status["answers"] > 9
    assert float(status["reserved"]) == 0
    results = await job.results()
    history = await history_of(database, job.id)
    replay, answer = replayed(history), history.policy.answer
    if family != "aggregation" and kind != "number":  # whose results are estimates
        for item_id, verdict in replay.closed.items():
            if verdict.label is not None:
                assert results[item_id - 1][answer.field] == answer.content(verdict.label, history.policy.labels)


async def test_the_catalog_lists_every_kind_with_schema_formula_and_paper(client):
    listed = (await client.get("/v1/catalog")).json()
    kinds = {family: [policy["kind"] for policy in policies] for family, policies in listed.items()}
    assert kinds["answer"] == ["choice", "choices", "ordinal", "number"]
    assert kinds["requirement"] == [
        "ratio",
        "significance",
        "margin",
        "posterior",
        "profit",
        "online-majority",
        "count",
        "precision",
        "all",
        "any",
    ]
    assert set(kinds["allocation"]) == {
        "requallo",
        "opt-kg",
        "kg",
        "cvar-kg",
        "label-uncertainty",
        "round-robin",
        "random",
        "dispatch",
        "crowdbudget",
        "by-value",
        "information",
    }
    assert set(kinds["worker_model"]) == {
        "anonymous",
        "tiers",
        "spam-filter",
        "weighted",
        "one-coin",
        "two-coin",
        "confusion",
        "auto",
        "number",
    }
    assert set(kinds["aggregation"]) == {"model", "majority", "weighted", "one-coin", "dawid-skene", "glad", "kos"}
    assert kinds["worker_choice"] == ["pull", "ucb", "pair"]
    for policy in [policy for policies in listed.values() for policy in policies]:
        assert policy["description"].endswith("."), policy
        assert policy["formula"], policy
        assert any(character.isdigit() for character in policy["citation"]), policy
        assert "kind" in policy["parameters"]["properties"], policy


@pytest.mark.parametrize(
    ("policy", "pointer"),
    [
        ({"requirement": {"kind": "significance", "alpha": 2}}, "#/requirement/alpha"),
        ({"requirement": {"kind": "profit", "value": 1, "loss": 1, "prior": [2, 3]}}, "#/requirement/prior"),
        ({"requirement": {"kind": "any", "of": [{"kind": "margin", "c": -1}]}}, "#/requirement/of/0/c"),
        ({"allocation": {"kind": "cvar-kg", "alpha": 0}}, "#/allocation/alpha"),
        ({"worker_model": {"kind": "one-coin", "prior": [0, 1]}}, "#/worker_model/prior/0"),
        ({"worker_model": {"kind": "spam-filter", "alpha": 0.1, "min_labels": 2}}, "#/worker_model"),
        ({"labels": ["a", "b", "c"], "worker_model": {"kind": "two-coin"}}, "#/worker_model"),
        ({"labels": [f"l{n}" for n in range(101)], "worker_model": {"kind": "confusion"}}, "#/worker_model"),
        (
            {"worker_model": {"kind": "tiers", "tiers": {"\x00": {"initial": 1, "growth": 1}}}},
            "#/worker_model/tiers/\x00",
        ),
        ({"aggregation": {"kind": "dawid-skene", "max_iterations": 0}}, "#/aggregation/max_iterations"),
    ],
)
async def test_a_wrong_parameter_is_pointed_at(client, policy, pointer):
    response = await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "budget": 1} | policy)
    assert response.status_code == 422, response.text
    assert [error["pointer"] for error in response.json()["errors"]] == [pointer]


async def test_results_can_be_labeled_by_another_aggregation(new_job, client):
    """Two careful workers against a third who answers at random elsewhere: the fitted models side with the careful."""
    job = await new_job(items=12, requirement={"kind": "count", "labels": 3})
    for number in range(1, 13):
        for worker in ("careful", "exact"):
            await job.answer(f"i{number}", worker, truth(number))
        await job.answer(f"i{number}", "clicker", "cat")
    for kind in ("majority", "weighted", "one-coin", "dawid-skene", "glad"):
        results = await job.results(aggregation=kind)
        assert [result["label"] for result in results] == ["cat", "dog"] * 6, kind
    assert (await client.get(f"{job.path}/results", params={"aggregation": "magic"})).status_code == 422


@pytest.mark.parametrize("form", ["application/json", "text/csv"])
async def test_no_results_are_labeled_by_any_aggregation(new_job, client, form):
    """A state in which no item is gives an empty set, not a failure, by a fit as by votes."""
    job = await new_job(items=2)
    query = {"aggregation": "dawid-skene", "state": "given_up"}
    response = await client.get(f"{job.path}/results", params=query, headers={"Accept": form})
    assert response.status_code == 200, response.text
    assert "i1" not in response.text


async def test_an_item_prior_counts_as_evidence(new_job, client):
    """Two items with one vote each; the one whose prior agrees is surer."""
    job = await new_job(requirement={"kind": "posterior", "min_probability": 0.9})
    rows = [{"key": "plain"}, {"key": "backed", "prior": {"cat": 0.9, "dog": 0.1}}]
    await client.post(f"{job.path}/items", json=rows)
    plain = (await job.answer("plain", "w1", "cat")).json()
    backed = (await job.answer("backed", "w1", "cat")).json()
    assert plain["confidence"] == 0.75
    assert backed["confidence"] > 0.85


async def test_an_item_that_never_pays_is_given_up_at_once(new_job):
    """An answer costs more than a wrong label would: nothing is asked, and the reason says so."""
    job = await new_job(costs=["1", "100"], requirement={"kind": "profit", "value": 50, "loss": 50})
    assert (await job.status())["items"] == {"open": 1, "resolved": 0, "given_up": 1}
    [given_up] = await job.results(state="given_up")
    assert (given_up["item"], given_up["reason"]["code"]) == ("i2", "does-not-pay")
    refused = await job.answer("i2", "w1", "cat")
    assert (refused.status_code, refused.json()["code"]) == (409, "item-closed")
