"""A split over HTTP: exact money, three splits side by side, and the refusal of a request that cannot be split."""

from decimal import Decimal
from xml.etree import ElementTree as ET

import pytest

from app.policy.planning.quotas import majority_error, quotas

GROUPS = [
    {"cost": "0.2", "items": 100, "accuracy": 0.9},
    {"cost": "0.5", "items": 100, "accuracy": 0.8},
    {"cost": "0.7", "items": 100, "accuracy": 0.7},
    {"cost": 1, "items": 100, "accuracy": 0.6},
]


@pytest.fixture
def split(client):
    async def post(**body):
        return await client.post("/v1/plans/split", json={"budget": "500"} | body)

    return post


async def test_groups_get_whole_answers_for_exact_money(split):
    plan = (await split(groups=GROUPS)).json()
    assert plan["items"] == 400
    for name in ("crowdbudget", "uniform", "by_value"):
        shown = plan[name]
        bought = sum(
            Decimal(group["cost"]) * portion["answers"] * portion["items"]
            for group in shown["groups"]
            for portion in group["portions"]
        )
        assert Decimal(shown["spent"]) == bought
        assert Decimal(shown["spent"]) + Decimal(shown["left"]) == 500
        errors = sum(
            float(majority_error(portion["answers"], group["accuracy"])) * portion["items"]
            for group in shown["groups"]
            for portion in group["portions"]
        )
        assert shown["expected_errors"] == pytest.approx(errors)
        assert shown["per_item"] is None
    assert plan["by_value"]["groups"][0]["portions"] == [{"answers": 5, "items": 2}, {"answers": 3, "items": 98}]
    assert plan["recommended"] == "by_value"
    assert plan["lower_bound"] <= plan["by_value"]["expected_errors"] < plan["crowdbudget"]["expected_errors"]


async def test_costs_one_by_one_get_the_quotas_of_the_algorithm(split):
    costs = ["1", "2", "0.5", "2", "1"]
    plan = (await split(budget="37.5", costs=costs, accuracy=0.8)).json()
    assert plan["crowdbudget"]["per_item"] == quotas(Decimal("37.5"), [Decimal(cost) for cost in costs])
    assert [(group["cost"], group["items"]) for group in plan["crowdbudget"]["groups"]] == [
        ("1", 2),
        ("2", 2),
        ("0.5", 1),
    ]
    assert sum(plan["uniform"]["per_item"]) == 29
    assert "equally hard" in plan["reason"]["message"]


async def test_the_setting_of_figure_1(split):
    """K = 100, c = 0.6, d = 0.3, beta = 0.001 (Tran-Thanh et al., AAMAS 2013): at B = 600 ten answers each."""
    plan = (await split(budget="600", groups=[{"cost": "0.6", "items": 100}], accuracy=0.8)).json()
    assert plan["crowdbudget"]["groups"][0]["portions"] == [{"answers": 10, "items": 100}]
    assert plan["crowdbudget"]["hoeffding_bound"] == pytest.approx(16.53, abs=0.01)
    assert plan["guarantees"]["probability"] == pytest.approx(0.9047, abs=1e-3)
    assert float(plan["guarantees"]["theorem_4_budget"]) == pytest.approx(2363, abs=1)
    assert plan["crowdbudget"]["expected_errors"] < plan["guarantees"]["theorem_1_bound"]


async def test_what_is_wanted_has_a_price(split):
    """And with that price, it is what one gets."""
    wanted = (await split(groups=GROUPS, target={"error_rate": 0.1})).json()["target"]
    assert wanted["errors"] == 40
    for name in ("crowdbudget", "uniform", "by_value"):
        again = (await split(budget=wanted[name], groups=GROUPS)).json()
        assert 39 < again[name]["expected_errors"] <= 40
    assert Decimal(wanted["by_value"]) < Decimal(wanted["uniform"]) < Decimal(wanted["theorem_1_budget"])


@pytest.mark.parametrize(
    ("body", "pointer", "words"),
    [
        ({"costs": ["1", "0"]}, "#/costs/1", "more than 0"),
        ({"groups": [{"cost": "-1", "items": 3}]}, "#/groups/0/cost", "more than 0"),
        ({"groups": [{"cost": "1", "items": 0}]}, "#/groups/0/items", "at least 1"),
        ({"groups": [{"cost": "1", "items": 3, "accuracy": 0.5}]}, "#/groups/0/accuracy", "0.51"),
        ({"costs": ["1"], "accuracy": 0.5}, "#/accuracy", "0.51"),
        ({"costs": ["1"], "budget": "0.99"}, "#/budget", "at least 1, "),
        ({"costs": ["1"] * 10_001}, "#/costs", "10,000"),
        ({"costs": [f"1.{n:04}" for n in range(300)]}, "#/costs", "200 different costs, not 300"),
        ({"costs": ["1"], "groups": GROUPS}, "#", "`costs` or `groups`"),
        ({}, "#", "`costs` or `groups`"),
        ({"costs": ["1"], "target": {}}, "#/target", "`errors` or `error_rate`"),
        ({"costs": ["1"], "doubt": 0}, "#/doubt", "at least"),
    ],
)
async def test_what_cannot_be_split_is_refused_by_name(split, body, pointer, words):
    response = await split(**body)
    assert response.status_code == 422
    (problem,) = [each for each in response.json()["errors"] if each["pointer"] == pointer]
    assert words in problem["message"]


