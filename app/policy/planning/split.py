"""Split a budget between items that cost differently: by CrowdBudget, evenly, or by what each answer is worth."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache
from heapq import heapify, heappop, heappush
from math import ceil, log

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property
from scipy import special

from app.policy.core.arrays import Array, IntArray
from app.policy.planning.quotas import (
    EqualQuotas,
    budget_of_theorem_1,
    expected_errors_at_most,
    majority_error,
    quotas_of_runs,
    theorem_2,
    uniform_quotas,
)

MOST_STEPS = 5_000  # that a split by worth looks ahead for an item: 9,999 answers
SMALLEST_AMOUNT = Decimal("0.000001")
_MOST_IN_ALL = 500_000  # steps of all groups
_ROUNDING = 1e-9
_PRECISION = Decimal("0.0001")


@dataclass(frozen=True)
class Group:
    """Items that cost the same and are equally hard."""

    cost: Decimal  # of one answer
    items: int
    accuracy: float  # how often workers are right on them; more than one half


@dataclass(frozen=True)
class Split:
    """The answers that the items of each group get: its first `with_more` items get `more`, the others `fewer`."""

    groups: tuple[Group, ...]
    fewer: tuple[int, ...]
    more: tuple[int, ...]
    with_more: tuple[int, ...]

    @property
    def parts(self) -> Iterator[tuple[Group, int, int, int]]:
        """Each group with its `fewer`, `more` and `with_more`."""
        return zip(self.groups, self.fewer, self.more, self.with_more, strict=True)

    @property
    def spent(self) -> Decimal:
        return sum((g.cost * (g.items * n + extra * (m - n)) for g, n, m, extra in self.parts), Decimal(0))

    @cached_property
    def expected_errors(self) -> float:
        """How many items the majority is expected to get wrong, exactly; a fair coin decides ties."""
        answers, accuracy, items = self._flat
        return float(items @ majority_error(answers, accuracy))

    @property
    def hoeffding(self) -> float:
        answers, accuracy, items = self._flat
        return expected_errors_at_most(answers, accuracy - 0.5, items)

    def theorem_2(self, doubt: float) -> float:
        answers, accuracy, items = self._flat
        return theorem_2(answers, accuracy - 0.5, doubt, items)

    @property
    def unasked(self) -> int:
        """Items that get no answer."""
        answers, _, items = self._flat
        return int(items[answers == 0].sum())

    @cached_property
    def _flat(self) -> tuple[Array, Array, Array]:
        """Answers, accuracy and number of the items with more answers, then of the others; shape (2 * groups,) each."""
        accuracy = [group.accuracy for group in self.groups] * 2
        others = [group.items - extra for group, extra in zip(self.groups, self.with_more, strict=True)]
        return _floats([*self.more, *self.fewer]), _floats(accuracy), _floats([*self.with_more, *others])


Splitter = Callable[[Decimal, Sequence[Group]], Split]


def by_crowdbudget(budget: Decimal, groups: Sequence[Group]) -> Split:
    """Algorithm 1 of Tran-Thanh et al. (AAMAS 2013), corrected: see `quotas`. It ignores accuracies."""
    return _with_one_more(groups, quotas_of_runs(budget, _runs(groups)))


def evenly(budget: Decimal, groups: Sequence[Group]) -> Split:
    """The same number of answers for all items, and one more from what is left, in order."""
    return _with_one_more(groups, uniform_quotas(budget, _runs(groups)))


def by_worth(budget: Decimal, groups: Sequence[Group]) -> Split:
    """Buy the answers that lower the expected errors most per money, until no affordable answer helps.

    An even number of answers is no better than one fewer, so an item gets 1, 3, 5 ... answers. Each such step lowers
    its error by less per answer than the step before (see `gains`), so buying steps in order of worth per money is the
    best split of the money that these steps cost. Only the step at which the money runs out may not fit, so the split
    misses the best one by less than the worth of one step of one item: compare `errors_at_least`.
    """
    kinds = merged(groups)
    bought, with_more = _best_steps(budget, kinds)
    of = {(kind.cost, kind.accuracy): k for k, kind in enumerate(kinds)}
    shared = []
    for group in groups:
        k = of[group.cost, group.accuracy]
        extra = min(group.items, with_more[k])
        with_more[k] -= extra
        shared.append((_answers(bought[k]), _answers(bought[k] + 1), extra))
    return Split(tuple(groups), *zip(*shared, strict=True))


def _best_steps(budget: Decimal, groups: Sequence[Group]) -> tuple[list[int], list[int]]:
    """Steps for all items of each group, and how many of its items get one more."""
    steps = _steps(tuple(groups))
    bought = steps.bought(steps.affordable(float(budget) * (1 - _ROUNDING)))
    left = budget - _money(groups, bought)
    heap = [(-steps.worth(k, n), k) for k, n in enumerate(bought)]
    heapify(heap)
    with_more = [0] * len(groups)
    while heap:
        worth, k = heappop(heap)
        price = groups[k].cost * (_answers(bought[k] + 1) - _answers(bought[k]))
        extra = min(groups[k].items, int(left // price)) if worth < 0 else 0
        left -= extra * price
        if extra < groups[k].items:
            with_more[k] = extra
            continue
        bought[k] += 1
        heappush(heap, (-steps.worth(k, bought[k]), k))
    return bought, with_more


def errors_at_least(budget: Decimal, groups: Sequence[Group]) -> float:
    """A lower bound on the expected errors of any split: the errors if a part of a step could be bought.

    This is the linear relaxation of the knapsack problem that `by_worth` solves. Items with the largest number of
    answers that it considers count as free of errors, because another split may buy more answers for them.
    """
    steps = _steps(tuple(groups))
    at = steps.affordable(float(budget))
    bought = steps.bought(at)
    asked_on = [n < steps.most for n in bought]
    left = [
        g.items * on * majority_error(_answers(n), g.accuracy)
        for g, n, on in zip(groups, bought, asked_on, strict=True)
    ]
    part = (
        (float(budget) - float(_money(groups, bought))) * float(steps.density[at]) if at < len(steps.density) else 0.0
    )
    return max(float(np.sum(left)) - max(part, 0.0), 0.0)


def budget_for(errors: float, groups: Sequence[Group], splitter: Splitter) -> Decimal | None:
    """A budget, to four digits, with which the split expects at most `errors` errors; None: unreasonably large.

    It bisects below a budget that suffices. A smaller budget may also suffice: with CrowdBudget and with equal shares,
    a little more money can buy even numbers of answers, which do not help.
    """
    low, high = Decimal(0), _enough_for(errors, groups)
    if splitter(high, groups).expected_errors > errors:
        return None
    while high - low > max(high * _PRECISION, SMALLEST_AMOUNT):
        middle = ((low + high) / 2).quantize(SMALLEST_AMOUNT)
        if splitter(middle, groups).expected_errors <= errors:
            high = middle
        else:
            low = middle
    return high


def _enough_for(errors: float, groups: Sequence[Group]) -> Decimal:
    """What Theorem 1 asks for, or the same number of answers for all by Hoeffding's inequality, if that is more."""
    cost, items = _floats([float(g.cost) for g in groups]), _floats([g.items for g in groups])
    edge = min(group.accuracy for group in groups) - 0.5
    answers = ceil(max(log(items.sum() / errors), 0.0) / (2 * edge**2)) + 1
    most = max(budget_of_theorem_1(errors, cost, edge, items), answers * float(cost @ items))
    return Decimal(most).quantize(SMALLEST_AMOUNT, ROUND_CEILING)


