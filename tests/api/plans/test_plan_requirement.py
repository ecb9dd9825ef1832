"""A requirement planned over HTTP is one that a job takes, and what cannot be reached is named."""

import re
from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

KINDS = {"ratio", "significance", "margin", "posterior", "profit", "online-majority", "count"}


@pytest.fixture
def planned(client):
    async def post(**body):
        return await client.post("/v1/plans/requirement", json={"accuracy": 0.9, "job": "counted-votes"} | body)

    return post


async def test_every_kind_is_told_and_the_cheapest_comes_first(planned):
    plan = (await planned(accuracy=0.95, items=1000, cost="0.05")).json()
    assert {kind["kind"] for kind in plan["kinds"]} == KINDS
    first = plan["kinds"][0]
    assert plan["cheapest"] == plan["reason"]["code"] == first["kind"] == "posterior"
    assert plan["offer"]["requirement"] == first["requirement"] == {"kind": "posterior", "min_probability": 0.942}
    assert first["accuracy"] >= 0.95
    assert first["answers_per_resolved_item"] == pytest.approx(first["answers_per_item"] / first["resolved"], rel=1e-3)
    assert Decimal(first["total_cost"]) == pytest.approx(Decimal(first["answers_per_item"] * 50), abs=Decimal("0.01"))
    for kind in plan["kinds"]:
        assert kind["reaches_accuracy"] == (kind["max_accuracy"] >= 0.95)
        assert kind["reaches_accuracy"] == (kind["accuracy"] >= 0.95)


@pytest.mark.parametrize(
    "limits",
    [{}, {"min_labels": 3}, {"max_labels": 9, "max_votes_per_label": None}, {"min_labels": 2, "max_labels": 11}],
)
async def test_a_job_takes_what_was_planned(client, planned, limits):
    """Every kind, under the same limits; pasted as it stands."""
    plan = (await planned(accuracy=0.85, cost="0.3", **limits)).json()
    for kind in plan["kinds"]:
        offer = plan["offer"] | {"requirement": kind["requirement"]}
        body = {"labels": ["cat", "dog"], "budget": "10", "plan": offer}
        created = await client.post("/v1/jobs", json=body)
        assert created.status_code == 201, (kind, created.text)
        assert created.json()["requirement"] == kind["requirement"]


async def test_an_item_of_such_a_job_closes_where_the_plan_says(planned, new_job):
    """A plan for `count` of so many labels is a job of so many labels per item."""
    plan = (await planned(accuracy=0.85, max_labels=9)).json()
    count = next(kind for kind in plan["kinds"] if kind["kind"] == "count")
    job = await new_job(items=1, plan=plan["offer"], requirement=count["requirement"], max_labels=9)
    for number in range(count["requirement"]["labels"]):
        assert (await job.results())[0]["state"] == "open"
        assert (await job.answer("i1", f"w{number}", "cat")).status_code == 200
    assert (await job.results())[0]["state"] == "resolved"


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        ({"accuracy": 0.99}, "#/accuracy", "Must be at most 0.96"),
        ({"accuracy": 0.5}, "#/accuracy", "more than 0.5"),
        ({"prior": {"a": 2, "b": 2}}, "#/prior", "must be more than"),
        ({"max_votes_per_label": None}, "#", "`max_labels` or `max_votes_per_label`"),
        ({"min_labels": 10, "max_labels": 9}, "#", "min_labels (10)"),
        ({"max_labels": 61}, "#/max_labels", "60"),
        ({"max_labels": 2, "min_labels": 2, "min_resolved": 0.99}, "#/min_resolved", "Must be lower"),
        ({"cost": 0}, "#/cost", "more than 0"),
    ],
)
async def test_what_cannot_be_planned_is_refused_by_name(planned, body, pointer, words):
    response = await planned(**body)
    assert response.status_code == 422
    (problem,) = [each for each in response.json()["errors"] if each["pointer"] == pointer]
    assert words in problem["message"]


async def test_the_ceiling_is_named_and_can_be_had(planned):
    detail = (await planned(accuracy=0.99)).json()["detail"]
    kind, ceiling = re.search(r"(\w+) reaches ([\d.]+)", detail).groups()
    assert float(ceiling) == pytest.approx(0.9616, abs=0.002)
    assert (await planned(accuracy=float(ceiling))).json()["cheapest"] == kind
    assert (await planned(accuracy=float(ceiling) + 0.001)).status_code == 422


async def test_the_picture_has_a_line_for_each_kind(client):
    response = await client.post(
        "/v1/plans/requirement", json={"accuracy": 0.9, "job": "counted-votes"}, headers={"Accept": "image/svg+xml"}
    )
    root = ET.fromstring(response.content)  # noqa: S314  our own picture
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert KINDS | {"required", "labels per item", "resolved items that are right (%)"} <= texts
