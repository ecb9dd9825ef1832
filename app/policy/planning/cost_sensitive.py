"""When another answer no longer pays: the strategy of Gao et al. (SIGMOD 2013) as tables over vote counts.

The paper's status (m, l) is (first, second) here: the votes of the two strongest classes, first >= second.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import exp
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
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
    """Where to stop, and what to expect until then; money in costs of an answer.

    Only statuses near a tie go on: with B(6, 2) and a loss of 1,000 answers, the lead is at most 7 there.
    """

    prior: Prior
    loss: float  # of a wrong result
    lead: npt.NDArray[np.int16]  # (votes,) the largest lead that goes on; -1: none
    accuracy: float  # of the result in the end (Algorithm 4)
    answers: float  # the expected number until then (Algorithm 5)
    most_answers: int | None = None  # the strategy stops at this number in any case

    def profit(self, value: float) -> float:
        """P(0, 0): the expected profit of a question whose answer, right or wrong, is worth `value`."""
        return value - (1 - self.accuracy) * self.loss - self.answers

    def stops(self, first: IntArray, second: IntArray) -> Mask:
        """Whether to stop at these votes; beyond the table, only a tie may be worth one more answer."""
        total = np.asarray(first + second)
        known = total < len(self.lead)
        inside = np.where(known, self.lead[np.minimum(total, len(self.lead) - 1)], -1) < first - second
        return np.where(self._in_table(first), inside, self._worth_one(first, second) == 0)

    def stopped(self, votes: Array) -> Mask:
        """Whether to stop at these votes of shape (items, 2)."""
        return self.stops(*_in_order(votes))

    def answers_to_come(self, first: IntArray, second: IntArray) -> Array:
        """How many further answers to expect at these votes."""
        worth_one = np.where(self._worth_one(first, second) > 0, 1.0, 0.0)
        return self._look_up(self._expected.answers, first, second, worth_one)

    def answers_after(self, votes: Array) -> Array:
        """The same at votes of shape (items, 2)."""
        return self.answers_to_come(*_in_order(votes))

    def gain_of_going_on(self, first: IntArray, second: IntArray) -> Array:
        """How much more profit to expect from going on than from stopping at these votes; at least 0."""
        return self._look_up(self._expected.gain, first, second, self._worth_one(first, second))

    def votes_to_win(self, against: IntArray) -> IntArray:
        """The fewest votes with which a class is accepted against so many for the other; any shape."""
        different, position = np.unique(against, return_inverse=True)
        needed = different + 1
        while (asking := ~self.stops(needed, different)).any():
            needed += asking
        return np.asarray(needed[position].reshape(against.shape))

    def shortfalls(self, votes: Array) -> Array:
        """The fewest further votes for a label alone with which it is accepted, shape (items, 2)."""
        return np.maximum(self.votes_to_win(votes[:, ::-1].astype(np.int64)) - votes, 0.0)

    @property
    def _expected(self) -> "ExpectedGain":
        return expected_gain(self.prior, self.loss, self.most_answers)

    def _in_table(self, first: IntArray) -> Mask:
        return np.asarray(first <= self.prior.horizon(self.loss))

    def _look_up(self, table: Array, first: IntArray, second: IntArray, beyond: Array) -> Array:
        total, half = np.asarray(first + second), np.asarray((first - second) // 2)
        votes, leads = table.shape
        inside = table[np.minimum(total, votes - 1), np.minimum(half, leads - 1)]
        return np.where(self._in_table(first), np.where((total < votes) & (half < leads), inside, 0.0), beyond)

    def _worth_one(self, first: IntArray, second: IntArray) -> Array:
        """What one more answer alone gains, or 0 if it does not pay."""
        gain = self.prior.marginal_income(first, second) * self.loss - 1
        allowed = True if self.most_answers is None else first + second < self.most_answers
        return np.where((gain > ROUNDING) & allowed, gain, 0.0)


@lru_cache(maxsize=16_384)  # 2 kB each at most: where items have costs of their own, there are many
def best_strategy(prior: Prior, loss: float, most_answers: int | None = None) -> Strategy:
    """The strategy with the largest expected profit (Algorithm 1), for a loss in units of the cost of an answer.

    >>> [bool(best_strategy(Prior(6, 2), loss).stops(0, 0)) for loss in (4.0, 4.1)]  # MI(0, 0) = 1/4
    [True, False]
    """
    gain, answers = expected_gain(prior, loss, most_answers)
    half = (answers > 0).sum(axis=1)  # of the leads 0, 2, 4, ... or 1, 3, 5, ... that go on
    lead = np.where(half > 0, 2 * half - 2 + np.arange(len(half)) % 2, -1).astype(np.int16)
    saved = float(gain[0, 0] + answers[0, 0])  # in the end, by all answers
    accuracy = 0.5 + saved / loss if saved else 0.5
    return Strategy(prior, loss, lead, accuracy, float(answers[0, 0]), most_answers)


class ExpectedGain(NamedTuple):
    """What to expect at a status; a row for each number of votes, in it the leads 0, 2, 4, ... or 1, 3, 5, ..."""

    gain: Array  # (votes, leads) the profit of going on over that of stopping, P'
    answers: Array  # (votes, leads) the expected number to come; 0 where the strategy stops


@lru_cache(maxsize=64)
def expected_gain(prior: Prior, loss: float, most_answers: int | None) -> ExpectedGain:
    """The dynamic program of Algorithms 1 and 5.

    With P' the profit of going on over that of stopping, as in the proof of Theorem 4.5,

        P'(m, l) = max(0, MI(m, l) L + Pr(+1) P'(m + 1, l) + Pr(-1) P'(m, l + 1) - 1),

    where both successors of (m, m) are (m + 1, m). The printed algorithms subtract the cost of the next answer twice,
    which makes them right for half the loss. The value of an answer cancels, because it is earned wherever the strategy
    stops. If `most_answers` limits the answers, P' is 0 at the limit, and the strategy takes that into account.

    From the last vote to the first, leads are looked at only as far as one vote leads to a status that goes on: at a
    larger lead MI and both P' are 0. So it takes time in proportion to the statuses that go on, M times the largest
    lead instead of M^2, and plain floats are faster than arrays of a handful of leads.
    """
    horizon = prior.horizon(loss)
    last = 2 * horizon if most_answers is None else min(2 * horizon, most_answers - 1)
    balance = _balance(prior, horizon + 1)
    gain: list[float] = []  # of the leads that a total can have, 0 to the largest that goes on
    answers: list[float] = []
    rows: list[tuple[list[float], list[float]]] = []
    for total in range(last, -1, -1):
        odd = total % 2
        after = (gain, answers)
        gain, answers = [], []
        for half in range(min(len(after[0]) + 1, (2 * horizon - total - odd) // 2 + 1)):
            second = (total - odd) // 2 - half
            if second < 0:
                break
            first = total - second
            right = 1 / (1 + exp(balance[second] - balance[first]))
            agrees = (right * (prior.a + first) + (1 - right) * (prior.b + first)) / (prior.a + prior.b + total)
            up, down = half + odd, max(half - 1 + odd, 0)
            rise = (prior.a - prior.b) / (2 * (prior.a + prior.b + total)) if first == second else 0.0
            going_on = rise * loss - 1 + _mean(agrees, after[0], up, down)
            if going_on <= ROUNDING:  # nor does a larger lead go on
                break
            gain.append(going_on)
            answers.append(1 + _mean(agrees, after[1], up, down))
        if answers or rows:  # else no status with more votes goes on
            rows.append((gain, answers))
    tables = np.zeros((2, max(len(rows), 1), max((len(row) for row, _ in rows), default=1)))
    for total, row in enumerate(reversed(rows)):
        tables[:, total, : len(row[0])] = row
    return ExpectedGain(tables[0], tables[1])


def _balance(prior: Prior, most: int) -> list[float]:
    """What 0 to `most` votes for an answer add to its logarithmic odds."""
    votes = np.arange(most + 1.0)
    found: list[float] = (special.gammaln(prior.a + votes) - special.gammaln(prior.b + votes)).tolist()
    return found


def _mean(agrees: float, values: list[float], up: int, down: int) -> float:
    """Over the next answer, of values that are 0 beyond the list."""
    likely = values[up] if up < len(values) else 0.0
    unlikely = values[down] if down < len(values) else 0.0
    return agrees * likely + (1 - agrees) * unlikely


def _in_order(votes: Array) -> tuple[IntArray, IntArray]:
    return votes.max(axis=1).astype(np.int64), votes.min(axis=1).astype(np.int64)


def _as_floats(first: npt.ArrayLike, second: npt.ArrayLike) -> tuple[Array, Array]:
    return np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