def merged(groups: Sequence[Group]) -> list[Group]:
    """Merge groups with equal cost and accuracy, in order of first appearance."""
    items: dict[tuple[Decimal, float], int] = {}
    for group in groups:
        items[group.cost, group.accuracy] = items.get((group.cost, group.accuracy), 0) + group.items
    return [Group(cost, count, accuracy) for (cost, accuracy), count in items.items()]


@lru_cache(maxsize=256)
def gains(accuracy: float, steps: int) -> Array:
    """By how much each step, to 1, 3, 5 ... answers, lowers the error of a majority; shape (steps,).

    (p - q) / 2 for the first, then (p - q) C(2m - 1, m) (p q)^m for the step from 2m - 1 to 2m + 1. Per answer they
    fall: C(2m + 1, m + 1) / C(2m - 1, m) < 4, and p q <= 1/4.

    >>> gains(0.8, 3).round(4).tolist(), (-np.diff(majority_error([0, 1, 3, 5], 0.8))).round(4).tolist()
    ([0.3, 0.096, 0.0461], [0.3, 0.096, 0.0461])
    """
    m = np.arange(1, steps, dtype=np.float64)
    log_ways = special.gammaln(2 * m) - special.gammaln(m) - special.gammaln(m + 1)
    later = np.exp(log_ways + special.xlogy(m, accuracy * (1 - accuracy)))
    return np.asarray((2 * accuracy - 1) * np.concatenate([[0.5], later]))


@dataclass(frozen=True)
class _Steps:
    """All steps of all groups, by worth per money; those of a group stay in order."""

    most: int  # steps of an item
    worths: Array  # (groups, most)
    group: IntArray  # (steps,)
    density: Array  # (steps,) worth per money
    money: Array  # (steps,) that this step and all before it cost

    def worth(self, k: int, bought: int) -> float:
        """The worth per money of one more step for an item of group k that has had `bought` steps."""
        return float(self.worths[k, bought]) if bought < self.most else 0.0

    def affordable(self, budget: float) -> int:
        """How many steps in this order the budget covers."""
        return int(np.searchsorted(self.money, budget, "right"))

    def bought(self, first: int) -> list[int]:
        """How many of the first steps are of each group."""
        counts: list[int] = np.bincount(self.group[:first], minlength=len(self.worths)).tolist()
        return counts


@lru_cache(maxsize=4)
def _steps(groups: tuple[Group, ...]) -> _Steps:
    most = min(MOST_STEPS, _MOST_IN_ALL // len(groups))
    cost, items = _floats([float(g.cost) for g in groups])[:, None], _floats([g.items for g in groups])[:, None]
    answers = np.where(np.arange(most) == 0, 1.0, 2.0)
    worths = np.stack([gains(group.accuracy, most) for group in groups]) / answers / cost
    order = np.argsort(-worths, axis=None, kind="stable")
    order = order[: np.count_nonzero(worths)]
    money = (items * cost * answers).ravel()[order].cumsum()
    return _Steps(most, worths, order // most, worths.ravel()[order], money)


def _money(groups: Sequence[Group], bought: Sequence[int]) -> Decimal:
    """The cost of `bought` steps for every item of each group."""
    return sum((g.cost * g.items * _answers(n) for g, n in zip(groups, bought, strict=True)), Decimal(0))


def _answers(steps: int) -> int:
    return max(2 * steps - 1, 0)


def _runs(groups: Sequence[Group]) -> list[EqualQuotas]:
    return [EqualQuotas(group.cost, group.items) for group in groups]


def _with_one_more(groups: Sequence[Group], shared: Sequence[tuple[int, int]]) -> Split:
    fewer, with_more = zip(*shared, strict=True)
    return Split(tuple(groups), fewer, tuple(n + 1 for n in fewer), with_more)


def _floats(values: npt.ArrayLike) -> Array:
    return np.asarray(values, dtype=np.float64)
