"""What accuracy costs, over HTTP: the curve, the point that fits the request, the chart, and the refusals."""

from xml.etree import ElementTree as ET

import numpy as np
import pytest

PATH = "/v1/plans/accuracy-cost"


@pytest.fixture
def plan(client):
    async def post(**body):
        response = await client.post(PATH, json={"job": "counted-votes"} | body)
        assert response.status_code == 200, response.text
        return response.json()

    return post


async def test_the_whole_curve(plan):
    """B(6, 2): asking nobody is best up to a loss of four answers (Theorem 4.4), and cost and accuracy only grow."""
    told = await plan()
    points = told["points"]
    assert points[0] == {"accuracy": 0.5, "answers": 0.0, "cost": "0", "loss": "0"}
    assert points[1] == {"accuracy": 0.75, "answers": 1.0, "cost": "1", "loss": "4"}
    for name in ("accuracy", "answers", "cost", "loss"):
        column = [float(point[name]) for point in points]
        assert column == sorted(column)
    assert (
        told["max_accuracy"]["with_max_workers"]
        == points[-1]["accuracy"]
        < told["max_accuracy"]["with_any_number"]
        == 0.9375
    )
    assert told["chosen"] is None
    assert told["prior"]["source"] == "beta"
    assert [fixed["answers"] for fixed in told["majorities"]] == list(range(1, 40, 2))


async def test_the_best_strategies_beat_fixed_numbers(plan):
    """For what a fixed number costs, strategies of the curve, two of them mixed where need be, are at least as good."""
    told = await plan(max_workers=25)
    costs, accuracies = zip(*((float(point["cost"]), point["accuracy"]) for point in told["points"]), strict=True)
    for fixed in told["majorities"]:
        assert np.interp(float(fixed["cost"]), costs, accuracies) > fixed["accuracy"] - 1e-6


async def test_money_scales_with_the_cost_of_an_answer(plan):
    one, cents = await plan(max_workers=10), await plan(max_workers=10, cost="0.05")
    for whole, part in zip(one["points"], cents["points"], strict=True):
        assert part["accuracy"] == whole["accuracy"]
        for name in ("cost", "loss"):
            assert float(part[name]) == pytest.approx(float(whole[name]) / 20, abs=1e-6)


async def test_a_point_by_its_loss(plan):
    """At a loss of 25 answers and up to three of them: one more after the first, and a third to break a tie."""
    chosen = (await plan(max_workers=3, at={"loss": 25}))["chosen"]
    actions = {(status["first"], status["second"]): status["action"] for status in chosen["statuses"]}
    assert actions == {(0, 0): "continue", (1, 0): "continue", (1, 1): "continue", (2, 0): "stop", (2, 1): "stop"}
    assert chosen["votes_to_win"] == [{"against": 0, "needed": 2}, {"against": 1, "needed": 2}]
    assert (chosen["loss"], chosen["loss_below"]) == ("20", None)
    start = chosen["statuses"][0]
    assert (start["accuracy"], start["answers"], start["reached"]) == pytest.approx(
        (chosen["accuracy"], chosen["answers"], 1), abs=1e-4
    )


async def test_a_point_by_accuracy_and_by_cost(plan):
    told = await plan(at={"accuracy": 0.9})
    chosen = told["chosen"]
    place = [point["accuracy"] for point in told["points"]].index(chosen["accuracy"])
    assert told["points"][place - 1]["accuracy"] < 0.9 <= chosen["accuracy"]
    same = (await plan(at={"cost": chosen["cost"]}))["chosen"]
    assert same["accuracy"] in (chosen["accuracy"], told["points"][place - 1]["accuracy"])  # money has six decimals
    assert (await plan(at={"cost": float(chosen["cost"]) + 1e-6}))["chosen"]["accuracy"] == chosen["accuracy"]


async def test_every_point_has_the_strategy_that_it_promises(plan):
    """The table of a point begins with the point's own accuracy and answers."""
    told = await plan(max_workers=12)
    for point in told["points"]:
        chosen = (await plan(max_workers=12, at={"accuracy": point["accuracy"]}))["chosen"]
        start = chosen["statuses"][0]
        assert (start["accuracy"], start["answers"]) == pytest.approx((point["accuracy"], point["answers"]), abs=1e-4)


def _broken_line(accuracy):
    if accuracy < 0.6:
        return 0
    return 25 * (accuracy - 0.6) / 0.3 if accuracy < 0.9 else 25 + 10 * (accuracy - 0.9)


@pytest.mark.parametrize(
    ("value", "worth"),
    [
        ({"kind": "linear", "value": 10, "loss": 60}, lambda a: 10 - 60 * (1 - a)),
        ({"kind": "step", "accuracy": 0.85, "value": 30}, lambda a: 30 if a >= 0.85 else 0),
        ({"kind": "points", "points": [[0.6, 0], [0.9, 25], [1, 26]]}, _broken_line),
    ],
)
async def test_the_best_value_by_hand(plan, value, worth):
    told = await plan(value=value, cost="0.5")
    profits = [worth(point["accuracy"]) - 0.5 * point["answers"] for point in told["points"]]
    best = max(range(len(profits)), key=profits.__getitem__)
    chosen = told["chosen"]
    assert chosen["accuracy"] == pytest.approx(told["points"][best]["accuracy"], abs=1e-3)
    assert float(chosen["profit"]) == pytest.approx(profits[best], abs=1e-3)
    assert chosen["reason"]["code"] == "largest-profit"


