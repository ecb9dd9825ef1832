"""The printed numbers of Li et al. (WSDM 2016): Examples 1 to 4 and Table 2."""

import numpy as np
import pytest

from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.binomial_tail import chance_of_so_few
from app.policy.core.lookahead import FreshLookahead, Lookahead
from app.policy.requirements import AllOf, AnyOf, Count, Margin, Ratio, Significance
from app.policy.requirements.base import expected_completeness
from app.policy.worker_models import Anonymous, SpamFilter, Weighted

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
    return requirement.counts(lookahead.now).sum(axis=1, keepdims=True) + requirement.shortfalls(lookahead)


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


@pytest.mark.parametrize(("requirement", "row"), TABLE_2, ids=str)
def test_table_2_without_extra_votes(requirement, row):
    """r(x) is a function of the counts alone: on real votes it is the same table."""
    plain = type(requirement)(**requirement.model_dump() | {"pseudo_votes": 0})
    losing = np.array([(0, x) for x in range(1, 6)], dtype=float)
    lookahead = Lookahead.of(Anonymous(), State(losing, np.empty((5, 0))), ItemContext.plain(5))
    assert (np.arange(1, 6) + plain.shortfalls(lookahead)[:, 0]).tolist() == row


def test_example_1_on_real_votes():
    """One vote to four is confident at ratio 4 without extra votes, and is not with one."""
    decided = Ratio(min_ratio=4, pseudo_votes=0).satisfied(Belief.of([[1, 2], [1, 4]]))
    assert decided.tolist() == [False, True]
    assert not Ratio(min_ratio=4).satisfied(Belief.of([1, 4]))[0]


def test_example_4_on_real_votes():
    """Without the spammer's vote none to four has p = 0.0625, below 0.1; with the vote it had 0.1875 (Example 2)."""
    rule = Significance(alpha=0.1, pseudo_votes=0)
    assert rule.satisfied(Belief.of([[1, 4], [0, 4]])).tolist() == [False, True]
    assert "with probability 0.062;" in rule.reason(Belief.of([0, 4]), 0).message
    assert not Significance(alpha=0.1).satisfied(Belief.of([0, 4]))[0]


@pytest.mark.parametrize("pseudo_votes", [0, 1e-12, 0.3, 1, 7])
@pytest.mark.parametrize(
    "rule", [Ratio(min_ratio=1.0000001), Ratio(), Significance(alpha=0.5), Significance()], ids=lambda rule: rule.kind
)
def test_no_answers_are_never_enough(rule, pseudo_votes):
    """A ratio of nothing to nothing is no ratio; progress and completeness start at a number, not at 0 / 0."""
    rule = type(rule)(**rule.model_dump() | {"pseudo_votes": pseudo_votes})
    for model in (Anonymous(), Weighted(), SpamFilter()):
        fresh = FreshLookahead.of_one_item(model, 3)
        assert not rule.satisfied(fresh.now)[0]
        assert rule.shortfall(fresh)[0] >= 1
        assert rule.progress(fresh)[0] == 0
        assert 0 <= expected_completeness(fresh, rule)[0] < 1
        assert rule.reason(fresh.now, 0).code.endswith("not-reached")


def test_completeness_without_extra_votes():
    """Example 3 on real votes: 3 to 1 at ratio 4 is 4/5 or 4/15 complete; P = 3/4 + 1/5 by Eq. 2."""
    votes = np.array([[3.0, 1.0], [0.0, 0.0], [1.0, 0.0]])
    lookahead = Lookahead.of(Anonymous(), State(votes, np.empty((3, 0))), ItemContext.plain(3))
    expected = [0.95 * 4 / 5 + 0.05 * 4 / 15, 0.0, 1.0]
    np.testing.assert_allclose(expected_completeness(lookahead, Ratio(min_ratio=4, pseudo_votes=0)), expected)


def test_pseudo_votes_are_spoken_of_as_they_are():
    """The sentences say how many extra votes count, and none where there are none."""
    said = [
        Ratio(min_ratio=4, pseudo_votes=extra).reason(Belief.of(votes), 0).message
        for extra, votes in ((1, [3, 1]), (2, [3, 1]), (0, [3, 1]), (0, [3, 0]), (0, [0, 0]))
    ]
    assert said == [
        "3 votes to 1. With one extra vote per label the ratio is 2; the job asks for a ratio of 4.",
        "3 votes to 1. With 2 extra votes per label the ratio is 1.67; the job asks for a ratio of 4.",
        "3 votes to 1. The ratio is 3; the job asks for a ratio of 4.",
        "3 votes to 0. No vote is against it; the job asks for a ratio of 4.",
        "0 votes to 0. There is no vote yet; the job asks for a ratio of 4.",
    ]


def test_a_combination_counts_as_its_member_does():
    """With a minimum number of labels, completeness has the extra votes of the ratio, not one by default."""
    both = AllOf(of=(Count(labels=2), Ratio(min_ratio=4, pseudo_votes=0)))
    assert both.counts(Belief.of([3, 1])).tolist() == [[3, 1]]
    assert AnyOf(of=(Count(labels=2), Margin())).counts(Belief.of([3, 1])).tolist() == [[4, 2]]
