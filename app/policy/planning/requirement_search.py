"""Find the requirement of each kind that is accurate enough at the least cost."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import floor, inf
from typing import NamedTuple

import numpy as np

from app.policy.belief import Array, Belief
from app.policy.binomial_tail import chance_of_so_few
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping import Limits, Outlook, outlooks
from app.policy.requirements import AnyRequirement, Count, Margin, Posterior, Profit, Ratio, Significance

_MOST_SETTINGS = 120  # of a kind
_EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.3)
_LOSSES = 18
_LOOK_AHEAD = 160  # votes that a strategy of profit may plan for
_DIGITS = 12
_ROUNDING = 1e-9
# What a job may ask for.
_LARGEST_RATIO, _LARGEST_ALPHA, _LARGEST_PROBABILITY, _LARGEST_C = 1000.0, 0.5, 0.999999, 1000.0
_LARGEST_LOSS, _LARGEST_SHAPE = 1e9, 1000.0


def settings(limits: Limits, prior: Prior, cost: float) -> dict[str, list[AnyRequirement]]:
    """The requirements of each kind that are worth a look, for answers of this cost."""
    return {
        "ratio": list(_ratios(limits)),
        "significance": list(_significances(limits)),
        "margin": list(_margins(limits)),
        "posterior": list(_posteriors(limits)),
        "profit": list(_profits(limits, prior, cost)),
        "count": [Count(labels=n) for n in range(1, limits.most_votes + 1)],
    }


class Found(NamedTuple):
    """A requirement and what it leads to."""

    requirement: AnyRequirement
    outlook: Outlook


@dataclass(frozen=True)
class Choice:
    """The best of one kind: the cheapest that reaches what is wanted, or else the most accurate."""

    kind: str
    tried: tuple[Found, ...]  # those that resolve enough items
    wanted: float

    @property
    def ceiling(self) -> float | None:
        """The highest accuracy of this kind; None where it never resolves enough items."""
        return max((found.outlook.accuracy for found in self.tried), default=None)

    @property
    def reaches(self) -> bool:
        return self.ceiling is not None and self.ceiling >= self.wanted

    @cached_property
    def best(self) -> Found | None:
        """By labels for each item that is resolved; None where nothing resolves enough items."""
        good = [found for found in self.tried if found.outlook.accuracy >= min(self.wanted, self.ceiling or 0.0)]
        return min(good, key=lambda found: found.outlook.labels_per_answer, default=None)


def choices(wanted: float, min_resolved: float, limits: Limits, prior: Prior, cost: float = 1.0) -> list[Choice]:
    """What each kind offers to be right so often on what it resolves; those that reach it first, the cheapest first."""
    found = []
    for kind, requirements in settings(limits, prior, cost).items():
        tried = map(Found, requirements, outlooks(requirements, limits, prior, cost))
        enough = tuple(each for each in tried if each.outlook.resolved >= min_resolved - _ROUNDING)
        found.append(Choice(kind, enough, wanted))
    return sorted(found, key=_rank)


def _rank(choice: Choice) -> tuple[bool, float]:
    if choice.best is None:
        return True, inf
    outlook = choice.best.outlook
    return not choice.reaches, outlook.labels_per_answer if choice.reaches else -outlook.accuracy


def roundest(low: float, high: float) -> float:
    """The number above `low`, at most `high`, with the fewest digits after the point.

    >>> roundest(3.5, 5.0), roundest(1.5, 5 / 3), roundest(0.890625, 0.90625)
    (5.0, 1.6, 0.9)
    """
    for digits in range(_DIGITS):
        number = round(floor(high * 10.0**digits) / 10.0**digits, digits)
        if low < number <= high:
            return number
    return high


def _ratios(limits: Limits) -> Iterator[AnyRequirement]:
    first, second = _leading(limits)
    yield from _each_between((first + 1) / (second + 1), 1.0, _LARGEST_RATIO, lambda c: Ratio(min_ratio=c))


def _posteriors(limits: Limits) -> Iterator[AnyRequirement]:
    certainty = Belief.of(np.stack(_leading(limits), axis=1)).certainty
    yield from _each_between(certainty, 0.5, _LARGEST_PROBABILITY, lambda p: Posterior(min_probability=p))


def _significances(limits: Limits) -> Iterator[AnyRequirement]:
    """The smaller alpha is, the more it asks for; p itself is not below it."""
    first, second = _leading(limits)
    tails = np.unique(np.round(chance_of_so_few(second + 1, first + 1), _DIGITS))
    for low, high in _thinned(list(pairwise([*tails[tails < _LARGEST_ALPHA], _LARGEST_ALPHA]))):
        yield Significance(alpha=roundest(float(low), float(high)))


def _margins(limits: Limits) -> Iterator[AnyRequirement]:
    first, second = _leading(limits)
    total = first + second
    for epsilon in _EPSILONS:
        steps = (first - second + epsilon * total) / np.sqrt(total)
        make = _margin_of(epsilon)
        yield from _each_between(steps, 0.0, _LARGEST_C, make, _MOST_SETTINGS // len(_EPSILONS))


def _margin_of(epsilon: float) -> Callable[[float], AnyRequirement]:
    return lambda c: Margin(c=c, epsilon=epsilon)


def _profits(limits: Limits, prior: Prior, cost: float) -> Iterator[AnyRequirement]:
    """Losses in equal ratios, from the one at which a first answer pays; the value says nothing of when to stop."""
    if prior.a > _LARGEST_SHAPE:
        return
    least = 1 / float(prior.marginal_income(0, 0))
    ahead = min(4 * limits.most_votes, _LOOK_AHEAD)
    most = max((2 * ahead + prior.a + prior.b) * 6 / (prior.a - prior.b), 4 * least)  # Eq. 1, solved for the loss
    for ratio in np.geomspace(1.01 * least, most, _LOSSES):
        loss = float(f"{ratio * cost:.3g}")
        if loss <= _LARGEST_LOSS:
            yield Profit(value=loss, loss=loss, prior=(prior.a, prior.b))


def _each_between(
    steps: Array, least: float, most: float, make: Callable[[float], AnyRequirement], number: int = _MOST_SETTINGS
) -> Iterator[AnyRequirement]:
    """A requirement for each bar between two neighbouring steps, at which it behaves as at no other."""
    bars = np.unique(np.round(steps, _DIGITS))
    bars = bars[(bars > least) & (bars <= most)]
    for low, high in _thinned(list(zip([least, *bars[:-1]], bars, strict=True)), number):
        yield make(roundest(float(low), float(high)))


def _thinned(pairs: Sequence[tuple[float, float]], number: int = _MOST_SETTINGS) -> Iterator[tuple[float, float]]:
    """So many of them at most, evenly spread, the first and the last included."""
    if not pairs:
        return
    for at in np.unique(np.linspace(0, len(pairs) - 1, min(number, len(pairs))).round().astype(int)):
        yield pairs[at]


def _leading(limits: Limits) -> tuple[Array, Array]:
    """The votes of items on which one class leads."""
    first, second = limits.standings.T.astype(np.float64)
    leads = first > second
    return first[leads], second[leads]
