"""A job's configuration: what is refused, and how long that takes."""

import time

import numpy as np
import pytest
from pydantic import ValidationError

from app.policy.core.belief import ItemContext
from app.policy.core.lookahead import FreshLookahead, Lookahead, NextAnswers
from app.policy.core.policy import Uses
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy, check_limits, fewest_labels
from app.policy.requirements import AllOf, AnyOf, Count, Margin, Posterior, Profit, Ratio, Significance
from app.policy.worker_models import Anonymous, Auto, Confusion, OneCoin, SpamFilter, Tiers, TwoCoin, Weighted

REQUIREMENTS = [
    Ratio(),
    Ratio(min_ratio=20),
    Significance(alpha=0.01),
    Margin(c=3),
    Posterior(),
    Posterior(min_probability=0.9999),
    Count(labels=5),
    AllOf(of=(Posterior(min_probability=0.8), Count(labels=4))),
    AnyOf(of=(Ratio(min_ratio=9), Count(labels=12))),
]
MODELS = [Anonymous(), Tiers(), SpamFilter(), Weighted(), OneCoin(), TwoCoin(), Confusion(), Auto()]
MANY = tuple(f"label {number}" for number in range(1000))


class EveryClass(Lookahead):
    """A lookahead that treats all classes as different, as an earlier version of the check did."""

    answers = property(lambda self: NextAnswers.all_different(*self.state.votes.shape))


def by_search(requirement, model, classes: int) -> int:
    """The fewest labels by trying every class."""
    context = ItemContext.plain(1)
    state = model.start(context, classes)
    return int(requirement.shortfall(EveryClass(model, state, context, model.newcomer(classes)[None]))[0])


@pytest.mark.parametrize("classes", [2, 3, 7])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_one_class_stands_for_all_on_a_fresh_item(model, classes):
    """For every kind of requirement, the fewest labels equal those that a search over all classes finds."""
    if classes > model.most_labels:
        pytest.skip("the model takes two labels")
    for requirement in REQUIREMENTS:
        assert requirement.fewest_labels(model, classes) == by_search(requirement, model, classes), requirement


@pytest.mark.parametrize("requirement", [Profit(value=10, loss=30), Margin(rounding="random")])
def test_cost_and_chance_decide_for_themselves(requirement):
    """Where the cost of an item or a random draw decides, no limit is refused."""
    assert requirement.uses & (Uses.COST | Uses.NUMBER)
    check_limits(JobPolicy(labels=("a", "b"), requirement=requirement, max_labels=1))


@pytest.mark.parametrize("requirement", [Posterior(), Significance()], ids=lambda requirement: requirement.kind)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_a_thousand_labels_are_checked_at_once(model, requirement):
    """Measured in processor time, which other processes do not affect; an earlier version took minutes."""
    labels = MANY[: model.most_labels]
    began = time.process_time()
    policy = JobPolicy(labels=labels, worker_model=model, requirement=requirement, max_votes_per_label=None)
    parsed = time.process_time()
    assert fewest_labels(policy) >= 1
    assert parsed - began < 0.02
    assert time.process_time() - parsed < 0.2  # 5 to 110 ms were measured on a busy machine


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.kind)
def test_items_with_a_thousand_labels_are_judged_in_time(model):
    """A hundred fresh items, and one with two answers."""
    engine = Engine(JobPolicy(labels=MANY[: model.most_labels], worker_model=model, max_votes_per_label=None))
    began = time.process_time()
    many = ItemContext.plain(100)
    fresh = engine.judge(engine.initial(many), many)
    assert len(set(fresh.priority.tolist())) == 1
    one = ItemContext.plain(1)
    state, skill = engine.initial(one), engine.newcomer()[None]
    for label in (0, 1):
        state, skill = engine.learn(state, one, skill, np.array([label]))
    assert engine.judge(state, one).max_open_assignments[0] >= 1
    assert time.process_time() - began < 2


def test_wide_items_are_judged_as_each_alone():
    """Above 32 labels items are computed in parts: by votes for the same classes, equal ones once."""
    engine = Engine(JobPolicy(labels=MANY[:40], worker_model=OneCoin(), max_votes_per_label=None))
    context = ItemContext.plain(12)
    state, skill = engine.initial(context), np.tile(engine.newcomer(), (12, 1))
    rng = np.random.default_rng(2)
    for _ in range(2):
        state, _ = engine.learn(state, context, skill, rng.choice([3, 7, 39], 12))
    together = engine.judge(state, context)
    for row in range(12):
        rows = np.array([row])
        alone = engine.judge(type(state)(state.votes[rows], state.model_state[rows]), context.rows(rows))
        assert together.priority[row] == pytest.approx(alone.priority[0], abs=1e-12)
        assert together.max_open_assignments[row] == alone.max_open_assignments[0]


@pytest.mark.parametrize(
    ("values", "field", "fewest"),
    [
        ({"requirement": Count(labels=5), "max_labels": 4}, "max_labels", 5),
        ({"requirement": Ratio(min_ratio=20)}, "max_votes_per_label", 19),
        ({"min_labels": 20}, "max_votes_per_label", 20),
    ],
)
def test_a_limit_that_no_item_can_meet_is_refused(values, field, fewest):
    policy = JobPolicy(labels=("a", "b"), worker_model=Anonymous(), **values)
    with pytest.raises(ValidationError) as refused:
        check_limits(policy)
    error = refused.value.errors()[0]
    assert (error["loc"], error["type"], error["ctx"]["fewest"]) == ((field,), "no_room", fewest)


def test_a_stored_policy_is_not_checked_again(monkeypatch):
    """Loading a stored policy only parses its JSON."""
    stored = JobPolicy(labels=MANY, worker_model=OneCoin(), max_labels=1).model_dump_json()
    monkeypatch.setattr(FreshLookahead, "of_one_item", None)
    assert JobPolicy.model_validate_json(stored).max_labels == 1


def test_repeated_labels_are_refused_by_name():
    with pytest.raises(ValidationError, match="'b' is given twice"):
        JobPolicy(labels=("a", "b", "b"))


def test_no_schema_shows_a_doctest():
    """Neither the policy's own description nor that of any policy in it."""
    schema = JobPolicy.model_json_schema()
    described = [schema["description"], *(each.get("description", "") for each in schema["$defs"].values())]
    assert len(described) > 20
    assert not [text for text in described if ">>>" in text]


def test_every_field_of_a_policy_is_described():
    schema = JobPolicy.model_json_schema()
    bare = [
        f"{name}.{field}"
        for name, definition in schema["$defs"].items()
        for field, values in definition.get("properties", {}).items()
        if field != "kind" and "description" not in values
    ]
    assert bare == []
