"""Laws that every requirement keeps."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.decision import Decision
from app.policy.core.lookahead import Lookahead
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.requirements import AllOf, AnyRequirement, Count, Margin, Posterior, Profit, Requirement
from app.policy.requirements.base import HORIZON
from app.policy.worker_models import Anonymous

VOTES = st.integers(2, 4).flatmap(lambda classes: st.lists(st.integers(0, 9), min_size=classes, max_size=classes))
MANY = st.integers(2, 3).flatmap(
    lambda classes: st.lists(st.lists(st.integers(0, 7), min_size=classes, max_size=classes), min_size=1, max_size=6)
)


def all_votes(classes: int, most: int) -> np.ndarray:
    """Every combination of up to `most` votes for each class."""
    return np.array(list(product(range(most + 1), repeat=classes)), dtype=float)


def prospect_of(votes, context: ItemContext | None = None) -> Lookahead:
    counted = np.atleast_2d(np.asarray(votes, dtype=float))
    return Lookahead.of(
        Anonymous(), State(counted, np.empty((len(counted), 0))), context or ItemContext.plain(len(counted))
    )


@pytest.mark.parametrize(("classes", "most"), [(2, 12), (3, 5), (4, 3)])
def test_nothing_is_missing_exactly_when_satisfied(requirement, classes, most):
    """The shortfall is 0 where the requirement holds, and elsewhere a finite whole number of at least 1."""
    lookahead = prospect_of(all_votes(classes, most))
    shortfall = requirement.shortfall(lookahead)
    assert np.isfinite(shortfall).all()
    assert (shortfall == np.rint(shortfall)).all()
    np.testing.assert_array_equal(shortfall == 0, requirement.satisfied(lookahead.now))


@settings(max_examples=25, deadline=None)
@given(votes=VOTES, rng=st.randoms(use_true_random=False))
def test_classes_are_treated_alike(requirement, votes, rng):
    """Renaming the classes permutes the shortfalls, and changes nothing else."""
    order = rng.sample(range(len(votes)), len(votes))
    here, there = prospect_of(votes), prospect_of([votes[c] for c in order])
    np.testing.assert_array_equal(requirement.shortfalls(here)[:, order], requirement.shortfalls(there))
    assert requirement.satisfied(here.now) == requirement.satisfied(there.now)


@pytest.mark.parametrize(("classes", "most"), [(2, 20), (3, 6)])
def test_agreeing_votes_never_reopen_an_item(steady_requirement, classes, most):
    """One more vote for the only leader keeps an item satisfied, except with random rounding, which draws again."""
    votes = all_votes(classes, most)
    ordered = np.sort(votes, axis=1)
    votes = votes[ordered[:, -1] > ordered[:, -2]]
    settled = votes[steady_requirement.satisfied(Belief.of(votes))]
    assert len(settled)
    more = settled + np.eye(classes)[settled.argmax(axis=1)]
    assert steady_requirement.satisfied(Belief.of(more)).all()


def test_random_rounding_can_reopen_an_item():
    """The paper's rounding draws again for each vote, so a lead that sufficed may not suffice after one more vote."""
    rule = Margin(c=1.5, epsilon=0, rounding="random")  # asks for a lead of 1 or 2, then of 2 or 3
    context = ItemContext(np.ones(200), np.zeros(200), np.arange(200), None, 0)
    before = rule.satisfied(Belief.of(np.tile([1.0, 0.0], (200, 1)), context))
    after = rule.satisfied(Belief.of(np.tile([2.0, 0.0], (200, 1)), context))
    assert (before & ~after).any()


@pytest.mark.parametrize(("classes", "most"), [(2, 8), (3, 4)])
def test_a_vote_brings_its_class_one_nearer(steady_requirement, classes, most):
    """A class with a shortfall of k has k - 1 after one vote for it, within the horizon."""
    here = prospect_of(all_votes(classes, most))
    for c in range(classes):
        away = steady_requirement.shortfalls(here)[:, c]
        after = steady_requirement.shortfalls(here.after(c))[:, c]
        near = away < HORIZON
        np.testing.assert_array_equal(after[near], np.maximum(away - 1, 0)[near])


@settings(max_examples=15, deadline=None)
@given(rows=MANY, seed=st.integers(0, 100), cost=st.sampled_from([0.5, 1.0, 3.0]))
def test_many_items_are_judged_like_one(requirement, rows, seed, cost):
    """An array of items gives the same results as each item alone."""
    rows = [row for row in rows if len(row) == len(rows[0])]
    costs = np.where(np.arange(len(rows)) % 2 == 0, 1.0, cost)
    together = prospect_of(rows, ItemContext(costs, np.zeros(len(rows)), np.arange(len(rows)), None, seed))
    for row, votes in enumerate(rows):
        alone = prospect_of(votes, ItemContext(costs[[row]], np.zeros(1), np.array([row]), None, seed))
        assert requirement.satisfied(together.now)[row] == requirement.satisfied(alone.now)[0]
        assert requirement.not_worth_asking(together.now)[row] == requirement.not_worth_asking(alone.now)[0]
        np.testing.assert_array_equal(requirement.shortfalls(together)[row], requirement.shortfalls(alone)[0])
        assert requirement.answers_to_come(together)[row] == requirement.answers_to_come(alone)[0]


@pytest.mark.parametrize(("classes", "most"), [(2, 6), (3, 2)])
def test_reasons_agree_with_decisions(requirement, classes, most):
    """A code ends in 'not-reached' exactly where more answers are wanted; no item is both satisfied and given up."""
    for votes in all_votes(classes, most):
        belief = Belief.of(votes)
        satisfied, given_up = requirement.satisfied(belief)[0], requirement.not_worth_asking(belief)[0]
        assert not (satisfied and given_up)
        assert requirement.reason(belief, 0).code.endswith("not-reached") == (not satisfied and not given_up)


