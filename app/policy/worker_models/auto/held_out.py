"""How well one model predicts held-out answers compared with another."""

from dataclasses import dataclass

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import ItemContext
from app.policy.core.randomness import uniform
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.latent_truth import LatentTruth


def folds(answers: int, seed: int) -> list[Mask]:
    """Which answers are held out, in turn: five random fifths, or only the first if there are very many answers.

    The fold of an answer depends on the seed and its position alone, so it stays the same as more answers come.
    """
    parts = TUNED.stages.folds
    fold = (uniform(seed, np.arange(answers)) * parts).astype(np.intp)
    return [fold == turn for turn in range(1 if answers > TUNED.stages.one_fold_from else parts)]


def heldout_scores(model: LatentTruth, ballots: Ballots, context: ItemContext, prior: Array, held: list[Mask]) -> Array:
    """The log-likelihood of the answers of all these folds, each fold given the rest; (held-out answers,)."""
    each = [model.heldout_log_likelihood(ballots.only(~fold), ballots.only(fold), context, prior) for fold in held]
    return np.concatenate(each)


@dataclass(frozen=True)
class Gain:
    """How much better one model predicts answers than another."""

    mean: float  # nats per answer
    error: float  # its standard error


def gain(better: Array, than: Array, group: Index) -> Gain:
    """The mean paired difference of two log-likelihoods per answer, and its standard error.

    Answers of one worker share that worker's habits, and answers on one item share the belief about the item. So the
    error is that of sums by the group in which the models differ (Liang and Zeger, Biometrika 1986), or that of single
    answers if that is larger. With d the n differences, m their mean, G the number of groups,

        error^2 = G / (G - 1) sum over groups g of (sum over answers a of g of (d_a - m))^2 / n^2.

    >>> gain(np.array([1.0, 1.0, 0.0, 0.0]), np.zeros(4), np.array([0, 0, 1, 1]))
    Gain(mean=0.5, error=0.5)
    """
    difference = better - than
    mean, answers, groups = float(difference.mean()), len(difference), len(np.unique(group))
    by_group = sum_by(group, difference - mean, int(group.max()) + 1)
    squares = [(groups, by_group), (answers, difference - mean)]
    variance = max(float(np.vdot(sums, sums)) * many / max(many - 1, 1) for many, sums in squares)
    return Gain(mean, variance**0.5 / answers)
