"""The best pair by value per cost, the trial, and second opinions."""

from dataclasses import replace

import numpy as np
import pytest

from app.policy.allocation import JobContext
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine, priority_of
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import Pair, UpperConfidence
from app.policy.worker_models import OneCoin
from tests.policy.worker_choice.cases import candidates


def scene():
    """Three items, one of them expensive; skills and prices of four workers, one of them expensive."""
    state = State(np.array([[0.0, 0.0], [2.0, 1.0], [1.0, 0.0]]), np.array([[1.0, 1.0], [2.5, 1.7], [1.4, 0.9]]))
    context = ItemContext(np.array([4.0, 1.0, 1.0]), np.zeros(3), np.arange(1, 4), None, 5)
    return state, context, np.array([[4.0, 1.0], [9.0, 1.0], [5.0, 5.0], [30.0, 1.0]]), np.array([1.0, 1.0, 0.1, 8.0])


@pytest.mark.parametrize("allocation", ["opt-kg", "information"])
def test_one_pass_values_every_pair(allocation):
    """Each pair has the value that it has alone, per cost of item and worker; the worker of the best pair is asked."""
    state, context, skills, price = scene()
    policy = JobPolicy.model_validate(
        {"labels": ["a", "b"], "worker_model": {"kind": "one-coin"}, "allocation": {"kind": allocation}}
    )
    worth = Engine(policy).values_for(state, context, skills)
    by_hand = np.empty((3, 4))
    for i, w in np.ndindex(3, 4):
        alone = State(state.votes[[i]], state.model_state[[i]])
        priced = ItemContext(context.cost[[i]] * price[w], np.zeros(1), context.number[[i]])
        lookahead = Lookahead.of(OneCoin(), alone, priced, skills[[w]])
        by_hand[i, w] = priority_of(policy.allocation, lookahead, JobContext(policy.effective_requirement))[0]
    assert worth / price == pytest.approx(by_hand, abs=1e-11)
    chosen = Pair().choose_from(candidates(worth.max(axis=0), price), seed=5, turn=1, items=100)
    assert chosen == by_hand.max(axis=0).argmax()
    assert chosen == 1  # better than a newcomer at the same price; the best one costs eight times as much


@pytest.mark.parametrize("allocation", ["opt-kg", "kg", "information"])
def test_a_spammer_is_not_asked_while_others_are_there(allocation):
    """Votes that do not count have no value, however cheap they are."""
    policy = JobPolicy.model_validate(
        {"labels": ["a", "b"], "worker_model": {"kind": "spam-filter"}, "allocation": {"kind": allocation}}
    )
    engine, context = Engine(policy), ItemContext.plain(2)
    worth = engine.values_for(engine.initial(context), context, np.array([[10.0, 20.0], [19.0, 20.0]])).max(axis=0)
    assert worth[0] == pytest.approx(0, abs=1e-5)  # kg breaks ties of value at random
    assert Pair().choose_from(candidates(worth, price=np.array([0.01, 1.0])), seed=1, turn=1, items=100) == 1


def test_a_trial_comes_first_until_its_items_have_their_answers():
    """A share of the items, drawn by the seed, comes before all others; then they are ordinary items."""
    engine = Engine(JobPolicy(labels=("a", "b"), worker_choice=Pair(trial=0.25, trial_answers=2), seed=3))
    plain = Engine(JobPolicy(labels=("a", "b"), worker_choice=Pair(trial=0), seed=3))
    context = ItemContext.plain(400, seed=3)
    fresh = engine.initial(context)
    lifted = engine.judge(fresh, context).priority > 1
    assert 70 < lifted.sum() < 130
    assert lifted.tolist() == (engine.tie_breaks(context.number) < 0.25 * 2**63).tolist()
    begun = fresh
    for _ in range(2):
        begun = engine.learn(begun, context, np.tile(engine.newcomer(), (400, 1)), np.zeros(400, dtype=np.intp))[0]
        judged, as_ever = (each.judge(begun, context).priority for each in (engine, plain))
        assert judged[~lifted].tolist() == as_ever[~lifted].tolist()
    assert judged.tolist() == as_ever.tolist()
    assert not (plain.judge(fresh, context).priority > 1).any()


