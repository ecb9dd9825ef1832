"""Accuracy and cost of a stopping rule when questions are harder or easier than the rule assumes."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from app.policy.core.belief import Array
from app.policy.planning.cost_sensitive import Prior, Strategy

Difficulty: TypeAlias = Prior | float  # how often workers are right: a distribution over questions, or equal on all


@dataclass(frozen=True)
class ExpectedAccuracy:
    """Accuracy and answers of a rule per question."""

    accuracy: float  # a tie counts one half
    answers: float


def expected(stop: Array, truth: Difficulty) -> ExpectedAccuracy:
    """Sum exactly over all sequences of right and wrong answers.

    `stop[x, y]` is the probability to stop at x right and y wrong answers; at the edge of the table it is 1.

    >>> three = np.add.outer(np.arange(4), np.arange(4)) >= 3
    >>> expected(three.astype(float), 0.8)
    ExpectedAccuracy(accuracy=0.896, answers=3.0)
    """
    size = len(stop)
    here = np.ones(1)  # P(x right and total - x wrong answers are reached)
    accuracy = answers = 0.0
    for total in range(2 * size - 1):
        right = np.arange(max(0, total - size + 1), min(total, size - 1) + 1)
        wrong = total - right
        leaves = stop[right, wrong]
        accuracy += float((here * leaves * (0.5 + 0.5 * np.sign(right - wrong))).sum())
        going = here * (1 - leaves)
        answers += float(going.sum())
        if not going.any():
            break
        chance = _chance_of_right(truth, right, wrong)
        reached = np.zeros(total + 2)
        reached[right + 1] += going * chance
        reached[right] += going * (1 - chance)
        here = reached[max(0, total + 1 - size + 1) : min(total + 1, size - 1) + 1]
    return ExpectedAccuracy(round(accuracy, 12), round(answers, 12))


def _chance_of_right(truth: Difficulty, right: npt.NDArray[np.int64], wrong: npt.NDArray[np.int64]) -> Array:
    if isinstance(truth, Prior):
        return np.asarray((truth.a + right) / (truth.a + truth.b + right + wrong))
    return np.full(len(right), truth)


def of_strategy(strategy: Strategy) -> Array:
    """The rule of Gao et al. as a table: it looks at the votes of the leader and of the other class."""
    x, y = np.indices((strategy.prior.horizon(strategy.loss) + 2,) * 2)
    stop = strategy.stops(np.maximum(x, y), np.minimum(x, y)).astype(np.float64)
    stop[-1], stop[:, -1] = 1.0, 1.0
    return stop


def of_majority(workers: int) -> Array:
    """Stop when one class has more than half of all possible votes."""
    x, y = np.indices((workers + 1,) * 2)
    return np.asarray((2 * np.maximum(x, y) > workers) | (x + y >= workers), dtype=np.float64)


def of_count(workers: int) -> Array:
    """Stop at a fixed number of answers."""
    x, y = np.indices((workers + 1,) * 2)
    return np.asarray(x + y >= workers, dtype=np.float64)
