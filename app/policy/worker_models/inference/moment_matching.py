"""Approximate a mixture of Dirichlet distributions by one with the same mean and variance."""

import numpy as np

from app.policy.core.arrays import Array


def match_moments(alpha: Array, gained: Array) -> Array:
    """The Dirichlet with the mean and the total variance of a mixture; all arrays are (rows, classes).

    After an answer of a worker who may be wrong, the exact posterior is a mixture: Dirichlet(alpha + e_l) with
    weight w_l = gained[l], and the unchanged Dirichlet(alpha) with the rest of the weight. Its mean mu
    and S = E sum_j x_j (1 - x_j) / sum_j Var(x_j) give the new parameters mu S; with two classes this is the moment
    matching of Chen et al. (ICML 2013, section 4). If the weights sum to 1 it comes down to

        alpha' = (alpha + w) G / (G + (A + 2) B),  A = sum alpha,  B = sum_j w_j (1 - w_j),
        G = sum_j alpha_j (A - alpha_j) + 2 sum_j w_j (A - alpha_j).

    Every term below is a sum of positive ones, so a near-perfect worker (a parameter near 0) causes no cancellation.

    >>> match_moments(np.array([[1.0, 1.0]]), np.array([[0.8, 0.2]])).round(4).tolist()  # 25/33 of (1.8, 1.2)
    [[1.3636, 0.9091]]
    """
    total, others, gained_by_others = row_sum(alpha), sum_of_others(alpha), sum_of_others(gained)
    changed = row_sum(gained)
    kept = np.maximum(1 - changed, 0.0)
    mean = (changed * alpha + gained) / (total + 1) + kept * alpha / total
    pairs = row_sum(alpha * others)
    spread_kept = kept * pairs / (total * (total + 1))
    lost = 2 * row_sum(gained * others)
    spread_changed = (changed * pairs + lost) / ((total + 1) * (total + 2))
    moved = gained * (others / total) ** 2 + gained_by_others * (alpha / total) ** 2
    between = row_sum(gained * gained_by_others + kept * moved) / (total + 1) ** 2
    variance = spread_kept / total + spread_changed / (total + 1) + between
    spread = spread_kept + spread_changed
    # A worker known for certain (a parameter that has underflowed to 0) has no variance left: count instead.
    size = np.divide(spread, variance, out=total + changed, where=variance > 0)
    return np.asarray(mean * size)


def row_sum(values: Array) -> Array:
    """The sum of each row, shape (rows, 1), to the last bit the same whatever the other rows are.

    A product with ones would be faster, but its last bits depend on the number of rows, and an answer that is learned
    together with others must give the same numbers as alone.
    """
    return np.asarray(np.einsum("ij->i", values)[:, None])


def sum_of_others(values: Array) -> Array:
    """For each class the sum over the other classes, without subtracting anything."""
    others = np.zeros_like(values)
    others[:, 1:] += np.cumsum(values[:, :-1], axis=1)
    others[:, :-1] += np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return others