def test_a_trial_takes_no_more_than_a_tenth_of_what_the_budget_buys():
    """First answers do not count. Less money means fewer trial items, all of them also on trial with more money."""
    context, none, before = ItemContext.plain(2000, seed=5), np.zeros(2000), np.zeros(2000, dtype=bool)
    for budget in (200.0, 1000.0, 2000.0, 3000.0, 4000.0, None):
        policy = JobPolicy(labels=("a", "b"), worker_choice=Pair(), seed=5)
        trial = Engine(policy, budget, inverse_costs=2000.0).on_trial(context, none)
        assert trial is not None
        assert abs(2 * trial.sum() - 0.1 * min(budget or np.inf, 4000)) < 60
        assert (trial | ~before).all()
        before = trial


def test_a_trial_depends_on_item_cost_and_on_the_configured_share():
    """If items cost twice as much, the same budget buys half as many answers; a configured share does not change."""
    context, none = replace(ItemContext.plain(2000, seed=5), cost=np.full(2000, 2.0)), np.zeros(2000)
    here, there = (
        Engine(JobPolicy(labels=("a", "b"), worker_choice=Pair(trial=trial), seed=5), 4000.0, inverse_costs=1000.0)
        for trial in (None, 0.3)
    )
    assert here.on_trial(context, none).mean() == pytest.approx(0.05, abs=0.015)
    assert there.on_trial(context, none).mean() == pytest.approx(0.3, abs=0.03)


def test_an_answer_on_a_trial_item_is_valued_twenty_times_as_high():
    """The weight is part of the value: such items come first, but not at any price."""
    engine, plain = (Engine(JobPolicy(labels=("a", "b"), worker_choice=Pair(trial=trial))) for trial in (1, 0))
    context = ItemContext.plain(3)
    here, there = (each.judge(each.initial(context), context) for each in (engine, plain))
    assert here.priority.tolist() == pytest.approx((20 * there.priority).tolist())
    assert here.tier.tolist() == there.tier.tolist() == [0, 0, 0]


def test_as_many_answers_as_items_come_before_any_second_opinion():
    """Then one in five goes to a less trusted worker, drawn from the seed and the assignment's number alone."""
    turns = np.arange(1, 20_001)
    others = Pair().wants_second_opinion(3, turns, items=10_000)
    assert not others[:10_000].any()
    assert 0.19 < others[10_000:].mean() < 0.21
    assert others.tolist() == [bool(Pair().wants_second_opinion(3, turns[[k]], items=10_000)[0]) for k in range(20_000)]
    assert (others != Pair().wants_second_opinion(4, turns, items=10_000)).any()
    assert not Pair(second_opinions=0).wants_second_opinion(3, turns, items=10).any()
    assert Pair(second_opinions=1).wants_second_opinion(3, turns, items=0).all()
    assert not UpperConfidence().wants_second_opinion(3, turns, items=0).any()


def test_a_second_opinion_is_of_a_less_trusted_and_not_more_expensive_worker():
    """Each such worker is asked in some turn; never one who charges more, has no item, or gives worthless answers."""
    accuracy = np.array([0.95, 0.9, 0.7, 0.6, 0.5, 0.4, 0.3])
    some = candidates([9.0, 8.0, 2.0, 1.0, 90.0, -np.inf, 1e-6], price=[1, 1, 1, 1, 100, 1, 1], accuracy=accuracy)
    asked = [Pair(second_opinions=1).choose_from(some, seed=2, turn=turn, items=0) for turn in range(1, 200)]
    assert set(asked) == {2, 3}
    assert {Pair(second_opinions=0).choose_from(some, seed=2, turn=turn, items=0) for turn in range(1, 200)} == {0}
    alone = candidates([0.3], price=1.0)
    assert Pair(second_opinions=1).choose_from(alone, seed=2, turn=1, items=0) == 0
    queued = candidates([-3.0, -1.0, -np.inf], price=1.0, accuracy=np.array([0.2, 0.9, 0.1]))
    assert Pair(second_opinions=1).choose_from(queued, seed=2, turn=1, items=0) == 0
