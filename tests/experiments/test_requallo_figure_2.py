"""Six policies on the Game data (Li et al., WSDM 2016, Figure 2): what section 4.2 says of it."""

from functools import cache

import numpy as np
import pytest

from app.experiments import requallo_figures as requallo
from app.experiments.requallo_figure_2 import DEPTH, budgets_of
from app.experiments.requallo_figures import C4, LOOPING, LU, OPT_KG, P02, RANDOM, Spent
from tests.public_sets import recorded_crowd

QUARTERS = list(range(2, 28))  # of a label per item


@cache
def on_the_game():
    """One run of each policy; their accuracy and labeled items by labels per item."""
    crowd = requallo.cut_of_the_game(recorded_crowd("millionaire"))
    budgets = budgets_of(len(crowd.items), QUARTERS)
    names = (P02, C4, OPT_KG, LU, LOOPING, RANDOM)
    spent = {name: requallo.spend(crowd, (name,), budgets, seeds=1, depth=DEPTH)[name] for name in names}
    place = {quarter / 4: position for position, quarter in enumerate(QUARTERS)}
    return len(crowd.items), {
        name: (lambda per_item, each=each: (each.labeled[place[per_item], 0], each.accuracy[place[per_item], 0]))
        for name, each in spent.items()
    }


def test_a_budget_of_two_per_item_lets_every_item_have_two():
    assert budgets_of(1682, [1, 2, 8]) == [421, 841, 3364]
    assert budgets_of(5, [1, 6]) == [2, 8]


def test_looping_labels_all_items_between_two_and_three_per_item():
    items, at = on_the_game()
    assert at[LOOPING](2.0) == (0, 0.5)
    assert at[LOOPING](3.0)[0] == items
    assert items // 2 <= at[LOOPING](2.5)[0] <= items // 2 + 1  # linear in between


def test_opt_kg_and_uncertainty_ask_about_every_item_once_before_any_other():
    _, at = on_the_game()
    for name in (OPT_KG, LU):
        assert at[name](1.0) == (0, 0.5)
        assert at[name](1.5)[0] > 0


def test_requallo_labels_most_items_until_looping_has_been_around_three_times():
    _, at = on_the_game()
    for per_item in (1.0, 1.5, 2.0):
        most = max(at[name](per_item)[0] for name in (OPT_KG, LU, LOOPING, RANDOM))
        assert at[P02](per_item)[0] > 1.5 * most
    assert at[LOOPING](3.0)[0] > at[P02](3.0)[0] > max(at[name](3.0)[0] for name in (OPT_KG, LU, RANDOM))


def test_both_requallo_policies_choose_alike_while_all_items_have_few_labels():
    _, at = on_the_game()
    assert [at[P02](each) for each in (0.5, 1.0, 1.5, 2.0)] == [at[C4](each) for each in (0.5, 1.0, 1.5, 2.0)]
    assert at[P02](3.5) != at[C4](3.5)


@pytest.mark.parametrize(("name", "low"), [(P02, 3.5), (C4, 4.5)])
def test_requallo_is_least_accurate_where_the_easy_items_are_done(name, low):
    """High at first, a low ebb around 3.5 or 4.5 labels per item, and higher again."""
    _, at = on_the_game()
    ebb = min((quarter / 4 for quarter in QUARTERS if quarter >= 4), key=lambda per_item: at[name](per_item)[1])
    assert abs(ebb - low) <= 0.5
    assert at[name](2.0)[1] - at[name](ebb)[1] > 0.03
    assert at[name](6.75)[1] - at[name](ebb)[1] > 0.03
    assert at[name](2.0)[1] > max(at[each](2.0)[1] for each in (OPT_KG, LU, RANDOM))


def test_what_is_bought_is_counted_where_a_policy_ends_before_its_budget():
    votes = np.array([[[[2.0, 1.0], [0.0, 0.0]]], [[[3.0, 1.0], [0.0, 3.0]]]])  # (budgets, runs, items, classes)
    spent = Spent.of(votes, np.array([0, 0]))
    assert spent.bought.tolist() == [[3.0], [7.0]]
    assert spent.labeled.tolist() == [[1], [2]]
    assert spent.right.tolist() == [[1.0], [1.0]]
