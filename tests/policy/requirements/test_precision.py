"""The requirement `precision`, and how it combines with others and with the limits of a job."""

import numpy as np
import pytest
from pydantic import ValidationError

from app.policy.core.belief import ItemContext, State
from app.policy.core.decision import Decision
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy, check_limits
from app.policy.requirements import Count, Precision
from app.policy.worker_models import NumberModel

NUMBER = {"kind": "number", "low": 0, "high": 100}
PRECISION = {"kind": "precision", "half_width": 5, "confidence": 0.9}
Z = 1.6448536269514722  # half of what 90 % of a standard normal distribution spans


def items_of(deviation, answers=3):
    """Items whose value is 40, with these deviations."""
    rows = np.atleast_1d(np.asarray(deviation, dtype=float))
    state = np.column_stack([np.full(len(rows), 40.0), rows**2, np.full((len(rows), 2), 3.0)])
    return State(np.full((len(rows), 1), float(answers)), state), ItemContext.plain(len(rows))


def test_it_holds_from_the_deviation_at_which_the_interval_is_narrow_enough():
    engine = Engine(JobPolicy(answer=NUMBER, requirement=PRECISION))
    judgement = engine.judge(*items_of([0.99 * 5 / Z, 5 / Z, 1.01 * 5 / Z]))
    assert judgement.winner.tolist() == [0, 0, -1]
    assert judgement.closed.tolist() == [True, True, False]
    assert judgement.confidence[1] == pytest.approx(0.9)


def test_the_reason_shows_value_and_half_width():
    engine = Engine(JobPolicy(answer=NUMBER, requirement=PRECISION))
    judgement = engine.judge(*items_of([1.5, 3.06]))
    met, unmet = (engine.verdict(judgement, item) for item in (0, 1))
    assert (met.decision, met.reason.code, met.label) == (Decision.STOP, "precision", 0)
    assert met.reason.message == "The value is 40.0 ± 2.5 with probability 0.9; the job asks for ± 5."
    assert (unmet.decision, unmet.reason.code) == (Decision.CONTINUE, "precision-not-reached")
    assert unmet.reason.message == "The value is 40.00 ± 5.03 with probability 0.9; the job asks for ± 5."


@pytest.mark.parametrize("deviation", [4.0, 10.0, 28.0])
def test_the_shortfall_is_the_fewest_answers_of_a_newcomer_at_ordinary_difficulty(deviation):
    """By taking one newcomer after the other whose noise is known, each of whom agrees with the value."""
    model = NumberModel(**{key: NUMBER[key] for key in ("low", "high")}, typing_errors=0)
    engine = Engine(JobPolicy(answer=NUMBER, requirement=PRECISION, worker_model=model))
    state, context = items_of(deviation)
    said = int(engine.shortfall(engine.lookahead(state, context))[0])
    taken = 0
    while not engine.requirement.satisfied(engine.lookahead(state, context).now)[0]:
        state = engine.learn(state, context, engine.newcomer()[None], np.array([40.0]))[0]
        state.model_state[:, 2:] = 3.0  # no easier than before
        taken += 1
    assert said == taken


def test_an_item_needs_both_members_of_all_and_one_of_any():
    state, context = items_of([2.0, 2.0, 20.0])
    state.votes[:] = [[3.0], [5.0], [5.0]]
    both = [PRECISION, {"kind": "count", "labels": 5}]
    every, either = (
        Engine(JobPolicy(answer=NUMBER, requirement={"kind": kind, "of": both})).judge(state, context)
        for kind in ("all", "any")
    )
    assert every.winner.tolist() == [-1, 0, -1]
    assert every.max_open_assignments.tolist()[:2] == [2, 0]
    assert either.winner.tolist() == [0, 0, 0]
    assert every.confidence == pytest.approx(either.confidence)


def test_fewest_and_most_labels_hold():
    state, context = items_of([2.0, 20.0], answers=4)
    few = Engine(JobPolicy(answer=NUMBER, requirement=PRECISION, min_labels=6)).judge(state, context)
    assert (few.winner.tolist(), few.max_open_assignments.tolist()[0]) == ([-1, -1], 2)
    engine = Engine(JobPolicy(answer=NUMBER, requirement=PRECISION, max_labels=4))
    most = engine.judge(state, context)
    assert (most.winner.tolist(), most.closed.tolist()) == ([0, -1], [True, True])
    given_up = engine.verdict(most, 1)
    assert (given_up.decision, given_up.reason.code) == (Decision.GIVE_UP, "max-labels")


def test_count_alone_decides_about_numbers():
    state, context = items_of([20.0, 20.0])
    state.votes[:] = [[2.0], [3.0]]
    judgement = Engine(JobPolicy(answer=NUMBER, requirement=Count(labels=3))).judge(state, context)
    assert judgement.winner.tolist() == [-1, 0]
    assert judgement.max_open_assignments.tolist() == [1, 0]
    assert judgement.progress.tolist() == pytest.approx([2 / 3, 1])


@pytest.mark.parametrize("allocation", ["information", "round-robin", "random", "label-uncertainty"])
def test_the_item_that_is_known_least_is_asked_about_first(allocation):
    state, context = items_of([2.0, 20.0])
    state.votes[:] = [[9.0], [1.0]]
    policy = JobPolicy(answer=NUMBER, requirement=PRECISION, allocation={"kind": allocation})
    priority = Engine(policy).judge(state, context).priority
    assert priority[1] > priority[0]


def test_a_job_for_numbers_gets_defaults_that_fit_its_range():
    policy = JobPolicy(answer={"kind": "number", "low": -50, "high": 150})
    assert policy.requirement == Precision(half_width=10, confidence=0.9)
    assert policy.worker_model == NumberModel(low=-50, high=150)
    assert JobPolicy.model_validate_json(policy.model_dump_json()) == policy
    check_limits(policy)
    check_limits(policy.model_copy(update={"max_labels": 2}))  # how precise workers are is not known yet


def test_the_model_takes_the_range_of_the_answers():
    policy = JobPolicy(answer=NUMBER, worker_model={"kind": "number", "low": 5, "high": 6, "typing_errors": 0.01})
    assert policy.worker_model == NumberModel(low=0, high=100, typing_errors=0.01)


@pytest.mark.parametrize(
    "parts",
    [
        {"answer": NUMBER, "requirement": {"kind": "ratio", "min_ratio": 4}},
        {"answer": NUMBER, "worker_model": {"kind": "one-coin"}},
        {"answer": NUMBER, "aggregation": {"kind": "majority"}},
        {"answer": NUMBER, "requirement": {"kind": "all", "of": [PRECISION, {"kind": "posterior"}]}},
        {"labels": ["a", "b"], "requirement": PRECISION},
        {"labels": ["a", "b"], "worker_model": {"kind": "number"}},
        {"answer": NUMBER, "labels": ["a", "b"]},
    ],
)
def test_policies_that_do_not_fit_the_answers_are_refused(parts):
    with pytest.raises(ValidationError):
        JobPolicy(**parts)


def test_a_known_number_closes_its_item():
    engine = Engine(JobPolicy(answer=NUMBER))
    context = ItemContext(
        np.ones(2), np.zeros(2), np.arange(2), gold=np.array([0, -1]), gold_value=np.array([77.0, np.nan])
    )
    judgement = engine.judge(engine.initial(context), context)
    assert (judgement.winner.tolist(), judgement.closed.tolist()) == ([0, -1], [True, False])
    assert judgement.belief.value[0] == pytest.approx(77)
    assert judgement.confidence[0] == 1
    assert engine.verdict(judgement, 0).reason.code == "gold"
