"""What accuracy costs: every strategy that is best at some loss (Gao et al., SIGMOD 2013, Algorithm 3)."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.stopping_policy import ASK, chances, expected_outcome, reached, stopping_policy

MOST_LOSS = 1e6  # in costs of an answer; a strategy that pays only beyond it adds less than a millionth per answer
_DISTINCT = 1e-12  # profits closer than this, per loss, count as equal


@dataclass(frozen=True)
class AccuracyCostCurve:
    """The points in order; each shape (points,). The first asks for no answer."""

    prior: Prior
    most_answers: int
    accuracy: Array
    answers: Array  # the expected number, which is also the cost in costs of an answer
    loss: Array  # the point is best from this loss up to the loss of the next point

    @property
    def max_accuracy(self) -> float:
        return float(self.accuracy[-1])

    def at_loss(self, loss: float) -> int:
        """The point that is best for a loss."""
        return max(int(np.searchsorted(self.loss, loss)) - 1, 0)

    def best(self, worth: Array, cost: float, allowed: Mask | None = None) -> int | None:
        """The point at which worth minus cost is largest, both in money; the cheapest of equal ones."""
        profit = worth - cost * self.answers
        if allowed is None:
            allowed = np.ones(len(profit), dtype=bool)
        return int(np.argmax(np.where(allowed, profit, -np.inf))) if allowed.any() else None

    def loss_within(self, point: int) -> float:
        """A loss for which the point is best."""
        following = self.loss[point + 1] if point + 1 < len(self.loss) else MOST_LOSS
        return float((self.loss[point] + following) / 2)


@dataclass(frozen=True)
class Statuses:
    """Every status that a strategy can reach, first >= second; shape (statuses,) each."""

    first: IntArray
    second: IntArray
    goes_on: Mask
    right: Array  # E[A_R] if the strategy stopped here
    accuracy: Array  # of the result in the end
    answers: Array  # the expected number still to come
    reached: Array  # the probability that the strategy reaches this status

    @property
    def votes_to_win(self) -> dict[int, int]:
        """The fewest votes with which a class is accepted, by the votes for the other class."""
        won = ~self.goes_on & (self.first > self.second)
        return {
            int(against): int(self.first[won & (self.second == against)].min()) for against in set(self.second[won])
        }


@lru_cache(maxsize=128)
def accuracy_cost(prior: Prior, most_answers: int) -> AccuracyCostCurve:
    """All strategies with at most `most_answers` answers that have the largest profit at some loss.

    The largest profit is the upper hull of the lines A L - C over all strategies. Algorithm 3 goes from one strategy
    to the next. Here each round checks, for every two neighbours that are known, whether a third is better at the loss
    where these two tie (Eisner and Severance, JACM 1976). It finds the same points, in a few rounds.

    >>> curve = accuracy_cost(Prior(6, 2), 3)
    >>> [tuple(round(float(x), 4) for x in point) for point in zip(curve.accuracy, curve.answers, curve.loss)]
    [(0.5, 0.0, 0.0), (0.75, 1.0, 4.0), (0.8167, 2.3333, 20.0)]
    """
    ends = expected_outcome(prior, [0.0, MOST_LOSS], most_answers)
    accuracy, answers = ends.accuracy, ends.answers
    open_ = np.array([answers[1] > 0])  # between each two neighbours
    if not open_[0]:
        accuracy, answers, open_ = accuracy[:1], answers[:1], open_[:0]
    while open_.any():
        left = np.flatnonzero(open_)
        ties = np.diff(answers)[left] / np.diff(accuracy)[left]
        best = expected_outcome(prior, ties, most_answers)
        gained = (best.accuracy - accuracy[left]) * ties - (best.answers - answers[left])
        new = gained > _DISTINCT * (1 + ties)
        accuracy = np.insert(accuracy, left[new] + 1, best.accuracy[new])
        answers = np.insert(answers, left[new] + 1, best.answers[new])
        open_[left] = new
        open_ = np.insert(open_, left[new] + 1, values=True)
    losses = np.concatenate([[0.0], np.diff(answers) / np.diff(accuracy)])
    return AccuracyCostCurve(prior, most_answers, accuracy, answers, losses)


def max_accuracy_with_any_number(prior: Prior) -> float:
    """P(accuracy > 1/2): on the other questions most workers are wrong, and more answers do not help.

    >>> round(max_accuracy_with_any_number(Prior(6, 2)), 4)  # Section 6.1: 6.25 % of the questions
    0.9375
    """
    return float(special.betainc(prior.b, prior.a, 0.5))


def majority_of(prior: Prior, answers: IntArray) -> Array:
    """How often the majority of a fixed, odd number of answers is right, shape of `answers`.

    >>> majority_of(Prior(6, 2), np.array([1, 3])).round(4).tolist()
    [0.75, 0.8167]
    """
    return np.array([_majority(prior, int(number)) for number in answers])


def _majority(prior: Prior, answers: int) -> float:
    right = np.arange(answers // 2 + 1, answers + 1)
    ways = -np.log(answers + 1) - special.betaln(answers - right + 1, right + 1)
    return float(
        np.exp(
            ways + special.betaln(prior.a + right, prior.b + answers - right) - special.betaln(prior.a, prior.b)
        ).sum()
    )


def statuses(prior: Prior, loss: float, most_answers: int) -> Statuses:
    """Where the best strategy for a loss stops, where it goes on, and what to expect there.

    >>> there = statuses(Prior(6, 2), 25.0, 3)
    >>> list(zip(there.first.tolist(), there.second.tolist(), there.goes_on.tolist()))
    [(0, 0, True), (1, 0, True), (1, 1, True), (2, 0, False), (2, 1, False)]
    """
    stages, known = stopping_policy(prior, loss, most_answers), chances(prior, most_answers, 0.5)
    rows = []
    for votes, (stage, way) in enumerate(zip(stages, reached(prior, stages), strict=True)):
        first = np.arange(-(-votes // 2), votes + 1)
        either_way = way[first] + np.where(2 * first == votes, 0.0, way[votes - first])
        goes_on = stage.action[first, 0] == ASK
        columns = (known[votes].right[first], stage.accuracy[first, 0], stage.answers[first, 0], either_way)
        rows.append(np.stack([first, votes - first, goes_on, *columns]))
    table = np.concatenate(rows, axis=1)
    table = table[:, table[-1] > 0]
    table = table[:, np.lexsort((table[1], table[0]))]
    first, second = table[:2].astype(np.int64)
    return Statuses(first, second, table[2] > 0, *table[3:])
