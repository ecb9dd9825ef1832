"""How many answers per item when items cost differently, fixed in advance, and how wrong the result may be."""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from math import log

import numpy as np
import numpy.typing as npt
from scipy import special

from app.policy.belief import Array


def quotas(budget: Decimal, costs: Sequence[Decimal]) -> list[int]:
    """Answers per item, in exact arithmetic, so that they never cost more than the budget.

    Algorithm 1 of Tran-Thanh et al. (AAMAS 2013): n_k = floor(B / (c_k^2 sum_j 1/c_j)), and from what is left one
    more per item, in order, wherever it is still affordable. The printed loop runs until the money is overspent.

    >>> quotas(Decimal("10"), [Decimal(1), Decimal(2), Decimal("0.5")])
    [3, 0, 12]
    """
    left, inverse_costs = Fraction(budget), sum_of_inverses(costs)
    share = {cost: int(Fraction(budget) / (Fraction(cost) ** 2 * inverse_costs)) for cost in set(costs)}
    left -= sum(count * share[cost] * Fraction(cost) for cost, count in Counter(costs).items())
    answers = []
    for cost in costs:
        one_more = Fraction(cost) <= left
        left -= Fraction(cost) * one_more
        answers.append(share[cost] + one_more)
    return answers


def sum_of_inverses(costs: Sequence[Decimal]) -> Fraction:
    """The sum of 1 / cost, exactly.

    >>> sum_of_inverses([Decimal(2), Decimal(3), Decimal(3)])
    Fraction(7, 6)
    """
    terms = [count / Fraction(cost) for cost, count in Counter(costs).items()]
    while len(terms) > 1:  # in pairs: denominators grow with every sum, so long ones should meet late
        terms = [sum(terms[at : at + 2], Fraction(0)) for at in range(0, len(terms), 2)]
    return terms[0] if terms else Fraction(0)


def majority_error(answers: npt.ArrayLike, accuracy: float) -> Array:
    """P(the majority of so many answers is wrong), a tie being decided by an even coin; any shape.

    The paper's Eq. 2 gives a tie to answer 1 instead, which is wrong half the time for items of both kinds.

    >>> majority_error([0, 1, 2, 3], 0.8).round(3).tolist()
    [0.5, 0.2, 0.2, 0.104]
    """
    n = np.asarray(answers, dtype=np.float64)
    half = np.floor(n / 2)
    at_most_half = special.bdtr(half, n.astype(np.int64), accuracy)
    log_tie = special.gammaln(n + 1) - 2 * special.gammaln(half + 1) + special.xlogy(half, accuracy * (1 - accuracy))
    return np.asarray(at_most_half - np.where(n == 2 * half, np.exp(log_tie) / 2, 0.0))


def expected_errors_at_most(answers: npt.ArrayLike, edge: float) -> float:
    """A bound on the expected number of wrong items: sum of exp(-2 n_k d^2), d the edge of workers over guessing.

    Hoeffding's inequality, the step before Theorem 1. It holds for any quotas and any rule for ties.

    >>> round(expected_errors_at_most([10] * 100, 0.3), 2)  # the setting of Figure 1, at B = 600
    16.53
    """
    return float(np.exp(-2 * np.asarray(answers, dtype=np.float64) * edge**2).sum())


def theorem_1(budget: float, costs: npt.ArrayLike, edge: float) -> float:
    """The bound of Theorem 1, K exp(-2 (B - sum c) d^2 / (c_max^2 sum 1/c)); for budgets of at least sum c.

    Its proof needs floor(n*) + 1 answers for every item, which the budget only covers if one answer for each is set
    aside first; the printed bound has B where this has B - sum c.
    """
    cost = np.asarray(costs, dtype=np.float64)
    fewest = (budget - cost.sum()) / (cost.max() ** 2 * (1 / cost).sum())
    return float(len(cost) * np.exp(-2 * fewest * edge**2))


def theorem_2(answers: npt.ArrayLike, edge: float, doubt: float) -> float:
    """The bound of Theorem 2 on the expected errors, with probability at least (1 - doubt)^K, mended.

    Sum of max(0, 1/2 - d / (2 e_k)) with e_k = sqrt(-ln(doubt / 2) / (2 n_k)). Eq. 12 loses the 2 before e_k; as
    printed, eleven answers of accuracy 0.8 would never be wrong. It takes the answers' mean to be spread about its
    own as evenly as can be, and an even coin for ties.

    >>> round(theorem_2([11] * 100, 0.3, 0.001), 1)
    24.5
    """
    radius = np.sqrt(-log(doubt / 2) / (2 * np.asarray(answers, dtype=np.float64)))
    return float(np.maximum(0.0, 0.5 - edge / (2 * radius)).sum())


def theorem_4(costs: npt.ArrayLike, edge: float, doubt: float) -> float:
    """The budget from which on no item is wrong, with probability at least (1 - doubt)^K.

    sum c - ln(doubt) / (2 d^2) sum c_max^2 / c_j; sum c is set aside for the same reason as in Theorem 1.

    >>> round(theorem_4([0.6] * 100, 0.3, 0.001))
    2363
    """
    cost = np.asarray(costs, dtype=np.float64)
    return float(cost.sum() - log(doubt) / (2 * edge**2) * (cost.max() ** 2 / cost).sum())
