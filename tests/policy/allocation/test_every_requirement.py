"""Every allocation under every requirement, and the allocations that use more than votes."""

from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from app.policy.allocation import (
    ByValue,
    CrowdBudget,
    CvarKnowledgeGradient,
    Dispatch,
    Information,
    JobContext,
    KnowledgeGradient,
    LabelUncertainty,
    OptimisticKnowledgeGradient,
    RandomChoice,
    Requallo,
    RoundRobin,
)
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import priority_of
from app.policy.planning.quotas import quotas
from app.policy.requirements import AllOf, AnyOf, Count, Margin, Posterior, Profit, Ratio, Significance
from app.policy.worker_models import Anonymous

REQUIREMENTS = [
    Ratio(),
    Significance(alpha=0.2),
    Margin(rounding="random"),
    Posterior(min_probability=0.8),
    Profit(value=20, loss=20),
    AllOf(of=(Ratio(), Count(labels=3))),
    AnyOf(of=(Ratio(), Profit(value=20, loss=20))),
]


@pytest.fixture(
    params=[
        Requallo(),
        Requallo(reward="expected"),
        OptimisticKnowledgeGradient(),
        KnowledgeGradient(),
        CvarKnowledgeGradient(alpha=0.8),
        LabelUncertainty(),
        Information(),
        RoundRobin(),
        RandomChoice(),
        Dispatch(),
        CrowdBudget(),
        ByValue(),
    ],
    ids=lambda allocation: allocation.model_dump_json(),
    scope="module",
)
def allocation(request):
    return request.param


def prospect_of(votes, context: ItemContext | None = None) -> Lookahead:
    counted = np.asarray(votes, dtype=float)
    return Lookahead.of(
        Anonymous(), State(counted, np.empty((len(counted), 0))), context or ItemContext.plain(len(counted))
    )


ROWS = st.integers(2, 3).flatmap(
    lambda classes: st.lists(st.lists(st.integers(0, 5), min_size=classes, max_size=classes), min_size=1, max_size=30)
)


@settings(max_examples=25, deadline=None)
@given(
    rows=ROWS,
    seed=st.integers(0, 9),
    requirement=st.sampled_from(REQUIREMENTS),
    budget=st.sampled_from([None, 0.0, 3.5, 1e6]),
)
def test_priorities_are_finite_and_those_of_single_items(allocation, rows, seed, requirement, budget):
    """The same items give the same numbers: together, one by one, and when computed again."""
    many = len(rows)
    context = ItemContext(1 + np.arange(many) % 3 / 2, np.arange(many) % 2 * 1.0, np.arange(many) + 4, None, seed)
    job = JobContext(requirement, budget, 7.0)
    together = priority_of(allocation, prospect_of(rows, context), job)
    assert np.isfinite(together).all()
    np.testing.assert_array_equal(together, priority_of(allocation, prospect_of(rows, context), job))
    for row in range(many):
        one = ItemContext(context.cost[[row]], context.open_assignments[[row]], context.number[[row]], None, seed)
        assert together[row] == pytest.approx(
            priority_of(allocation, prospect_of(rows[row : row + 1], one), job)[0], abs=1e-12
        )


def test_round_robin_counts_what_is_out():
    """An answer under way counts like one that has arrived."""
    context = ItemContext(np.array([1.0, 9.0, 1.0]), np.array([0.0, 0.0, 2.0]), np.arange(3))
    priority = priority_of(RoundRobin(), prospect_of([[1, 0], [1, 0], [0, 0]], context), JobContext(Ratio()))
    assert priority.tolist() == [-1, -1, -2]


