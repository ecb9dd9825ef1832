"""How far from the truth people err who know: shares of errors by their number of steps, for labels in order.

An error of e steps has weight w_e at each label that is e steps from the truth, and where the truth is t,

    P(l | t, an error) = w_|l - t| / Z_t,    Z_t = sum over e of m_te w_e,    m_te labels are e steps from t.

So the weights mean the same at the ends of the scale and in its middle, and equal weights spread errors evenly.
"""

from functools import lru_cache

import numpy as np

from app.policy.core.arrays import Array, IntArray

_ITERATIONS = 30  # far more than a crowd of few answers can tell apart


@lru_cache(maxsize=64)
def steps_between(labels: int) -> IntArray:
    """How many steps each label is from each other one, shape (labels, labels)."""
    each = np.arange(labels)
    return np.asarray(np.abs(each[:, None] - each))


@lru_cache(maxsize=64)
def labels_at(labels: int) -> Array:
    """How many labels are 1, 2, ... steps from each truth: m, shape (labels, labels - 1).

    >>> labels_at(4).tolist()
    [[1.0, 1.0, 1.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [1.0, 1.0, 1.0]]
    """
    steps = steps_between(labels)
    return np.stack([(steps == step).sum(axis=1) for step in range(1, labels)], axis=1).astype(np.float64)


def errors_by_steps(weights: Array) -> Array:
    """P(l | t, an error), shape (labels, labels), with 0 on the diagonal; `weights` are w, shape (labels - 1,).

    >>> errors_by_steps(np.array([3.0, 1.0])).round(2).tolist()
    [[0.0, 0.75, 0.25], [0.5, 0.0, 0.5], [0.25, 0.75, 0.0]]
    """
    labels = len(weights) + 1
    found = np.concatenate([[0.0], weights])[steps_between(labels)]
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def weights_of_steps(errors: Array) -> Array:
    """The most likely weights, which sum to 1, shape (labels - 1,), for so many errors l at truth t, errors[t, l].

        w_e <- sum of errors of e steps / sum over t of (errors at t) m_te / Z_t.

    This is the fixed point of Luce's choice model (Hunter, Annals of Statistics 32, 2004, section 3, MM algorithm).

    >>> weights_of_steps(1000 * errors_by_steps(np.array([0.7, 0.2, 0.1]))).round(4).tolist()
    [0.7, 0.2, 0.1]
    """
    labels = len(errors)
    steps, available = steps_between(labels), labels_at(labels)
    made = np.bincount(steps.ravel(), errors.ravel(), labels)[1:]
    at_truth = errors.sum(axis=1) - errors.diagonal()
    weights: Array = np.full(labels - 1, 1 / (labels - 1))
    for _ in range(_ITERATIONS):
        weights = made / (at_truth / (available @ weights) @ available)
        weights = weights / weights.sum()
    return weights
