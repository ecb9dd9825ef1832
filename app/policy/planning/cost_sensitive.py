"""When another answer no longer pays: the strategy of Gao et al. (SIGMOD 2013) as tables over vote counts.

The paper's status (m, l) is (first, second) here: the votes of the two strongest classes, first >= second.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property
from scipy import special

from app.policy.core.arrays import Array, IntArray, Mask

_MOST_VOTES = 512  # per class, that a table looks ahead; with B(6, 2) a loss of 1,548 answers needs this many
ROUNDING = 1e-12  # equal profits differ in the last bits of a float, and equality is a reason to stop


@dataclass(frozen=True)
class Prior:
    """Beta(a, b) with a > b: how often workers are right on a question, before any answer to it."""

    a: float
    b: float

    @property
    def mean(self) -> float:
        return self.a / (self.a + self.b)

    def result_accuracy(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """E[A_R]: how likely the answer that the `first` workers agree on is right (Theorem 4.2).

        >>> Prior(6, 2).result_accuracy([4, 8], [0, 2]).round(3).tolist()  # Table 2
        [0.962, 0.953]
        """
        first, second = _as_floats(first, second)
        odds_if_right = special.gammaln(self.a + first) - special.gammaln(self.a + second)
        odds_if_wrong = special.gammaln(self.b + first) - special.gammaln(self.b + second)
        return np.asarray(special.expit(odds_if_right - odds_if_wrong))

    def answer_accuracy(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """E[A_Q]: how likely the next worker is right (Theorem 4.1).

        >>> Prior(6, 2).answer_accuracy([3, 4], [3, 0]).round(3).tolist()  # Table 2
        [0.643, 0.821]
        """
        first, second = _as_floats(first, second)
        right = self.result_accuracy(first, second)
        right_answers = right * (self.a + first) + (1 - right) * (self.a + second)
        return np.asarray(right_answers / (self.a + self.b + first + second))

    def chance_of_agreement(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """E[Pr(+1)]: how likely the next answer is the one that the `first` workers gave (Theorem 4.3).

        >>> float(Prior(6, 2).chance_of_agreement(0, 0))
        0.5
        """
        first, second = _as_floats(first, second)
        right = self.result_accuracy(first, second)
        like_the_first = right * (self.a + first) + (1 - right) * (self.b + first)
        return np.asarray(like_the_first / (self.a + self.b + first + second))

    def marginal_income(self, first: npt.ArrayLike, second: npt.ArrayLike) -> Array:
        """MI: by how much one more answer raises E[A_R]; 0 unless the votes are tied (Theorem 4.4).

        >>> Prior(6, 2).marginal_income([0, 2], [0, 1]).tolist()
        [0.25, 0.0]
        """
        first, second = _as_floats(first, second)
        return np.where(first == second, (self.a - self.b) / (2 * (self.a + self.b + 2 * first)), 0.0)

    def horizon(self, loss: float) -> int:
        """M of Eq. 1, but at least 1: with M votes for one class, and fewer for the other, stopping is best.

        >>> Prior(6, 2).horizon(100.0), Prior(6, 2).horizon(5.0)  # Eq. 1 gives -2 for the second
        (30, 1)
        """
        bound = (loss * (self.a - self.b) / 6 - (self.a + self.b)) / 2
        return int(min(max(np.ceil(bound), 1), _MOST_VOTES))


@dataclass(frozen=True)
class Strategy:
    """Where to stop, and what to expect until then; tables at [first, second], money in costs of an answer."""

    prior: Prior
    loss: float  # of a wrong result
    stop: Mask  # (M + 1, M + 1)
    accuracy: Array  # (M + 1, M + 1) of the result once stopped (Algorithm 4)
    answers: Array  # (M + 1, M + 1) the expected number until then (Algorithm 5)
    most_answers: int | None = None  # the strategy stops at this number in any case

    @cached_property
    def votes_to_win(self) -> Array:
        """The fewest votes with which a class is accepted against 0 .. M votes for another, shape (M + 1,)."""
        size = len(self.stop)
        accepted = self.stop & (np.arange(size)[:, None] > np.arange(size))
        return np.where(accepted.any(axis=0), accepted.argmax(axis=0), size).astype(np.float64)

    def profit(self, value: float) -> float:
        """P(0, 0): the expected profit of a question whose answer, right or wrong, is worth `value`."""
        return float(value - (1 - self.accuracy[0, 0]) * self.loss - self.answers[0, 0])

    def stops(self, first: IntArray, second: IntArray) -> Mask:
        """Whether to stop at these votes; beyond the table, only a tie may be worth one more answer."""
        inside = np.minimum(first, len(self.stop) - 1)
        beyond = self.prior.marginal_income(first, second) * self.loss <= 1 + ROUNDING
        if self.most_answers is not None:
            beyond |= first + second >= self.most_answers
        return np.where(first == inside, self.stop[inside, np.minimum(second, inside)], beyond)

    def answers_to_come(self, first: IntArray, second: IntArray) -> Array:
        """How many further answers to expect at these votes."""
        inside = np.minimum(first, len(self.stop) - 1)
        beyond = np.where(self.stops(first, second), 0.0, 1.0)
        return np.where(first == inside, self.answers[inside, np.minimum(second, inside)], beyond)


@lru_cache(maxsize=4096)
def best_strategy(prior: Prior, loss: float, most_answers: int | None = None) -> Strategy:
    """The strategy with the largest expected profit (Algorithm 1), for a loss in units of the cost of an answer.

    With P' the profit of going on over that of stopping, as in the proof of Theorem 4.5,

        P'(m, l) = max(0, MI(m, l) L + Pr(+1) P'(m + 1, l) + Pr(-1) P'(m, l + 1) - 1),

    where both successors of (m, m) are (m + 1, m). The printed algorithms subtract the cost of the next answer twice,
    which makes them right for half the loss. The value of an answer cancels, because it is earned wherever the strategy
    stops. If `most_answers` limits the answers, P' is 0 at the limit, and the strategy takes that into account.

    >>> [bool(best_strategy(Prior(6, 2), loss).stop[0, 0]) for loss in (4.0, 4.1)]  # MI(0, 0) = 1/4
    [True, False]
    """
    horizon = prior.horizon(loss)
    grid = np.ogrid[: horizon + 2, : horizon + 2]  # the last row and column are beyond the horizon: stopped
    accuracy, agreement = prior.result_accuracy(*grid), prior.chance_of_agreement(*grid)
    gain, answers = np.zeros((2, horizon + 2, horizon + 2))
    for total in range(2 * horizon, -1, -1):
        second = np.arange(max(0, total - horizon), total // 2 + 1)
        here, tied = (total - second, second), 2 * second == total
        up, down = (here[0] + 1, second), (here[0] + tied, second + ~tied)
        going_on = prior.marginal_income(*here) * loss - 1 + _mean(agreement[here], gain[up], gain[down])
        on = (going_on > ROUNDING) & (most_answers is None or total < most_answers)
        gain[here] = np.where(on, going_on, 0.0)
        accuracy[here] = np.where(on, _mean(agreement[here], accuracy[up], accuracy[down]), accuracy[here])
        answers[here] = np.where(on, 1 + _mean(agreement[here], answers[up], answers[down]), 0.0)
    inner = slice(horizon + 1), slice(horizon + 1)
    return Strategy(prior, loss, answers[inner] == 0, accuracy[inner], answers[inner], most_answers)


def _mean(chance: Array, likely: Array, unlikely: Array) -> Array:
    return chance * likely + (1 - chance) * unlikely


def _as_floats(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Array, Array]:
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