def test_configuration_survives_json(requirement):
    """Reading the stored JSON gives the same requirement."""
    adapter: TypeAdapter[Requirement] = TypeAdapter(AnyRequirement)
    assert adapter.validate_json(adapter.dump_json(requirement)) == requirement


@pytest.mark.parametrize("bad", [(2, 2), (1, 3), (0, 1), (5, 0), (6,)])
def test_prior_must_beat_guessing(bad):
    """The error names the field."""
    with pytest.raises(ValidationError) as refused:
        Profit(value=1, loss=1, prior=bad)
    assert refused.value.errors()[0]["loc"][0] == "prior"


@given(c=st.floats(0, 20), epsilon=st.floats(0.01, 2), rounding=st.sampled_from(["none", "random"]))
def test_margin_stops_in_the_end(c, epsilon, rounding):
    """From (C / epsilon)^2 votes on, any lead is enough, even 0."""
    enough = int(np.ceil(max(1, (c / epsilon) ** 2)))
    even = Belief.of([[enough, enough], [enough + 1, enough]])
    assert Margin(c=c, epsilon=epsilon, rounding=rounding).satisfied(even).all()


@given(c=st.floats(0, 8), epsilon=st.floats(0, 2), votes=st.lists(st.integers(0, 30), min_size=2, max_size=3))
def test_margin_formula_is_exact(c, epsilon, votes):
    """The closed form finds the first lead that is large enough, for any C and epsilon."""
    rule = Margin(c=c, epsilon=epsilon)
    leader = int(np.argmax(votes))
    further = int(rule.shortfall(prospect_of(votes))[0])
    unit = np.eye(len(votes))[leader]
    steps = Belief.of(np.array(votes) + unit * np.arange(further + 1)[:, None])
    np.testing.assert_array_equal(rule.satisfied(steps), np.arange(further + 1) == further)


def test_random_rounding_rounds_up_with_its_fraction():
    """C sqrt(4) = 2.6 becomes 3 for six items in ten, and 2 for the others."""
    items = 20_000
    context = ItemContext(np.ones(items), np.zeros(items), np.arange(items), None, 3)
    stopped = Margin(c=1.3, epsilon=0, rounding="random").satisfied(Belief.of(np.tile([3.0, 1.0], (items, 1)), context))
    assert abs(stopped.mean() - 0.4) < 0.02


def test_posterior_may_be_reached_exactly():
    """Four votes to one are right with probability 57/64, which satisfies a requirement of 57/64."""
    four_to_one = Belief.of([4, 1])
    assert Posterior(min_probability=57 / 64).satisfied(four_to_one)[0]
    assert not Posterior(min_probability=57 / 64 + 1e-6).satisfied(four_to_one)[0]


def test_margin_weighs_votes():
    """Weighted (Eq. 6): a lead of 3 - 1 against C sqrt(1 + 4 + 1) - epsilon 4, for votes of weight 1, 2 and 1."""
    weighted = Belief(
        np.array([[2.0, 1.0]]), np.array([[3.0, 1.0]]), np.array([6.0]), np.array([[3.0, 2.0]]), ItemContext.plain(1)
    )
    edge = (2 + 0.1 * 4) / np.sqrt(6)
    assert Margin(c=edge - 1e-6, epsilon=0.1).satisfied(weighted)[0]
    assert not Margin(c=edge + 1e-6, epsilon=0.1).satisfied(weighted)[0]


def verdict(requirement, votes, **limits):
    engine = Engine(JobPolicy(labels=("cat", "dog"), requirement=requirement, worker_model=Anonymous(), **limits))
    context = ItemContext.plain(1)
    judgement = engine.judge(State(np.array([votes], dtype=float), np.empty((1, 0))), context)
    return engine.verdict(judgement, 0), judgement


def test_what_does_not_pay_is_given_up():
    """A first answer is worth a quarter of the loss: it does not pay at a loss of four, but pays at five."""
    given_up, judgement = verdict(Profit(value=9, loss=4), [0, 0])
    assert (given_up.decision, given_up.reason.code, given_up.label) == (Decision.GIVE_UP, "does-not-pay", None)
    assert judgement.max_open_assignments[0] == 0
    assert verdict(Profit(value=9, loss=5), [0, 0])[0].decision is Decision.CONTINUE


def test_a_tie_that_does_not_pay_waits_for_the_minimum_count():
    """MI(1, 1) = 1/5: at a loss of 4.5 a tie is given up, but only after the item has its three labels."""
    profit = Profit(value=9, loss=4.5)
    assert verdict(profit, [1, 1])[0].reason.code == "does-not-pay"
    asked_on, judgement = verdict(profit, [1, 1], min_labels=3)
    assert (asked_on.decision, asked_on.reason.code) == (Decision.CONTINUE, "count-not-reached")
    assert judgement.max_open_assignments[0] == 1
    settled = verdict(profit, [2, 2], min_labels=3)[0]
    assert (settled.decision, settled.reason.code) == (Decision.GIVE_UP, "does-not-pay")


def test_all_of_nothing_met_gives_the_first_reason():
    """The reason of a combination is that of its first unmet member."""
    both = AllOf(of=(Count(labels=1), Count(labels=3)))
    assert both.reason(Belief.of([1, 1]), 0).message == "The item has 2 of 3 labels."
