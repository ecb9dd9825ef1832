"""The printed numbers of Li et al. (WSDM 2016): Examples 1 to 4 and Table 2."""

import numpy as np
import pytest

from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.binomial_tail import chance_of_so_few
from app.policy.core.lookahead import Lookahead
from app.policy.requirements import Ratio, Significance
from app.policy.worker_models import Anonymous

TABLE_2 = [
    (Ratio(min_ratio=4), [5, 10, 15, 20, 25]),
    (Ratio(min_ratio=5), [6, 12, 18, 24, 30]),
    (Significance(alpha=0.2), [5, 8, 10, 12, 15]),
    (Significance(alpha=0.1), [7, 9, 12, 14, 17]),
    (Significance(alpha=0.05), [8, 11, 13, 16, 18]),
]


def with_pseudo_votes(*counts) -> np.ndarray:
    """Real votes that give these counts when each class has its pseudo-vote."""
    return np.array(counts, dtype=float) - 1


def needed_in_all(requirement, votes) -> np.ndarray:
    """Votes in all: r = n + shortfalls, n the votes of both classes with their pseudo-votes; shape (items, classes)."""
    votes = np.atleast_2d(votes)
    lookahead = Lookahead.of(Anonymous(), State(votes, np.empty((len(votes), 0))), ItemContext.plain(len(votes)))
    return lookahead.now.counts.sum(axis=1, keepdims=True) + requirement.shortfalls(lookahead)


@pytest.mark.parametrize(("requirement", "row"), TABLE_2, ids=str)
def test_table_2(requirement, row):
    """r(x) for x = 1..5: the votes needed in all when the losing class holds x."""
    losing = with_pseudo_votes(*[(1, x) for x in range(1, 6)])
    assert needed_in_all(requirement, losing)[:, 0].tolist() == row


@pytest.mark.parametrize(("requirement", "row"), TABLE_2, ids=str)
def test_a_third_class_that_is_weaker_changes_nothing(requirement, row):
    """With more classes, the two strongest count."""
    losing = with_pseudo_votes(*[(1, x, 1) for x in range(1, 6)])
    assert (needed_in_all(requirement, losing)[:, 0] - 1).tolist() == row


def test_example_1():
    """Ratio 4: one vote to two is unconfident, one to four is confident."""
    decided = Ratio(min_ratio=4).satisfied(Belief.of(with_pseudo_votes((1, 2), (1, 4))))
    assert decided.tolist() == [False, True]


def test_examples_2_and_4():
    """One vote to four has p = 0.1875; without the spammer's vote 0.0625."""
    tails = chance_of_so_few(np.array([1.0, 0.0]), np.array([4.0, 4.0]))
    np.testing.assert_allclose(tails, [0.1875, 0.0625], rtol=1e-14)
    assert not Significance(alpha=0.1).satisfied(Belief.of(with_pseudo_votes(1, 4)))[0]


def test_example_3():
    """Ratio 4 at three votes to one: five are needed in total, or fifteen for the other class to win."""
    assert needed_in_all(Ratio(min_ratio=4), with_pseudo_votes(3, 1)).tolist() == [[5, 15]]


def test_the_test_is_strict():
    """A p-value equal to alpha is not below alpha: Example 2 with its p-value as alpha."""
    votes = Belief.of(with_pseudo_votes(1, 4))
    assert not Significance(alpha=0.1875).satisfied(votes)[0]
    assert Significance(alpha=0.1876).satisfied(votes)[0]


def test_weighted_votes_interpolate():
    """Real-valued counts: the tail is the incomplete beta function, between the whole numbers' tails."""
    weights = np.array([[2.5, 0.0], [3.0, 0.0]])
    weighted = Belief(weights, weights, weights.sum(axis=1), weights + 1, ItemContext.plain(2))
    tail = chance_of_so_few(np.array(1.0), np.array(3.5))
    assert chance_of_so_few(np.array(1.0), np.array(4.0)) < tail < chance_of_so_few(np.array(1.0), np.array(3.0))
    assert Significance(alpha=float(tail) * 1.001).satisfied(weighted).tolist() == [True, True]
    assert Significance(alpha=float(tail) * 0.999).satisfied(weighted).tolist() == [False, True]
