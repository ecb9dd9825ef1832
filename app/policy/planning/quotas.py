"""Fix in advance how many answers each item gets when items cost differently, and bound the expected errors."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import groupby, repeat
from math import log
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import special

from app.policy.core.arrays import Array


def quotas(budget: Decimal, costs: Sequence[Decimal]) -> list[int]:
    """Answers per item, in exact arithmetic, so that they never cost more than the budget.

    Algorithm 1 of Tran-Thanh et al. (AAMAS 2013): n_k = floor(B / (c_k^2 sum_j 1/c_j)), and from what is left one
    more per item, in order, wherever it is still affordable. The printed loop runs until the money is overspent.

    >>> quotas(Decimal("10"), [Decimal(1), Decimal(2), Decimal("0.5")])
    [3, 0, 12]
    """
    runs = [EqualQuotas(cost, len(list(same))) for cost, same in groupby(costs)]
    shared = quotas_of_runs(budget, runs)
    return [n + (at < first) for run, (n, first) in zip(runs, shared, strict=True) for at in range(run.items)]


class EqualQuotas(NamedTuple):
    """Consecutive items of equal cost."""

    cost: Decimal  # of one answer
    items: int


def quotas_of_runs(budget: Decimal, runs: Sequence[EqualQuotas]) -> list[tuple[int, int]]:
    """The same for runs of items: the answers of each item of a run, and how many of its first items get one more.

    >>> quotas_of_runs(Decimal(1_000_001), [EqualQuotas(Decimal(1), 300_000), EqualQuotas(Decimal(2), 400_000)])
    [(2, 300000), (0, 50000)]
    """
    inverses = _inverses_of(tuple(runs))
    share = {cost: _share(Fraction(budget), Fraction(cost), inverses) for cost in {run.cost for run in runs}}
    return with_the_rest(budget, runs, [share[run.cost] for run in runs])


def _share(budget: Fraction, cost: Fraction, inverses: Fraction) -> int:
    """floor(B / (c^2 S)) in one integer division: S may have thousands of digits, and fractions are slow to reduce."""
    over = budget.numerator * cost.denominator**2 * inverses.denominator
    return over // (budget.denominator * cost.numerator**2 * inverses.numerator)


@lru_cache(maxsize=32)
def _inverses_of(runs: tuple[EqualQuotas, ...]) -> Fraction:
    return sum_of_inverses([run.cost for run in runs], [run.items for run in runs])


def uniform_quotas(budget: Decimal, runs: Sequence[EqualQuotas]) -> list[tuple[int, int]]:
    """The same number of answers for every item, floor(B / sum c), and the rest as in `quotas_of_runs`.

    >>> runs = [EqualQuotas(Decimal(1), 1), EqualQuotas(Decimal(2), 1), EqualQuotas(Decimal("0.5"), 1)]
    >>> uniform_quotas(Decimal(10), runs)
    [(2, 1), (2, 1), (2, 0)]
    """
    each = int(budget // sum(run.cost * run.items for run in runs))
    return with_the_rest(budget, runs, [each] * len(runs))


def with_the_rest(budget: Decimal, runs: Sequence[EqualQuotas], share: Sequence[int]) -> list[tuple[int, int]]:
    """The given answers for each item of a run, and how many of its first items can have one more from what is left."""
    left = budget - sum(run.cost * run.items * n for run, n in zip(runs, share, strict=True))
    found = []
    for run, n in zip(runs, share, strict=True):
        first = min(run.items, int(left // run.cost))
        left -= first * run.cost
        found.append((n, first))
    return found


def sum_of_inverses(costs: Sequence[Decimal], items: Sequence[int] | None = None) -> Fraction:
    """The exact sum of 1 / cost over the given number of items of each cost, by default one.

    >>> sum_of_inverses([Decimal(2), Decimal(3), Decimal(3)]), sum_of_inverses([Decimal(2), Decimal(3)], [1, 2])
    (Fraction(7, 6), Fraction(7, 6))
    """
    counts: Counter[Decimal] = Counter()
    for cost, count in zip(costs, items or repeat(1), strict=False):
        counts[cost] += count
    terms = [count / Fraction(cost) for cost, count in counts.items()]
    while len(terms) > 1:  # in pairs: denominators grow with every sum, so the long ones should be added last
        terms = [sum(terms[at : at + 2], Fraction(0)) for at in range(0, len(terms), 2)]
    return terms[0] if terms else Fraction(0)


def majority_error(answers: npt.ArrayLike, accuracy: npt.ArrayLike) -> Array:
    """P(the majority of this many answers is wrong), where a fair coin decides ties; shapes are broadcast.

    I_{1-p}(h, h) with h = ceil(n / 2): 2h answers are as good as 2h - 1, since the last one can only make a tie. The
    paper's Eq. 2 decides ties for answer 1 instead, which is wrong half the time for items of both kinds.

    >>> majority_error([0, 1, 2, 3], 0.8).round(3).tolist()
    [0.5, 0.2, 0.2, 0.104]
    """
    half = np.ceil(np.asarray(answers, dtype=np.float64) / 2)
    some = np.maximum(half, 1.0)
    return np.where(half > 0, special.betainc(some, some, 1 - np.asarray(accuracy, dtype=np.float64)), 0.5)


def expected_errors_at_most(answers: npt.ArrayLike, edge: npt.ArrayLike, items: npt.ArrayLike = 1) -> float:
    """A bound on the expected number of wrong items: sum of exp(-2 n_k d^2), d the edge of workers over guessing.

    Hoeffding's inequality, the step before Theorem 1. It holds for any quotas and any rule for ties. Here and below,
    `items` is the number of items that each entry represents.

    >>> round(expected_errors_at_most([10] * 100, 0.3), 2)  # the setting of Figure 1, at B = 600
    16.53
    """
    n, d, count = (np.asarray(each, dtype=np.float64) for each in (answers, edge, items))
    return float((count * np.exp(-2 * n * d**2)).sum())


def theorem_1(budget: float, costs: npt.ArrayLike, edge: float, items: npt.ArrayLike = 1) -> float:
    """The bound of Theorem 1, K exp(-2 (B - sum c) d^2 / (c_max^2 sum 1/c)); for budgets of at least sum c.

    Its proof needs floor(n*) + 1 answers for every item, which the budget only covers if one answer for each is set
    aside first; the printed bound has B where this has B - sum c. It also holds for `quotas` if a fair coin decides
    ties: their n_k is above n* - 1, a majority errs with at most exp(-2 n d^2) / 2 (Bhattacharyya), and
    exp(2 d^2) < 2.
    """
    cost, count = np.broadcast_arrays(np.asarray(costs, dtype=np.float64), np.asarray(items, dtype=np.float64))
    fewest = (budget - (count * cost).sum()) / (cost.max() ** 2 * (count / cost).sum())
    return float(count.sum() * np.exp(-2 * fewest * edge**2))


def budget_of_theorem_1(errors: float, costs: npt.ArrayLike, edge: float, items: npt.ArrayLike = 1) -> float:
    """The budget at which the bound of Theorem 1 has fallen to this many expected errors.

    >>> round(theorem_1(budget_of_theorem_1(5.0, [0.6] * 100, 0.3), [0.6] * 100, 0.3), 6)
    5.0
    """
    cost, count = np.broadcast_arrays(np.asarray(costs, dtype=np.float64), np.asarray(items, dtype=np.float64))
    fewest = max(log(count.sum() / errors), 0.0) / (2 * edge**2)
    return float((count * cost).sum() + fewest * cost.max() ** 2 * (count / cost).sum())


def theorem_2(answers: npt.ArrayLike, edge: npt.ArrayLike, doubt: float, items: npt.ArrayLike = 1) -> float:
    """The bound of Theorem 2 on the expected errors, with probability at least (1 - doubt)^K, corrected.

    Sum of max(0, 1/2 - d / (2 e_k)) with e_k = sqrt(-ln(doubt / 2) / (2 n_k)). Eq. 12 loses the 2 before e_k; as
    printed, eleven answers of accuracy 0.8 would never be wrong. It assumes that the mean of the answers is spread as
    evenly as possible about its expectation, and that a fair coin decides ties.

    >>> round(theorem_2([11] * 100, 0.3, 0.001), 1)
    24.5
    """
    n, d, count = (np.asarray(each, dtype=np.float64) for each in (answers, edge, items))
    per_radius = np.sqrt(2 * n / -log(doubt / 2))
    return float((count * np.maximum(0.0, 0.5 - d * per_radius / 2)).sum())


def theorem_4(costs: npt.ArrayLike, edge: float, doubt: float, items: npt.ArrayLike = 1) -> float:
    """The smallest budget at which no item is wrong with probability at least (1 - doubt)^K.

    sum c - ln(doubt) / (2 d^2) sum c_max^2 / c_j; sum c is set aside for the same reason as in Theorem 1.

    >>> round(theorem_4([0.6] * 100, 0.3, 0.001))
    2363
    """
    cost, count = np.broadcast_arrays(np.asarray(costs, dtype=np.float64), np.asarray(items, dtype=np.float64))
    return float((count * cost).sum() - log(doubt) / (2 * edge**2) * (count * cost.max() ** 2 / cost).sum())
