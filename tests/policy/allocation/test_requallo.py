"""Requallo's V and P as Li et al. (WSDM 2016) print them, for any requirement and any number of classes."""

import numpy as np
import pytest
from scipy import optimize, special

from app.policy.allocation import JobContext, Requallo
from app.policy.core.belief import ItemContext, State
from app.policy.core.lookahead import Lookahead
from app.policy.engine import priority_of
from app.policy.requirements import AllOf, Count, Ratio, Significance
from app.policy.requirements.base import expected_completeness, race_of_two
from app.policy.worker_models import Anonymous, Weighted

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
    np.testing.assert_allclose(race_of_two(lookahead, requirement).leader_wins, p)
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


Ballot = tuple[float, int]  # the reliability of the worker, and the label


def weighted_counts(ballots: list[Ballot]) -> tuple[float, float]:
    """a~ and b~ of Eq. 8 and 9, by a search for the largest likelihood; one perfect pseudo-label per class."""

    def unlikely(p: float) -> float:
        factors = [theta * p + (1 - theta) * (1 - p) if label == 0 else theta * (1 - p) + (1 - theta) * p
                   for theta, label in [*ballots, (1.0, 0), (1.0, 1)]]  # fmt: skip
        return -float(np.log(factors).sum())

    p = float(optimize.minimize_scalar(unlikely, bounds=(1e-9, 1 - 1e-9), method="bounded", options={"xatol": 1e-11}).x)
    n = len(ballots) + 2
    return p * n, (1 - p) * n


def printed_weighted(ballots: list[Ballot], r) -> float:
    """V of Eq. 1 with P of Eq. 10, on the weighted counts."""
    a, b = sorted(weighted_counts(ballots), reverse=True)
    n = a + b
    if n >= r(b):
        return 1.0
    p = 0.5 if a - b < 1e-6 else a / n + b / r(b)
    return p * n / r(b) + (1 - p) * n / r(a)


def prospect_of_ballots(items: list[list[Ballot]], theta: float) -> Lookahead:
    """These ballots on items, before an answer of a worker of reliability `theta`."""
    model, states = Weighted(), []
    for ballots in items:
        state, context = model.start(ItemContext.plain(1), 2), ItemContext.plain(1)
        for reliability, label in ballots:
            state, _ = model.learn(state, context, np.array([[reliability, 1 - reliability]]), np.array([label]))
        states.append(state)
    width = max(state.model_state.shape[1] for state in states)
    kept = [np.pad(state.model_state, ((0, 0), (0, width - state.model_state.shape[1])), constant_values=np.nan)
            for state in states]  # fmt: skip
    together = State(np.concatenate([state.votes for state in states]), np.concatenate(kept))
    skill = np.tile([theta, 1 - theta], (len(items), 1))
    return Lookahead.of(model, together, ItemContext.plain(len(items)), skill)


def real_significance(x: float) -> float:
    """r(x) where votes are weighted: the total at which the tail I_{1/2}(a, x + 1) has fallen to .2."""
    return x + float(optimize.brentq(lambda a: special.betainc(a, x + 1, 0.5) - 0.2, x, 500.0, xtol=1e-12))


WEIGHTED = [(Ratio(min_ratio=4), lambda x: 5 * x), (Significance(alpha=0.2), real_significance)]


def test_weighted_votes_have_real_valued_needs():
    """Votes + + - of workers of .9, .8 and .6 at ratio 4, and what a next worker of .6 adds: Eq. 1, 5 and 8 to 10."""
    lookahead = prospect_of_ballots([[(0.9, 0), (0.8, 0), (0.6, 1)]], 0.6)
    assert expected_completeness(lookahead, Ratio(min_ratio=4))[0] == pytest.approx(0.6053, abs=5e-5)
    assert Requallo().value(lookahead, JobContext(Ratio(min_ratio=4)))[0] == pytest.approx(0.0551, abs=5e-5)


@pytest.mark.parametrize(("requirement", "r"), WEIGHTED, ids=["ratio", "significance"])
def test_weighted_rewards_as_printed(requirement, r):
    """Random ballots of random workers, against a direct search for P and the printed formulas."""
    rng = np.random.default_rng(2)
    items = [
        [(float(rng.uniform(0.5, 1)), int(rng.random() < 0.35)) for _ in range(rng.integers(0, 7))] for _ in range(60)
    ]
    items = [ballots for ballots in items if printed_weighted(ballots, r) < 1]
    lookahead = prospect_of_ballots(items, 0.65)
    now = [printed_weighted(ballots, r) for ballots in items]
    np.testing.assert_allclose(expected_completeness(lookahead, requirement), now, atol=1e-5)
    after = [[printed_weighted([*ballots, (0.65, label)], r) for label in (0, 1)] for ballots in items]
    value = Requallo().value(lookahead, JobContext(requirement))
    np.testing.assert_allclose(value, np.max(after, axis=1) - now, atol=1e-5)
    assert len(items) > 40


def test_a_minimum_number_of_labels_keeps_the_real_valued_needs():
    """Every answer adds one to the weighted votes in total, so missing labels and missing votes compare."""
    lookahead = prospect_of_ballots([[(0.9, 0), (0.8, 0), (0.6, 1)]], 0.6)
    alone, with_minimum = Ratio(min_ratio=4), AllOf(of=(Ratio(min_ratio=4), Count(labels=2)))
    here, there = (expected_completeness(lookahead, requirement)[0] for requirement in (alone, with_minimum))
    assert here == there


@pytest.mark.parametrize("requirement", [requirement for requirement, _ in NEEDED], ids=str)
def test_perfect_workers_change_nothing(requirement):
    """Votes of reliability 1 weigh one: completeness and rewards are those of counted votes."""
    ballots = [[(1.0, 0)] * a + [(1.0, 1)] * b for a in range(4) for b in range(3)]
    votes = [(1 + sum(label == 0 for _, label in each), 1 + sum(label == 1 for _, label in each)) for each in ballots]
    weighted, counted = prospect_of_ballots(ballots, 1.0), prospect_of(votes)
    if isinstance(requirement, Ratio):  # r(x) of the ratio is whole for whole votes
        np.testing.assert_allclose(
            expected_completeness(weighted, requirement), expected_completeness(counted, requirement), atol=1e-6
        )
    np.testing.assert_array_equal(weighted.shortfalls(requirement), counted.shortfalls(requirement))
