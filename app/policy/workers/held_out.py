"""How well does a model foretell answers that it has not seen?"""

from dataclasses import dataclass

import numpy as np

from app.policy.aggregation.ballots import sum_by
from app.policy.belief import Array, Mask
from app.policy.chance import uniform
from app.policy.shares import Index

_FOLDS = 5
_ONE_FOLD_FROM = 50_000  # answers: a fifth of so many is enough to tell models apart


def folds(answers: int, seed: int) -> list[Mask]:
    """Which answers are held out, in turn: five random fifths, or one of them where there are very many answers.

    An answer belongs to a fold by seed and position alone, so it stays there as further answers come.
    """
    fold = (uniform(seed, np.arange(answers)) * _FOLDS).astype(np.intp)
    return [fold == turn for turn in range(1 if answers > _ONE_FOLD_FROM else _FOLDS)]


@dataclass(frozen=True)
class Gain:
    """How much better one model foretells answers than another."""

    mean: float  # nats per answer
    error: float  # its standard error


def gain(better: Array, than: Array, group: Index) -> Gain:
    """The mean paired difference of two log-likelihoods per answer, and its standard error.

    Answers of one worker share that worker's habits, and answers on one item share what is made of the item: so the
    error is that of sums by the group in which the models differ (Liang and Zeger, Biometrika 1986), or that of single
    answers where it should be larger. With d the n differences, m their mean, G the number of groups,

        error^2 = G / (G - 1) sum over groups g of (sum over answers a of g of (d_a - m))^2 / n^2.

    >>> gain(np.array([1.0, 1.0, 0.0, 0.0]), np.zeros(4), np.array([0, 0, 1, 1]))
    Gain(mean=0.5, error=0.5)
    """
    apart = better - than
    mean, answers, groups = float(apart.mean()), len(apart), len(np.unique(group))
    by_group = sum_by(group, apart - mean, int(group.max()) + 1)
    squares = [(groups, by_group), (answers, apart - mean)]
    variance = max(float(np.vdot(sums, sums)) * many / max(many - 1, 1) for many, sums in squares)
    return Gain(mean, variance**0.5 / answers)