def test_random_is_exponential_whatever_the_cost():
    """Expensive and cheap items are asked equally often; each answer delays an item by a gap of its own random draw."""
    items = 20_000
    costs = np.where(np.arange(items) % 2 == 0, 1.0, 100.0)
    context = ItemContext(costs, np.zeros(items), np.arange(items), None, 5)
    first, second = (
        -priority_of(RandomChoice(), prospect_of(np.full((items, 2), votes), context), JobContext(Ratio()))
        for votes in (0.0, 0.5)
    )
    for gap in (first, second - first):
        assert kstest(gap, "expon").pvalue > 0.001
        assert kstest(gap[costs > 1], gap[costs == 1]).pvalue > 0.001
    assert abs(np.corrcoef(first, second - first)[0, 1]) < 0.03


def test_random_asks_about_any_item_at_every_question():
    """Answers per item are multinomial: a chi-squared test over the items."""
    items, questions = 400, 4000
    context, votes, order = ItemContext.plain(items, 3), np.zeros((items, 2)), []
    for _ in range(questions):
        order.append(int(priority_of(RandomChoice(), prospect_of(votes, context), JobContext(Ratio())).argmax()))
        votes[order[-1], 0] += 1
    counts = votes.sum(axis=1)
    assert chisquare(counts).pvalue > 0.001
    assert counts.var() == pytest.approx(counts.mean(), rel=0.25)
    again = np.mean(np.array(order[1:]) == np.array(order[:-1]))  # the same item twice in a row
    assert again < 4 / items


def test_dispatch_expects_what_the_strategy_expects():
    """The value is the expected further answers minus those under way, and is higher where the votes are tied."""
    context = ItemContext(np.ones(3), np.array([0.0, 0.0, 2.0]), np.arange(3))
    profit = Profit(value=100, loss=100)
    priority = priority_of(Dispatch(), prospect_of([[0, 0], [2, 0], [0, 0]], context), JobContext(profit))
    assert priority[0] == pytest.approx(5.612, abs=1e-3)
    assert priority[2] == priority[0] - 2
    assert priority[1] < priority[0]


def test_dispatch_falls_back_to_the_shortfall():
    """Requirements without an expectation of their own use the fewest answers that could satisfy them."""
    priority = priority_of(Dispatch(), prospect_of([[0, 0], [2, 0]]), JobContext(Ratio(min_ratio=4)))
    assert priority.tolist() == [3, 1]


@settings(max_examples=50, deadline=None)
@given(
    costs=st.lists(st.decimals("0.25", "4", places=2), min_size=1, max_size=6),
    budget=st.decimals("0", "40", places=2),
)
def test_crowdbudget_asks_what_its_quotas_say(costs, budget):
    """Asking for the highest positive affordable priority ends at exactly the quotas computed in advance."""
    answers = np.zeros((len(costs), 2))
    context = ItemContext(np.array(costs, dtype=float), np.zeros(len(costs)), np.arange(1, len(costs) + 1))
    job = JobContext(Ratio(), float(budget), float(sum(1 / float(cost) for cost in costs)))
    left = budget
    while True:
        priority = priority_of(CrowdBudget(), prospect_of(answers, context), job)
        wanted = [k for k in np.argsort(-priority) if priority[k] > 0 and costs[k] <= left]
        if not wanted:
            break
        answers[wanted[0], 0] += 1
        left -= costs[wanted[0]]
    assert answers.sum(axis=1).tolist() == quotas(Decimal(budget), costs)


def test_crowdbudget_without_a_budget_takes_turns():
    """Without a budget, items with the fewest answers come first."""
    votes = [[1, 2], [0, 1]]
    unlimited = priority_of(CrowdBudget(), prospect_of(votes), JobContext(Ratio()))
    assert unlimited.tolist() == priority_of(RoundRobin(), prospect_of(votes), JobContext(Ratio())).tolist()


def test_crowdbudget_loses_no_answer_to_rounding():
    """A budget of exactly one answer is a quota of one, though 0.1 / (0.1^2 / 0.1) is less than 1 in floats."""
    context = ItemContext(np.array([0.1]), np.zeros(1), np.array([9]))
    assert priority_of(CrowdBudget(), prospect_of([[0, 0]], context), JobContext(Ratio(), 0.1, 10.0))[0] > 1
