"""Quotas never cost more than the budget, and the corrected bounds of Tran-Thanh et al. (AAMAS 2013) hold."""

from decimal import Decimal
from fractions import Fraction
from math import exp, floor, log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from app.policy.planning.quotas import (
    expected_errors_at_most,
    majority_error,
    quotas,
    theorem_1,
    theorem_2,
    theorem_4,
)

COSTS = st.lists(st.decimals("0.000001", "99.99", places=6), min_size=1, max_size=12)
BUDGETS = st.decimals("0", "9999.99", places=2)


def shares(budget: Decimal, costs: list[Decimal]) -> list[int]:
    """The whole part of B / (c_k^2 sum of 1/c_j)."""
    inverses = sum(1 / Fraction(cost) for cost in costs)
    return [floor(Fraction(budget) / (Fraction(cost) ** 2 * inverses)) for cost in costs]


@given(budget=BUDGETS, costs=COSTS)
def test_quotas_never_cost_more_than_the_budget(budget, costs):
    """The sum of n_k c_k is at most B, to the last digit."""
    answers = quotas(budget, costs)
    assert sum(n * cost for n, cost in zip(answers, costs, strict=True)) <= budget
    assert min(answers) >= 0


@given(budget=BUDGETS, costs=COSTS)
def test_what_is_left_buys_nothing_that_was_due(budget, costs):
    """Every item has its share or one more; if it has no more, the money that is left cannot pay for one."""
    answers = quotas(budget, costs)
    left = budget - sum(n * cost for n, cost in zip(answers, costs, strict=True))
    for n, share, cost in zip(answers, shares(budget, costs), costs, strict=True):
        assert n == share + 1 or (n == share and left < cost)


@given(n=st.integers(1, 50), items=st.integers(1, 20), cost=st.decimals("0.01", "9.99", places=2))
def test_equal_costs_get_equal_quotas(n, items, cost):
    """A budget for exactly n answers per item buys exactly n, although floats would lose one by rounding."""
    assert quotas(n * items * cost, [cost] * items) == [n] * items


def test_the_printed_loop_overspends():
    """It adds one answer even when no money is left: here 3 + 3 at a budget of 5."""
    assert quotas(Decimal(5), [Decimal(1), Decimal(1)]) == [3, 2]


@pytest.mark.parametrize("accuracy", [0.3, 0.5, 0.8, 1.0])
def test_majority_error_is_the_binomial_sum(accuracy):
    """The error is P(fewer right than wrong answers) plus half of P(tie)."""
    for n in range(12):
        right = np.arange(n + 1)
        lost = (right < n - right) + 0.5 * (right == n - right)
        assert majority_error(n, accuracy) == pytest.approx(stats.binom.pmf(right, n, accuracy) @ lost)


@pytest.mark.parametrize("edge", [0.05, 0.2, 0.3, 0.45])
def test_errors_stay_below_hoeffding(edge):
    """The expected errors of any quotas are below the sum of exp(-2 n d^2), even when every tie is lost."""
    answers = np.arange(1, 60)
    lost_ties = stats.binom.cdf(answers // 2, answers, 0.5 + edge)
    assert (majority_error(answers, 0.5 + edge) <= lost_ties + 1e-12).all()
    assert lost_ties.sum() <= expected_errors_at_most(answers, edge)


@given(costs=st.lists(st.decimals("0.1", "5", places=1), min_size=1, max_size=6), spare=st.integers(0, 40))
def test_theorem_1_holds_for_affordable_quotas(costs, spare):
    """If one answer per item is set aside, every item can have floor(n*) + 1, and the bound follows."""
    budget = sum(costs) * (1 + spare)
    answers = [n + 1 for n in shares(budget - sum(costs), costs)]
    assert sum(n * cost for n, cost in zip(answers, costs, strict=True)) <= budget
    bound = theorem_1(float(budget), [float(cost) for cost in costs], 0.3)
    assert expected_errors_at_most(answers, 0.3) <= bound * (1 + 1e-9)


@pytest.mark.parametrize("edge", [0.02, 0.1, 0.3])
@pytest.mark.parametrize("doubt", [0.001, 0.1])
def test_theorem_2_mended_holds_where_the_means_are_near(edge, doubt):
    """If the mean is within its radius, errors (a coin decides ties) are below the bound, but above the printed one."""
    for n in range(1, 80):
        wrong = np.arange(n + 1)
        chance = stats.binom.pmf(wrong, n, 0.5 - edge)
        near = abs(wrong / n - (0.5 - edge)) <= sqrt(-log(doubt / 2) / (2 * n))
        lost = (wrong > n - wrong) + 0.5 * (wrong == n - wrong)
        assert (chance * lost)[near].sum() / chance[near].sum() <= theorem_2([n], edge, doubt) + 1e-12


def test_theorem_2_as_printed_is_false():
    """With eleven answers of accuracy 0.8 on a hundred items it promises no error, but more than one is expected."""
    printed = max(0.0, 100 / 2 - 100 * 0.3 * sqrt(2 * 11 / -log(0.001 / 2)))
    assert printed == 0.0
    assert majority_error(11, 0.8) * 100 == pytest.approx(1.165, abs=1e-3)
    assert theorem_2([11] * 100, 0.3, 0.001) > 1.165


@pytest.mark.parametrize("doubt", [0.2, 0.01])
def test_theorem_4_buys_certainty(doubt):
    """With that budget each item is right with probability at least 1 - doubt."""
    costs = [Decimal("0.5"), Decimal(1), Decimal("1.5")]
    budget = theorem_4([float(cost) for cost in costs], 0.25, doubt)
    answers = [n + 1 for n in shares(Decimal(budget) - sum(costs), costs)]
    assert max(exp(-2 * n * 0.25**2) for n in answers) <= doubt
