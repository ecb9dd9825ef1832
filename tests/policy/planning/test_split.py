"""Splits stay within the budget, the split by worth is close to the best, and all bounds hold."""

from decimal import Decimal
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.policy.planning.quotas import majority_error, quotas, theorem_1
from app.policy.planning.split import (
    Group,
    budget_for,
    by_crowdbudget,
    by_worth,
    errors_at_least,
    evenly,
    gains,
    merged,
)

SPLITTERS = [by_crowdbudget, evenly, by_worth]
COSTS = st.sampled_from(["0.2", "0.5", "0.7", "1", "1.3", "0.000001"]).map(Decimal)
ACCURACIES = st.sampled_from([0.51, 0.6, 0.7, 0.85, 0.99, 1.0])
GROUPS = st.lists(st.builds(Group, COSTS, st.integers(1, 4), ACCURACIES), min_size=1, max_size=4)
BUDGETS = st.decimals("0", "40", places=2)


def per_item(split):
    return [m if at < extra else n for group, n, m, extra in split.parts for at in range(group.items)]


def fewest_errors(budget, items, most=9):
    """The fewest expected errors over all splits with up to `most` answers per item."""
    numbers = [0, *range(1, most + 1, 2)]
    errors = [dict(zip(numbers, majority_error(numbers, accuracy), strict=True)) for _, accuracy in items]
    affordable = (
        answers
        for answers in product(numbers, repeat=len(items))
        if sum(n * cost for n, (cost, _) in zip(answers, items, strict=True)) <= budget
    )
    return min(sum(of[n] for of, n in zip(errors, answers, strict=True)) for answers in affordable)


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(budget=BUDGETS, groups=GROUPS)
def test_no_split_costs_more_than_the_budget(splitter, budget, groups):
    """The amount that it reports as spent is the exact sum over its items, and at most the budget."""
    split = splitter(budget, groups)
    costs = [group.cost for group in groups for _ in range(group.items)]
    assert split.spent == sum(n * cost for n, cost in zip(per_item(split), costs, strict=True))
    assert split.spent <= budget


@pytest.mark.parametrize("splitter", SPLITTERS)
@given(budget=BUDGETS, groups=GROUPS)
def test_errors_are_those_of_the_items(splitter, budget, groups):
    """Expected errors and items without an answer are the same when counted by group or item by item."""
    split = splitter(budget, groups)
    accuracy = [group.accuracy for group in groups for _ in range(group.items)]
    one_by_one = majority_error(per_item(split), accuracy).sum()
    assert split.expected_errors == pytest.approx(one_by_one, abs=1e-12)
    assert split.unasked == per_item(split).count(0)


@given(budget=BUDGETS, groups=GROUPS)
def test_groups_are_split_as_their_items_are(budget, groups):
    """CrowdBudget by group equals `quotas` item by item."""
    costs = [group.cost for group in groups for _ in range(group.items)]
    assert per_item(by_crowdbudget(budget, groups)) == quotas(budget, costs)


@given(budget=BUDGETS, groups=GROUPS)
def test_equal_numbers_differ_by_one_at_most(budget, groups):
    """And they are as large as the budget allows."""
    answers = per_item(evenly(budget, groups))
    assert max(answers) - min(answers) <= 1
    assert min(answers) == budget // sum(group.cost * group.items for group in groups)


@given(
    budget=st.decimals("0", "12", places=1),
    items=st.lists(st.tuples(COSTS.filter(lambda cost: cost > 0.1), ACCURACIES), min_size=1, max_size=4),
)
def test_the_split_by_worth_is_next_to_the_best(budget, items):
    """No split is below the bound, and the split by worth exceeds the best by less than one item's next step."""
    groups = [Group(cost, 1, accuracy) for cost, accuracy in items]
    split = by_worth(budget, groups)
    best = fewest_errors(budget, items)
    next_steps = [gains(g.accuracy, 200)[(n + 1) // 2] for g, n in zip(groups, per_item(split), strict=True)]
    assert split.expected_errors <= errors_at_least(budget, groups) + max(next_steps) + 1e-9
    assert errors_at_least(budget, groups) <= best + 1e-9


@given(budget=st.decimals("1", "30", places=1), groups=GROUPS)
def test_the_bound_is_below_every_split(budget, groups):
    for splitter in SPLITTERS:
        assert errors_at_least(budget, groups) <= splitter(budget, groups).expected_errors + 1e-9


def test_the_best_of_small_cases_is_found_mostly():
    """It equals the best split by brute force in most of a few hundred cases, and is at most 3 % above on average."""
    rng = np.random.default_rng(1)
    over = []
    for _ in range(150):
        items = [(Decimal(int(rng.integers(1, 11))) / 10, float(rng.choice([0.55, 0.7, 0.8, 0.95]))) for _ in range(3)]
        budget = Decimal(int(rng.integers(10, 90))) / 10
        split = by_worth(budget, [Group(cost, 1, accuracy) for cost, accuracy in items])
        over.append(split.expected_errors / fewest_errors(budget, items, most=13) - 1)
    assert np.mean(np.array(over) < 1e-9) > 0.5
    assert np.mean(np.maximum(over, 0.0)) < 0.03


@pytest.mark.parametrize("accuracy", [0.51, 0.6, 0.75, 0.9, 1.0])
def test_gains_are_differences_and_fall(accuracy):
    """Each step to 1, 3, 5 ... answers lowers `majority_error` by its gain, and gains per answer fall."""
    found = gains(accuracy, 60)
    numbers = [0, *range(1, 120, 2)]
    assert found == pytest.approx(-np.diff(majority_error(numbers, accuracy)), abs=1e-13)
    per_answer = found / np.where(np.arange(60) == 0, 1, 2)
    assert (np.diff(per_answer) <= 0).all()


@given(budget=st.decimals("1", "400", places=1), groups=GROUPS)
def test_theorem_1_holds_for_what_is_bought(budget, groups):
    """The corrected bound holds for CrowdBudget's exact errors at the lowest accuracy if the budget covers sum c."""
    if budget < sum(group.cost * group.items for group in groups):
        return
    costs, items = [float(g.cost) for g in groups], [g.items for g in groups]
    bound = theorem_1(float(budget), costs, min(g.accuracy for g in groups) - 0.5, items)
    assert by_crowdbudget(budget, groups).expected_errors <= bound * (1 + 1e-9)


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("errors", [1.0, 20.0, 80.0])
def test_the_budget_for_so_many_errors_is_enough_and_hardly_more(splitter, errors):
    groups = [Group(Decimal("0.2"), 100, 0.9), Group(Decimal(1), 100, 0.6)]
    budget = budget_for(errors, groups, splitter)
    assert splitter(budget, groups).expected_errors <= errors
    assert splitter(budget * Decimal("0.999"), groups).expected_errors > errors


def test_millions_of_items_are_split_without_a_list_of_them():
    groups = [Group(Decimal("0.2"), 10**7, 0.9), Group(Decimal(1), 10**7, 0.6)]
    split = by_worth(Decimal(25_000_000), groups)
    assert split.spent == Decimal(25_000_000)
    assert split.expected_errors == pytest.approx(errors_at_least(Decimal(25_000_000), groups), rel=1e-6)


def test_groups_that_differ_in_nothing_are_one():
    one, other = Group(Decimal(1), 2, 0.8), Group(Decimal(1), 3, 0.7)
    assert merged([one, other, one]) == [Group(Decimal(1), 4, 0.8), other]
