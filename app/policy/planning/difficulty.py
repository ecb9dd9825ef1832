"""How hard questions are for the crowd, estimated from votes alone, without known answers."""

from dataclasses import dataclass
from math import log

import numpy as np
from scipy import optimize, special

from app.policy.core.arrays import IntArray
from app.policy.planning.cost_sensitive import Prior

MIN_ANSWERS = 2  # on an item, for it to count at all
INFORMATIVE_ANSWERS = 4  # on an item, to distinguish hard questions from a mix of easy ones and traps
MIN_INFORMATIVE_ITEMS = 10  # items with that many answers
_LOWEST_MEAN, _HIGHEST_MEAN = 0.5, 0.9999
_HIGHEST_SUM = 1000.0  # of a and b: from here on all questions are in effect equally hard
_NO_BETTER = 0.502  # an estimated mean up to this value is at the lower edge, one half
_HALF_WIDTH = 3.841 / 2  # of the log-likelihood: the 95 % quantile of chi-square with one degree of freedom
_LOOKS = 24  # sums that are tried before the best one is refined


@dataclass(frozen=True)
class DifficultyVotes:
    """Items by the votes of their two strongest classes; shape (kinds,) each."""

    first: IntArray
    second: IntArray
    items: IntArray  # of this kind

    @classmethod
    def of(cls, first: IntArray, second: IntArray, items: IntArray | None = None) -> "DifficultyVotes":
        """Count equal items once, without those that have too few answers."""
        weight = np.ones(len(first), dtype=np.int64) if items is None else items
        kept = first + second >= MIN_ANSWERS
        kinds, inverse = np.unique(np.stack([first[kept], second[kept]]), axis=1, return_inverse=True)
        return cls(kinds[0], kinds[1], np.bincount(inverse.ravel(), weight[kept], kinds.shape[1]).astype(np.int64))

    @property
    def answers(self) -> int:
        return int(((self.first + self.second) * self.items).sum())

    @property
    def informative(self) -> int:
        return int(self.items[self.first + self.second >= INFORMATIVE_ANSWERS].sum())


@dataclass(frozen=True)
class Difficulty:
    """The most likely prior, and the interval of its mean."""

    prior: Prior
    interval: tuple[float, float]  # of the mean accuracy, 95 %
    items: int
    answers: int


class TooFewVotes(ValueError):
    """There are too few votes to say how hard the questions are."""


class NoBetterThanGuessing(ValueError):
    """The votes look as if workers were wrong as often as right."""


def estimated(votes: DifficultyVotes) -> Difficulty:
    """Beta(a, b), a >= b + 1, by maximum likelihood, with the profile likelihood's interval of its mean.

    It is unknown which of the two classes is right, so m votes against l have the likelihood

        p(m, l) = [BetaBin(m; m + l, a, b) + BetaBin(l; m + l, a, b)] / 2.

    It depends only on the even moments of accuracy about one half. Items with n answers determine floor(n / 2) of these
    moments: items with two or three answers cannot distinguish questions of equal difficulty from easy questions mixed
    with traps, so some items need four. Beta(b + 1, b) gives exactly the votes of Beta(b, b), of workers who guess. The
    first of the two is taken. The interval only requires a >= 1 (no group of questions that all workers get wrong), so
    it then begins at one half. A rule that stops by the votes so far multiplies p by a factor that does not depend on a
    and b, so the answers of a job that stopped early can be used as they are.

    >>> most = np.array([10, 9, 8, 7, 6, 5])  # of ten answers
    >>> found = estimated(DifficultyVotes.of(most, 10 - most, 5 * np.array([31, 42, 42, 37, 33, 16])))  # as of B(6, 2)
    >>> round(found.prior.mean, 2), [round(end, 2) for end in found.interval]
    (0.75, [0.73, 0.77])
    """
    if votes.informative < MIN_INFORMATIVE_ITEMS:
        raise TooFewVotes(
            f"At least {MIN_INFORMATIVE_ITEMS} items need {INFORMATIVE_ANSWERS} or more answers each; "
            f"{votes.informative} have that many"
        )
    found = optimize.minimize_scalar(
        lambda mean: -_highest(votes, mean, 1 / (2 * mean - 1))[0],
        bounds=_bracket(votes),
        method="bounded",
        options={"xatol": 1e-5},
    )
    mean = float(found.x)
    if mean <= _NO_BETTER:
        raise NoBetterThanGuessing("The votes fit best if workers are wrong as often as right")
    highest, total = _highest(votes, mean, 1 / (2 * mean - 1))
    prior = Prior(mean * total, (1 - mean) * total)
    return Difficulty(prior, _interval(votes, mean, highest), int(votes.items.sum()), votes.answers)


def _bracket(votes: DifficultyVotes) -> tuple[float, float]:
    """A range that contains the most likely mean. There may be two peaks, so all means are tried coarsely first."""
    means = np.linspace(_LOWEST_MEAN + 1 / _HIGHEST_SUM, _HIGHEST_MEAN, _LOOKS)
    best = int(np.argmax([_highest(votes, mean, 1 / (2 * mean - 1))[0] for mean in means]))
    return float(means[max(best - 1, 0)]), float(means[min(best + 1, _LOOKS - 1)])


def _interval(votes: DifficultyVotes, mean: float, highest: float) -> tuple[float, float]:
    """The means whose likelihood, at the best sum for each, is within 3.84 / 2 of the highest."""

    def within(other: float) -> float:
        return _highest(votes, other, 1 / other)[0] - highest + _HALF_WIDTH

    def end(furthest: float) -> float:
        if within(furthest) >= 0:
            return furthest
        return float(optimize.brentq(within, mean, furthest, xtol=1e-4))

    return end(_LOWEST_MEAN), end(_HIGHEST_MEAN)


def _highest(votes: DifficultyVotes, mean: float, least_sum: float) -> tuple[float, float]:
    """The highest log-likelihood at this mean, and the sum a + b that has it."""
    sums = np.linspace(log(least_sum), log(_HIGHEST_SUM), _LOOKS)
    best = int(np.argmax([_log_likelihood(votes, mean, float(np.exp(each))) for each in sums]))
    refined = optimize.minimize_scalar(
        lambda each: -_log_likelihood(votes, mean, float(np.exp(each))),
        bounds=(sums[max(best - 1, 0)], sums[min(best + 1, _LOOKS - 1)]),
        method="bounded",
        options={"xatol": 1e-4},
    )
    return -float(refined.fun), float(np.exp(refined.x))


def _log_likelihood(votes: DifficultyVotes, mean: float, total: float) -> float:
    a, b = mean * total, (1 - mean) * total
    right = special.betaln(a + votes.first, b + votes.second)
    wrong = special.betaln(a + votes.second, b + votes.first)
    return float((votes.items * (np.logaddexp(right, wrong) - special.betaln(a, b))).sum())
