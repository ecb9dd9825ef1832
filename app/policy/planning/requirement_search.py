"""Find the requirement of each kind that is accurate enough at the least cost."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf, sqrt
from typing import NamedTuple

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array
from app.policy.core.belief import Belief
from app.policy.core.binomial_tail import chance_of_so_few
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping import Limits, StoppingOutcome, stopping_outcomes
from app.policy.requirements import (
    AnyRequirement,
    Count,
    Margin,
    OnlineMajority,
    Posterior,
    Profit,
    Ratio,
    Significance,
)

_MOST_SETTINGS = 120  # that are tried of each kind
_EPSILONS = (0.0, 0.05, 0.1, 0.2, 0.3)
_MOST_ANSWERS = 1e6  # the largest loss that is tried, in costs of an answer
_FAR = 256  # votes; a strategy that looks further ahead takes long to compute
_HALVINGS = 3
_DIGITS = 12
_ROUNDING = 1e-9
# The largest values that a job accepts.
_LARGEST_RATIO, _LARGEST_ALPHA, _LARGEST_PROBABILITY, _LARGEST_C = 1000.0, 0.5, 0.999999, 1000.0
_LARGEST_LOSS, _LARGEST_SHAPE = 1e9, 1000.0


def settings(limits: Limits) -> dict[str, list[AnyRequirement]]:
    """The requirements of each kind that behave differently, or a selection of them; for profit see `_profits`."""
    return {
        "ratio": list(_ratios(limits)),
        "significance": list(_significances(limits)),
        "margin": list(_margins(limits)),
        "posterior": list(_posteriors(limits)),
        "online-majority": [OnlineMajority(labels=n) for n in range(1, limits.most_labels + 1)],
        "count": [Count(labels=n) for n in range(1, limits.most_votes + 1)],
    }


class FoundRequirement(NamedTuple):
    """A requirement and what it leads to."""

    requirement: AnyRequirement
    outcome: StoppingOutcome


@dataclass(frozen=True)
class RequirementChoice:
    """The best of one kind: the cheapest that reaches the required accuracy, or else the most accurate."""

    kind: str
    tried: tuple[FoundRequirement, ...]  # those that resolve enough items
    required: float

    @property
    def max_accuracy(self) -> float | None:
        """The highest accuracy of this kind; None where it never resolves enough items."""
        return max((found.outcome.accuracy for found in self.tried), default=None)

    @property
    def reaches(self) -> bool:
        return self.max_accuracy is not None and self.max_accuracy >= self.required

    @cached_property
    def best(self) -> FoundRequirement | None:
        """The one with the fewest labels per resolved item; None where no setting resolves enough items."""
        good = [found for found in self.tried if found.outcome.accuracy >= min(self.required, self.max_accuracy or 0.0)]
        return min(good, key=lambda found: found.outcome.answers_per_resolved_item, default=None)


def choices(
    required: float, min_resolved: float, limits: Limits, prior: Prior, cost: float = 1.0
) -> list[RequirementChoice]:
    """The best requirement of each kind for an accuracy of resolved items: those that reach it first, by cost."""
    tried = {
        kind: list(map(FoundRequirement, requirements, stopping_outcomes(requirements, limits, prior, cost)))
        for kind, requirements in settings(limits).items()
    }
    tried["profit"] = _profits(required, min_resolved, limits, prior, cost)
    found = [
        RequirementChoice(kind, tuple(each for each in members if _resolves(each.outcome, min_resolved)), required)
        for kind, members in tried.items()
    ]
    return sorted(found, key=_rank)


def _resolves(outcome: StoppingOutcome, share: float) -> bool:
    return outcome.resolved >= share - _ROUNDING


def _rank(choice: RequirementChoice) -> tuple[bool, float]:
    if choice.best is None:
        return True, inf
    outcome = choice.best.outcome
    return not choice.reaches, outcome.answers_per_resolved_item if choice.reaches else -outcome.accuracy


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
    extra = Ratio().pseudo_votes
    ratios = (first + extra) / (second + extra)
    yield from _each_between(ratios, 1.0, _LARGEST_RATIO, lambda c: Ratio(min_ratio=c))


def _posteriors(limits: Limits) -> Iterator[AnyRequirement]:
    certainty = Belief.of(np.stack(_leading(limits), axis=1)).certainty
    yield from _each_between(certainty, 0.5, _LARGEST_PROBABILITY, lambda p: Posterior(min_probability=p))


def _significances(limits: Limits) -> Iterator[AnyRequirement]:
    """A smaller alpha asks for more votes. The test is p < alpha, so a p-value equal to alpha does not satisfy it."""
    first, second = _leading(limits)
    extra = Significance().pseudo_votes
    tails = np.unique(np.round(chance_of_so_few(second + extra, first + extra), _DIGITS))
    for low, high in _thinned(list(pairwise([*tails[tails < _LARGEST_ALPHA], _LARGEST_ALPHA]))):
        yield Significance(alpha=roundest(float(low), float(high)))


def _margins(limits: Limits) -> Iterator[AnyRequirement]:
    first, second = _leading(limits)
    total = first + second
    for epsilon in _EPSILONS:
        steps = (first - second + epsilon * total) / np.sqrt(total)
        make = _margin_of(epsilon)
        yield from _each_between(steps, 0.0, _LARGEST_C, make, _MOST_SETTINGS // 3)


def _margin_of(epsilon: float) -> Callable[[float], AnyRequirement]:
    return lambda c: Margin(c=c, epsilon=epsilon)


def _profits(required: float, min_resolved: float, limits: Limits, prior: Prior, cost: float) -> list[FoundRequirement]:
    """Try growing losses, from the one at which a first answer pays, until too few items are resolved.

    Then bisect a few times for the largest loss that resolves enough items, and for the smallest loss that reaches the
    required accuracy. The value of an answer does not affect when to stop.
    """
    found: dict[float, FoundRequirement] = {}

    def look(answers: float) -> StoppingOutcome:
        loss = float(f"{answers * cost:.3g}")
        requirement = Profit(value=loss, loss=loss, prior=(prior.a, prior.b))
        found[answers] = FoundRequirement(requirement, stopping_outcomes([requirement], limits, prior, cost)[0])
        return found[answers].outcome

    before = 0.0
    for answers in _ladder(prior, cost):
        resolved = look(answers).resolved
        if resolved < min(before, min_resolved):
            break
        before = resolved
    for enough in (lambda of: not _resolves(of, min_resolved), lambda of: of.accuracy >= required):
        low = max((each for each in found if not enough(found[each].outcome)), default=inf)
        high = min((each for each in found if each > low and enough(found[each].outcome)), default=0.0)
        for _ in range(_HALVINGS if low < high else 0):
            middle = sqrt(low * high)
            low, high = (low, middle) if enough(look(middle)) else (middle, high)
    return list(found.values())


def _ladder(prior: Prior, cost: float) -> Iterator[float]:
    """Growing losses, in costs of an answer; in wider steps where a strategy takes long to compute."""
    least = 1.01 / float(prior.marginal_income(0, 0))
    answers = least
    while answers <= max(_MOST_ANSWERS, 4 * least) and answers * cost <= _LARGEST_LOSS and prior.a <= _LARGEST_SHAPE:
        yield answers
        answers *= 2 if prior.horizon(answers) < _FAR else 4


def _each_between(
    steps: Array, least: float, most: float, make: Callable[[float], AnyRequirement], number: int = _MOST_SETTINGS
) -> Iterator[AnyRequirement]:
    """One requirement for each pair of neighbouring steps: all thresholds between the two behave alike."""
    bars = np.unique(np.round(steps, _DIGITS))
    bars = bars[(bars > least) & (bars <= most)]
    for low, high in _thinned(list(zip([least, *bars[:-1]], bars, strict=True)), number):
        yield make(roundest(float(low), float(high)))


def _thinned(pairs: Sequence[tuple[float, float]], number: int = _MOST_SETTINGS) -> Iterator[tuple[float, float]]:
    """At most `number` of them, evenly spread, the first and the last included."""
    if not pairs:
        return
    for at in np.unique(np.linspace(0, len(pairs) - 1, min(number, len(pairs))).round().astype(int)):
        yield pairs[at]


def _leading(limits: Limits) -> tuple[Array, Array]:
    """The votes of items on which one class leads."""
    first, second = limits.vote_counts.T.astype(np.float64)
    leads = first > second
    return first[leads], second[leads]
