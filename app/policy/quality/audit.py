"""Decide from a random sample, after each checked item, whether enough of a job's labels are right.

Of `population` labels an unknown number R are right. Items are drawn at random without replacement and checked one by
one. With k right among the first n, a population with m right gives this sequence the probability

    L(m) = m (m - 1) ... (m - k + 1) * (N - m) (N - m - 1) ... / (N (N - 1) ... (N - n + 1)).

**The claim.** Let b be the largest number of right labels that is too few for `min_accuracy`. Under R = b the mixture
E = sum_j w_j L(r_j) / L(b), with every r_j > b, is a martingale that starts at 1. Under R < b it is a supermartingale:
each ratio grows with a right label and shrinks with a wrong one, and right labels are rarer than under b. By Ville's
inequality it ever reaches 1 / (1 - confidence) with probability at most 1 - confidence, however often one looks. This
is the prior-posterior-ratio martingale of Waudby-Smith and Ramdas, "Confidence sequences for sampling without
replacement" (NeurIPS 2020, section 2), with a working prior on one side of the boundary. The refutation is the same
with every r_j below R = b + 1. Only one of the two can be wrong, so each has the whole error probability.

**The interval** is their sequence with a uniform prior: all m with (1 / ((n + 1) (n choose k))) / L(m) below
1 / (1 - confidence).

Items that nobody has checked yet, although items behind them in the random order are checked, count as wrong in a
proof and as right in a refutation. Both martingales are monotone in each item, so the error probability holds in
whatever order the answers arrive, and a checker cannot choose the sample.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import ceil, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from app.policy.core.belief import Array

# Error rates of the mixture, relative to the error rate at the boundary. Chosen by `bench/audit.py`: labels that are
# better than asked usually make a fifth to three fifths of the allowed errors.
_BETTER = ((0.0, 0.05), (0.2, 0.25), (0.4, 0.45), (0.6, 0.2), (0.8, 0.05))
_WORSE = ((1.25, 0.1), (1.5, 0.25), (2.0, 0.35), (3.0, 0.2), (6.0, 0.1))

Counts = NDArray[np.integer[Any]]  # of items, at one or more looks

METHOD = "one-sided prior-posterior-ratio martingale, sampling without replacement (Waudby-Smith and Ramdas 2020)"


class AuditState(StrEnum):
    """Whether an audit goes on, or how it ended."""

    RUNNING = "running"
    PROVEN = "proven"
    REFUTED = "refuted"
    EXHAUSTED = "exhausted"  # the sample is checked and decides nothing


@dataclass(frozen=True, slots=True)
class MeasuredAccuracy:
    """The share of right labels, with an interval that holds at every look with this confidence."""

    estimate: float
    low: float
    high: float
    confidence: float


@dataclass(frozen=True, slots=True)
class Claim:
    """The claim that at least `min_accuracy` of `population` labels are right.

    >>> claim = Claim(min_accuracy=0.95, confidence=0.95, population=1000)
    >>> [str(claim.state(checks)) for checks in ([True] * 79, [True] * 80, [True] * 20 + [False] * 6)]
    ['running', 'proven', 'refuted']
    >>> found = claim.accuracy([True] * 80)
    >>> round(found.low, 3), found.high
    (0.916, 1.0)
    """

    min_accuracy: float
    confidence: float
    population: int

    @property
    def too_few(self) -> int:
        """The largest number of right labels with which the claim is false."""
        return ceil(round(self.min_accuracy * self.population, 6)) - 1

    def state(self, checks: Sequence[bool | None]) -> AuditState:
        """Return what the checked items show, in the order of the sample; None is an item that is not checked yet."""
        if not checks:
            return AuditState.RUNNING
        size = np.arange(1, len(checks) + 1)
        at_least = np.cumsum([one is True for one in checks])
        at_most = np.cumsum([one is not False for one in checks])
        bar = -log(1 - self.confidence)
        if np.any(self.log_evidence_for(at_least, size) >= bar):
            return AuditState.PROVEN
        if np.any(self.log_evidence_against(at_most, size) >= bar):
            return AuditState.REFUTED
        return AuditState.RUNNING

    def log_evidence_for(self, right: Counts, size: Counts) -> Array:
        """Return the log of the martingale for the claim, for any number right among the first `size`."""
        boundary = self.too_few
        return self._log_mixture(
            boundary, _BETTER, lowest=boundary + 1, highest=self.population, right=right, size=size
        )

    def log_evidence_against(self, right: Counts, size: Counts) -> Array:
        """Return the log of the martingale against the claim."""
        boundary = self.too_few
        return self._log_mixture(boundary + 1, _WORSE, lowest=0, highest=boundary, right=right, size=size)

    def accuracy(self, checks: Sequence[bool | None]) -> MeasuredAccuracy | None:
        """Return the share of right labels among those checked, with its interval; None before the first."""
        checked = [one for one in checks if one is not None]
        if not checked:
            return None
        least, most = sum(one is True for one in checks), sum(one is not False for one in checks)
        low, high = self._interval(least, len(checks))[0], self._interval(most, len(checks))[1]
        return MeasuredAccuracy(
            estimate=sum(checked) / len(checked),
            low=low / self.population,
            high=high / self.population,
            confidence=self.confidence,
        )

    def _log_mixture(
        self,
        boundary: int,
        mixture: Sequence[tuple[float, float]],
        *,
        lowest: int,
        highest: int,
        right: Counts,
        size: Counts,
    ) -> Array:
        """Return log sum_j w_j L(r_j) / L(boundary); infinite where the boundary is impossible."""
        errors = self.population - boundary
        under = log_likelihood(boundary, self.population, right, size)
        terms = [
            log(weight)
            + log_likelihood(
                min(max(self.population - round(share * errors), lowest), highest), self.population, right, size
            )
            for share, weight in mixture
        ]
        with np.errstate(invalid="ignore"):
            found = np.logaddexp.reduce(terms, axis=0) - under
        # Impossible under both the boundary and every alternative: the boundary is crossed on the far side.
        return np.where(
            np.isneginf(under), np.where(self._is_beyond(boundary, lowest, right, size), np.inf, -np.inf), found
        )

    def _is_beyond(self, boundary: int, lowest: int, right: Counts, size: Counts) -> NDArray[np.bool_]:
        """Whether the counts alone rule out the boundary, on the side of the alternatives."""
        beyond: NDArray[np.bool_] = right > boundary if lowest > boundary else size - right > self.population - boundary
        return beyond

    def _interval(self, right: int, size: int) -> tuple[int, int]:
        """Return the smallest and the largest number of right labels that are not ruled out."""
        wrong = size - right
        marginal = gammaln(right + 1) + gammaln(wrong + 1) - gammaln(size + 2)  # of the sequence, by a uniform prior
        bar = marginal + log(1 - self.confidence)

        def possible(number: int) -> bool:
            return bool(log_likelihood(number, self.population, np.array(right), np.array(size)) > bar)

        mode = min(max(round(right / size * self.population), right), self.population - wrong)
        return _first(possible, right, mode), -_first(lambda m: possible(-m), wrong - self.population, -mode)


def _first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first number of an increasing condition, which holds at `high`."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return high


def log_likelihood(number: int, population: int, right: Counts, size: Counts) -> Array:
    """Return log L(number): how likely the sequence is if so many of the population are right.

    >>> round(float(np.exp(log_likelihood(6, 10, np.array(2), np.array(3)))), 4)  # 6/10 * 5/9 * 4/8
    0.1667
    """
    wrong = size - right
    possible = (right <= number) & (wrong <= population - number)
    kept = np.where(possible, right, 0)
    lost = np.where(possible, wrong, 0)
    found = (
        gammaln(number + 1)
        - gammaln(number - kept + 1)
        + gammaln(population - number + 1)
        - gammaln(population - number - lost + 1)
        - gammaln(population + 1)
        + gammaln(population - size + 1)
    )
    return np.where(possible, found, -np.inf)
