"""Three plans that are asked for one thing, 95 % of 500 items at 3 cents, do not contradict each other."""

from decimal import Decimal

import pytest

REQUEST = {"labels": ["cat", "dog"], "items": 500, "answer_cost": "0.03"}
ASKED = {
    "requirement": {"accuracy": 0.95},
    "accuracy-cost": {"min_accuracy": 0.95},
    "forecast": {"requirement": {"kind": "posterior", "min_probability": 0.95}},
}


@pytest.fixture
def plan(client):
    async def post(kind, **more):
        response = await client.post(f"/v1/plans/{kind}", json=REQUEST | ASKED[kind] | more)
        assert response.status_code == 200, response.text
        return response.json()

    return post


@pytest.mark.parametrize("prior", [{}, {"prior": {"kind": "beta", "a": 6, "b": 2}}])
async def test_all_say_the_same_of_a_default_job(plan, prior):
    """Cost, answers, items and accuracy, with a prior and without; and each offers this job."""
    forecast = await plan("forecast", **prior)
    for kind in ("requirement", "accuracy-cost"):
        other = await plan(kind, **prior)
        same = {name: forecast[name] for name in ("cost", "answers", "resolved", "accuracy")}
        assert {name: other["default_job"][name] for name in same} == same
        assert other["offer"]["promise"] == forecast["offer"]["promise"]
        for name in ("requirement", "worker_model", "aggregation", "max_labels", "max_votes_per_label"):
            assert other["offer"][name] == forecast["offer"][name]
    low, high = (Decimal(forecast["cost"][end]) for end in ("low", "high"))
    assert 0 < low < Decimal(forecast["cost"]["expected"]) < high < Decimal("0.03") * 500 * 27


async def test_each_says_for_which_kind_of_job_its_other_figures_speak(plan):
    """Counted votes cannot be right that often on all items, and cost more on most of them."""
    accuracy_cost, requirement = await plan("accuracy-cost"), await plan("requirement")
    assert accuracy_cost["chosen"] is None
    assert "no number of answers can exceed 0.9375" in accuracy_cost["out_of_reach"]
    assert requirement["kinds"][0]["reaches_accuracy"]
    for told in (accuracy_cost, requirement):
        assert "counts votes of equally good workers" in told["default_job"]["message"]


async def test_a_plan_does_not_pass_over_that_labels_will_be_right_less_often_than_asked(plan):
    told = (await plan("accuracy-cost"))["default_job"]
    assert told["accuracy"]["expected"] < 0.93
    assert f"expect about {told['accuracy']['expected']:.2f} of the labels to be right, not 0.95" in told["message"]
    modest = await plan("accuracy-cost", min_accuracy=0.6)
    assert "gold" not in modest["default_job"]["message"]


async def test_counted_votes_are_offered_to_those_who_ask_for_them(plan):
    told = await plan("requirement", job="counted-votes")
    assert told["default_job"] is None
    assert told["offer"]["worker_model"]["kind"] == "anonymous"