async def test_constraints_bound_the_choice(plan):
    rich = {"kind": "linear", "value": 0, "loss": 1000}
    free, tight = await plan(value=rich), await plan(value=rich, max_cost="4")
    assert float(free["chosen"]["cost"]) > 4 >= float(tight["chosen"]["cost"]) > 3
    shared = await plan(value=rich, budget=400, items=100)
    assert shared["chosen"] == tight["chosen"]
    assert (await plan(max_cost=4))["chosen"]["accuracy"] == tight["chosen"]["accuracy"]
    poor = {"kind": "linear", "value": 0, "loss": 1}
    assert (await plan(value=poor))["chosen"]["answers"] == 0
    pushed = await plan(value=poor, min_accuracy=0.8)
    assert pushed["chosen"] | {"reason": 0} == (await plan(min_accuracy=0.8))["chosen"] | {
        "reason": 0,
        "worth": pushed["chosen"]["worth"],
        "profit": pushed["chosen"]["profit"],
    }


async def test_from_a_pilot(plan):
    votes = [[9, 1], [10, 0], [6, 4], [8, 2], [10, 0], [7, 3], [5, 5], [9, 1], [10, 0], [8, 2], [9, 1], [2, 8]]
    told = (await plan(prior={"kind": "pilot", "votes": votes}, max_workers=5))["prior"]
    assert (told["source"], told["items"], told["answers"]) == ("pilot", 12, 120)
    assert told["interval"]["low"] <= told["mean_accuracy"] <= told["interval"]["high"]


REFUSED = [
    ({"prior": {"kind": "beta", "a": 2, "b": 3}}, "#/prior", "must be more than b"),
    ({"prior": {"kind": "beta", "a": 0, "b": 3}}, "#/prior/a", "at least"),
    ({"prior": {"kind": "pilot", "votes": [[4, 1]]}}, "#/prior/votes", "At least 10 items"),
    ({"prior": {"kind": "pilot", "votes": [[4]]}}, "#/prior/votes/0", "at least 2"),
    ({"prior": {"kind": "guess"}}, "#/prior", "kind"),
    ({"cost": 0}, "#/cost", "more than 0"),
    ({"cost": "-1"}, "#/cost", "more than 0"),
    ({"max_workers": 101}, "#/max_workers", "100"),
    ({"at": {"accuracy": 0.95}}, "#/at/accuracy", "at most 0.9215"),
    ({"min_accuracy": 0.93}, "#/min_accuracy", "no number of answers can exceed 0.9375"),
    ({"value": {"kind": "step", "accuracy": 0.99, "value": 1}}, "#/value/accuracy", "at most 0.9215"),
    ({"max_cost": "0.5"}, "#/max_cost", "at least 1, which pays for one answer"),
    ({"cost": "2", "budget": 100, "items": 51}, "#/budget", "at least 102, which pays for one answer for each of 51"),
    ({"at": {"cost": "0.5"}}, "#/at/cost", "at least 1"),
    ({"at": {"cost": "0"}}, "#/at/cost", "more than 0"),
    ({"min_accuracy": 0.9, "max_cost": 3}, "#/min_accuracy", "per item; `max_cost` allows"),
    ({"budget": 5}, "#", "`budget` needs `items`"),
    ({"budget": 5, "items": 1, "max_cost": 5}, "#", "not both"),
    ({"at": {"loss": 5}, "min_accuracy": 0.8}, "#", "leave out"),
    ({"at": {"loss": 5, "cost": 5}}, "#/at", "one of"),
    ({"at": {}}, "#/at", "one of"),
    ({"value": {"kind": "points", "points": [[0.9, 1], [0.8, 2]]}}, "#/value/points", "must increase"),
    ({"value": {"kind": "linear", "value": -1, "loss": 2}}, "#/value/value", "at least 0"),
    ({"colour": "red"}, "#/colour", "Unknown field"),
]


@pytest.mark.parametrize(("body", "pointer", "message"), REFUSED)
async def test_what_cannot_be_is_refused_by_name(client, body, pointer, message):
    response = await client.post(PATH, json=body if "colour" in body else {"job": "counted-votes"} | body)
    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    (error,) = response.json()["errors"]
    assert (error["pointer"], message in error["message"]) == (pointer, True), error


@pytest.mark.parametrize("address", [PATH, f"{PATH}.svg"])
async def test_the_picture(client, address):
    accept = {} if address.endswith("svg") else {"Accept": "image/svg+xml"}
    response = await client.post(address, json={"value": {"kind": "entropy", "value": 40}}, headers=accept)
    assert response.headers["content-type"] == "image/svg+xml"
    texts = {each.text for each in ET.fromstring(response.content).iter("{http://www.w3.org/2000/svg}text")}  # noqa: S314
    assert "expected cost per item (money)" in texts
    assert "accuracy of the result" in texts
    assert any(text.startswith("chosen: accuracy 0.") for text in texts)
