"""Synthetic crowds whose truth, skill and difficulty are known."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from propcache.api import cached_property

from app.policy.core.belief import Array, IntArray


class Respondents(Protocol):
    """A crowd that can be asked: a synthetic or a recorded one."""

    @property
    def truth(self) -> npt.NDArray[Any]:
        """The truth of each item, shape (items,): what a right answer says; -1 or NaN where it is not known."""

    @property
    def items(self) -> int: ...

    @property
    def workers(self) -> int: ...

    @property
    def classes(self) -> int: ...

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> npt.NDArray[Any]:
        """The answer of worker[i] on item[i], shape (answers,)."""


@dataclass(frozen=True)
class Crowd:
    """Workers with confusion matrices, and items with a known truth.

    A worker's habits are one confusion matrix per grade of difficulty. Join the habits of different sorts of workers
    with `np.concatenate`.

    >>> crowd = Crowd(np.array([0, 1]), np.concatenate([skilled([1.0], 2), constant([1], 2)]))
    >>> crowd.answers(np.array([0, 1, 0]), np.array([0, 0, 1]), np.random.default_rng(1)).tolist()
    [0, 1, 1]
    """

    truth: IntArray  # (items,)
    habits: Array  # (workers, grades, classes, classes): P(answer k | truth j), row j sums to 1
    grade: IntArray | None = None  # (items,) of difficulty; None: all are of grade 0

    @property
    def items(self) -> int:
        return len(self.truth)

    @property
    def workers(self) -> int:
        return len(self.habits)

    @property
    def classes(self) -> int:
        return int(self.habits.shape[-1])

    def answers(self, item: IntArray, worker: IntArray, rng: np.random.Generator) -> IntArray:
        """Draw an answer of worker[i] on item[i], shape (answers,); each call draws again."""
        grade = 0 if self.grade is None else self.grade[item]
        below = self._cumulative[worker, grade, self.truth[item]]  # (answers, classes)
        return np.asarray((below <= rng.random(len(item))[:, None]).sum(axis=1))

    @cached_property
    def _cumulative(self) -> Array:
        cumulative = self.habits.cumsum(axis=-1)
        cumulative[..., -1] = np.inf  # floats may sum to less than 1, and there is always an answer
        return np.asarray(cumulative)


def truths(items: int, classes: int, rng: np.random.Generator) -> IntArray:
    """Draw true classes, all equally likely, shape (items,)."""
    return rng.integers(classes, size=items)


def skilled(rate: npt.ArrayLike, classes: int) -> Array:
    """Workers who are right at their success rate, and err towards each other class equally often.

    `rate` is (workers,), or (workers, grades) where some items are harder; the habits are (workers, grades, K, K).

    >>> skilled([0.7], 3)[0, 0].round(2).tolist()
    [[0.7, 0.15, 0.15], [0.15, 0.7, 0.15], [0.15, 0.15, 0.7]]
    """
    right = np.asarray(rate, dtype=np.float64)
    right = (right if right.ndim > 1 else right[:, None])[..., None, None]
    return np.where(np.eye(classes, dtype=bool), right, (1 - right) / (classes - 1))


def guessers(workers: int, classes: int) -> Array:
    """Workers who guess: all answers are equally likely."""
    return np.full((workers, 1, classes, classes), 1 / classes)


def liars(rate: npt.ArrayLike, classes: int) -> Array:
    """Workers who know the answer at this rate, (workers,), and then give another one.

    >>> liars([0.9], 2)[0, 0].round(2).tolist()
    [[0.1, 0.9], [0.9, 0.1]]
    """
    knows = np.asarray(rate, dtype=np.float64)
    return skilled(1 - knows, classes)


def constant(label: npt.ArrayLike, classes: int) -> Array:
    """Workers who always give the same answer, label[w]."""
    column = np.eye(classes)[np.asarray(label)]  # (workers, classes)
    return np.repeat(column[:, None, None, :], classes, axis=2)


def harder(habits: Array, difficulty: npt.ArrayLike) -> Array:
    """The same workers on items of several grades: at grade g a share difficulty[g] of the answers is a guess.

    >>> harder(skilled([1.0], 2), [0.0, 0.5])[0, :, 0, 0].tolist()
    [1.0, 0.75]
    """
    share = np.asarray(difficulty, dtype=np.float64)[None, :, None, None]
    return np.asarray((1 - share) * habits + share / habits.shape[-1])


def polynomial_rates(workers: int, degree: int, rng: np.random.Generator, worst: float = 0.5) -> Array:
    """Success rates with a density that grows like (rate - worst)^degree up to 1, shape (workers,).

    By inversion: worst + (1 - worst) U^(1 / (degree + 1)), of mean worst + (1 - worst)(degree + 1) / (degree + 2).
    Degree 1 is a density that rises in a straight line from 0 at `worst`.

    >>> float(polynomial_rates(100_000, 1, np.random.default_rng(1)).mean().round(2))
    0.83
    """
    return np.asarray(worst + (1 - worst) * rng.random(workers) ** (1 / (degree + 1)))
