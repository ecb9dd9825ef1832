"""A job is compared with its plan in proportion: a half-finished job with half of the promise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.planning.plan_check import ExpectedEnd, ProjectedInterval, Promise, SoFar, compare

shares = st.floats(0.15, 1.0)
costs = st.floats(0.01, 1000.0)


def stands(done=0.5, cost_per_item=3.0, items=200, resolved=0, given_up=0):
    """A job with this share of the work done, at a pace that leads to this cost per item."""
    spent = items * done * cost_per_item
    return SoFar(items, resolved, given_up, max(int(spent), 20), spent, done)


def forecast_of(cost=(2.9, 3.1), labels=(2.9, 3.1), resolved=(0.95, 1.0), accuracy=(0.9, 0.97)):
    return ExpectedEnd(
        ProjectedInterval(*cost), ProjectedInterval(*labels), ProjectedInterval(*resolved), ProjectedInterval(*accuracy)
    )


@given(shares, costs)
def test_a_job_that_goes_as_promised_is_on_track_at_any_time(done, cost):
    found = compare(Promise(cost_per_item=cost), stands(done, cost))
    assert (found.basis, found.reason.code) == ("projection", "on-track")


@given(shares, costs, st.floats(1.4, 10.0))
def test_half_as_much_again_is_more_expensive_and_cheaper_the_other_way(done, cost, factor):
    assert compare(Promise(cost_per_item=cost), stands(done, cost * factor)).reason.code == "more-expensive"
    assert compare(Promise(cost_per_item=cost * factor), stands(done, cost)).reason.code == "cheaper"


def test_nothing_is_said_too_early():
    """A few answers or a small share of the work are not compared, unless there is a forecast."""
    early = SoFar(1000, 0, 0, 19, 19.0, 0.5), SoFar(1000, 0, 0, 90, 90.0, 0.03)
    for so_far in early:
        assert compare(Promise(cost_per_item=3), so_far).reason.code == "too-early"
    assert compare(Promise(cost_per_item=3), early[1], forecast_of()).reason.code == "on-track"


@pytest.mark.parametrize(
    ("forecast", "code"),
    [
        (forecast_of(), "on-track"),
        (forecast_of(cost=(3.2, 4.0)), "more-expensive"),
        (forecast_of(cost=(1.0, 2.5)), "cheaper"),
        (forecast_of(labels=(3.5, 4.0)), "more-answers"),
        (forecast_of(resolved=(0.5, 0.7)), "fewer-resolved"),
        (forecast_of(accuracy=(0.7, 0.8)), "less-accurate"),
        (forecast_of(accuracy=(0.7, 0.8), cost=(3.2, 4.0)), "less-accurate"),
    ],
)
def test_a_promise_outside_the_forecast_is_broken(forecast, code):
    """A promise inside the interval may still be kept; the worst broken promise is named."""
    promise = Promise(cost_per_item=3.0, answers_per_item=3.0, accuracy=0.95, resolved=0.97)
    found = compare(promise, stands(), forecast)
    assert (found.basis, found.reason.code) == ("forecast", code)


def test_what_is_over_is_held_to_what_came():
    """A finished job is compared by its own numbers, whatever the forecast said."""
    over = SoFar(100, 80, 20, 300, 300.0, 1.0)
    assert compare(Promise(resolved=0.9), over, forecast_of()).reason.code == "fewer-resolved"
    assert compare(Promise(resolved=0.8, cost_per_item=3.0), over, forecast_of()).reason.code == "on-track"
    found = compare(Promise(cost_per_item=2.0), over)
    assert (found.basis, found.reason.code) == ("end", "more-expensive")
    assert "the plan promised 2" in found.reason.message


def test_a_plan_that_says_nothing_is_never_broken():
    assert compare(Promise(), stands(), forecast_of()).reason.code == "on-track"
