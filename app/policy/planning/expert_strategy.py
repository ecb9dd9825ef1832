"""When the crowd's job on an item ends where an expert may have the last word, as tables over vote counts."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.planning.cost_sensitive import ROUNDING, Prior
from app.policy.planning.stopping_policy import ASK, Expert, stopping_policy

MOST_ANSWERS = 100  # of the crowd on an item; then it is accepted, or the expert is asked


@dataclass(frozen=True)
class ExpertStrategy:
    """The policy with the largest expected profit: ask the crowd again, accept its label, or ask the expert.

    Money is in costs of an answer of the crowd. Votes are those of the two strongest classes.
    """

    prior: Prior
    loss: float  # of a wrong result
    expert: Expert
    most: int  # answers of the crowd
    answers: Array  # (votes, votes) to expect, by the votes of the stronger and the weaker class; 0: do not ask again

    def stopped(self, votes: Array) -> Mask:
        """Where the crowd is not asked again, by votes of shape (items, classes)."""
        return self.answers_after(votes) <= 0

    def refers(self, votes: Array) -> Mask:
        """Where the expert is asked instead of the crowd, and instead of accepting its label."""
        return np.asarray(self.stopped(votes) & self._doubts(*_two_strongest(votes)))

    def answers_after(self, votes: Array) -> Array:
        """How many further answers of the crowd to expect."""
        return self._to_come(*_two_strongest(votes))

    def shortfalls(self, votes: Array) -> Array:
        """The fewest further votes for a label alone with which it is accepted, `most` at most; (items, classes).

        >>> expert_strategy(Prior(6, 2), 50.0, Expert(price=8.0), 40).shortfalls(np.array([[0.0, 0.0], [1.0, 0.0]]))
        array([[3., 3.],
               [2., 4.]])
        """
        ordered = np.sort(votes, axis=1)
        others = np.where(votes == ordered[:, -1:], ordered[:, -2:-1], ordered[:, -1:]).astype(np.int64)
        own = votes.astype(np.int64)
        further = np.maximum(others + 1 - own, 0)
        while (short := (further < self.most) & ~self._accepts(own + further, others)).any():
            further += short
        return np.asarray(further, dtype=np.float64)

    def _accepts(self, first: IntArray, second: IntArray) -> Mask:
        return np.asarray((self._to_come(first, second) <= 0) & ~self._doubts(first, second))

    def _doubts(self, first: IntArray, second: IntArray) -> Mask:
        """Whether the expert saves more than an answer of the expert costs."""
        right = self.prior.result_accuracy(first, second)
        return np.asarray((self.expert.accuracy - right) * self.loss > self.expert.price + ROUNDING)

    def _to_come(self, first: IntArray, second: IntArray) -> Array:
        last = len(self.answers) - 1
        inside = self.answers[np.minimum(first, last), np.minimum(second, last)]
        return np.asarray(np.where(first + second <= last, inside, 0.0))


@lru_cache(maxsize=4096)  # a few kB each: where items have costs of their own, there are many
def expert_strategy(prior: Prior, loss: float, expert: Expert, most_answers: int | None) -> ExpertStrategy:
    """The strategy for a loss in units of the cost of an answer of the crowd."""
    most = MOST_ANSWERS if most_answers is None else min(most_answers, MOST_ANSWERS)
    stages = stopping_policy(prior, loss, most, expert=expert)
    last = max((total for total, stage in enumerate(stages) if (stage.action == ASK).any()), default=0)
    answers = np.zeros((last + 1, last + 1))
    for total, stage in enumerate(stages[: last + 1]):
        first = np.arange(total + 1)
        answers[first, total - first] = stage.answers[:, 0]
    return ExpertStrategy(prior, loss, expert, most, answers)


def _two_strongest(votes: Array) -> tuple[IntArray, IntArray]:
    ordered = np.sort(votes, axis=1).astype(np.int64)
    return ordered[:, -1], ordered[:, -2]