async def test_of_thousands_of_bad_costs_the_first_is_named(split):
    response = await split(costs=["0"] * 10_000)
    assert [each["pointer"] for each in response.json()["errors"]] == ["#/costs/0"]


async def test_the_picture_names_what_it_shows(client):
    response = await client.post(
        "/v1/plans/split.svg", json={"budget": "500", "groups": GROUPS, "target": {"errors": 4}}
    )
    assert response.headers["content-type"] == "image/svg+xml"
    root = ET.fromstring(response.content)  # noqa: S314  our own picture
    texts = {each.text for each in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"CrowdBudget", "budget (money)", "items that will be wrong (%)", "requested budget: 500", "target"} <= texts


SMALL = [{"cost": "0.2", "items": 3, "accuracy": 0.9}, {"cost": "1", "items": 3, "accuracy": 0.6}]


async def spent_by_a_job(client, offer: dict, costs: list[str], price: str = "1") -> list[int]:
    """Create the job that the plan offers, let new workers answer until the money is gone, and count the answers."""
    created = await client.post("/v1/jobs", json={"labels": ["cat", "dog"], "plan": offer})
    assert created.status_code == 201, created.text
    path = f"/v1/jobs/{created.json()['id']}"
    workers = [{"worker": f"w{number}", "price": price} for number in range(80)]
    await client.post(f"{path}/workers", json=workers)
    await client.post(f"{path}/items", json=[{"key": f"i{n}", "cost": cost} for n, cost in enumerate(costs)])
    for number in range(80):
        given = (await client.post(f"{path}/next", json={"worker": f"w{number}"})).json()["assignments"]
        if not given:
            break
        await client.post(f"{path}/answers", json={"assignment": given[0]["id"], "label": "cat"})
    results = (await client.get(f"{path}/results")).json()["results"]
    return [sum(one["votes"].values()) for one in results]


async def test_a_split_by_value_is_a_job(client, split):
    """Sent as it stands, the offer buys what the plan says: the split with the fewest expected errors."""
    plan = (await split(budget="4.8", groups=SMALL)).json()
    assert plan["recommended"] == "by_value"
    assert plan["offer"]["allocation"]["kind"] == "by-value"
    planned = [
        portion["answers"]
        for group in plan["by_value"]["groups"]
        for portion in group["portions"]
        for _ in range(portion["items"])
    ]
    assert plan["by_value"]["left"] == "0"
    given = await spent_by_a_job(client, plan["offer"], ["0.2"] * 3 + ["1"] * 3)
    assert [sorted(given[:3]), sorted(given[3:])] == [sorted(planned[:3]), sorted(planned[3:])]


async def test_a_price_is_seen_by_the_plan_and_by_its_job(client, split):
    """Half the price is twice the budget: CrowdBudget's quotas, and the job that has them, of items as hard."""
    costs = ["0.2", "0.5", "0.7", "1"]
    cheap = (await split(budget="10", costs=costs, price="0.5")).json()
    assert cheap["crowdbudget"]["per_item"] == [54, 8, 4, 2]
    assert (await split(budget="20", costs=costs)).json()["crowdbudget"]["per_item"] == [54, 8, 4, 2]
    offer = cheap["offer"] | {"allocation": {"kind": "crowdbudget"}, "requirement": {"kind": "count", "labels": 54}}
    given = await spent_by_a_job(client, offer | {"max_votes_per_label": None}, costs, price="0.5")
    assert given == [54, 8, 4, 2]


async def test_a_split_that_costs_cannot_tell_is_offered_without_it(split):
    """Two groups of one cost and different accuracy: an item of the job would not say to which it belongs."""
    same = [{"cost": "0.5", "items": 3, "accuracy": 0.9}, {"cost": "0.5", "items": 3, "accuracy": 0.6}]
    plan = (await split(budget="6", groups=same)).json()
    assert plan["recommended"] == "by_value"
    assert plan["offer"]["allocation"]["kind"] in {"crowdbudget", "round-robin"}
