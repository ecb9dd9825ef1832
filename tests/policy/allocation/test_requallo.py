"""Requallo's V and P as Li et al. (WSDM 2016) print them, for any requirement and any number of classes."""

import numpy as np
import pytest

from app.policy.allocation import JobContext, Requallo
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import priority_of
from app.policy.requirements import Ratio, Significance
from app.policy.requirements.base import chance_and_needs, expected_completeness
from app.policy.worker_models import Anonymous

# r(x) of Table 2, x = 1..5 votes for the losing class, pseudo-votes included
NEEDED = [
    (Ratio(min_ratio=4), {1: 5, 2: 10, 3: 15, 4: 20, 5: 25}),
    (Significance(alpha=0.2), {1: 5, 2: 8, 3: 10, 4: 12, 5: 15}),
    (Significance(alpha=0.05), {1: 8, 2: 11, 3: 13, 4: 16, 5: 18}),
]


def prospect_of(counts) -> Lookahead:
    """Items with these counts, pseudo-votes included."""
    votes = np.atleast_2d(np.asarray(counts, dtype=float)) - 1
    return Lookahead.of(Anonymous(), State(votes, np.empty((len(votes), 0))), ItemContext.plain(len(votes)))


def printed(a: int, b: int, r: dict[int, int]) -> tuple[float, float]:
    """P(+1) of Eq. 2 and V of Eq. 1, exactly as printed."""
    n = a + b
    p = 0.5 if a == b else a / n + b / r[b] if a > b else a / n - a / r[a]
    return p, p * n / r[b] + (1 - p) * n / r[a]


def open_items(r: dict[int, int]) -> list[tuple[int, int]]:
    return [(a, b) for a in r for b in r if a + b <= min(r[a], r[b])]


@pytest.mark.parametrize(("requirement", "r"), NEEDED, ids=str)
def test_completeness_as_printed(requirement, r):
    """Eq. 1 and 2 for every pair of counts that is not beyond the requirement."""
    pairs = open_items(r)
    expected = [printed(a, b, r) for a, b in pairs]
    lookahead = prospect_of(pairs)
    leads = np.array([a >= b for a, b in pairs])
    p = np.where(leads, [p for p, _ in expected], [1 - p for p, _ in expected])
    np.testing.assert_allclose(chance_and_needs(lookahead, requirement)[0], p)
    np.testing.assert_allclose(expected_completeness(lookahead, requirement), [v for _, v in expected])


@pytest.mark.parametrize(("requirement", "r"), NEEDED, ids=str)
def test_weaker_classes_play_no_part(requirement, r):
    """With more classes, the two strongest decide, whatever their positions."""
    pairs = open_items(r)
    alone = expected_completeness(prospect_of(pairs), requirement)
    among_others = [(1, a, 1, b) for a, b in pairs]
    np.testing.assert_array_equal(expected_completeness(prospect_of(among_others), requirement), alone)


@pytest.mark.parametrize(("requirement", "r"), NEEDED, ids=str)
def test_rewards_as_printed(requirement, r):
    """The gain of the better of two outcomes, or of their mean under P (Eq. 7)."""
    pairs = [(a, b) for a, b in open_items(r) if a < 5 and b < 5 and a + b < min(r[a], r[b])]
    best, mean = [], []
    for a, b in pairs:
        p, now = printed(a, b, r)
        up, down = (printed(*counts, r)[1] for counts in ((a + 1, b), (a, b + 1)))
        best.append(max(up, down) - now)
        mean.append(p * up + (1 - p) * down - now)
    job = JobContext(requirement)
    np.testing.assert_allclose(priority_of(Requallo(), prospect_of(pairs), job), best)
    np.testing.assert_allclose(priority_of(Requallo(reward="expected"), prospect_of(pairs), job), mean)


def test_ratio_4_and_significance_02_choose_alike_at_first():
    """With fewer than three labels both requirements rank items in the same order, as in the paper (section 4.2)."""
    fresh = prospect_of([(a, b) for a in range(1, 4) for b in range(1, 4) if a + b < 5])
    ranks = [
        np.argsort(-priority_of(Requallo(), fresh, JobContext(requirement)), kind="stable").tolist()
        for requirement in (Ratio(min_ratio=4), Significance(alpha=0.2))
    ]
    assert ranks[0] == ranks[1]


def test_pooling_changes_nothing():
    """A thousand items with equal votes get the value that one of them gets, divided by each one's cost."""
    votes = np.random.default_rng(1).integers(1, 6, (1000, 2))
    pooled = prospect_of(votes)
    assert pooled.distinct() is not None
    together = priority_of(Requallo(), pooled, JobContext(Significance(alpha=0.2)))
    alone = Requallo().value(pooled, JobContext(Significance(alpha=0.2)))
    np.testing.assert_allclose(together, alone, atol=1e-12)
