"""How likely each class is the true one, when all that is known are votes."""

from functools import cache

import numpy as np
from scipy import special

from app.policy.belief import Array

_NODES = 48  # Gauss-Legendre nodes; agrees with the exact two-class value to 1e-9 for counts up to 100


@cache
def _unit_quadrature() -> tuple[Array, Array]:
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    return (nodes + 1) / 2, weights / 2


def chance_of_being_largest(alpha: Array) -> Array:
    """P(class c has the largest share) under Dirichlet(alpha), for every class; alpha is (items, classes).

    Shares of a Dirichlet are normalised gammas, so with F_j the Gamma(alpha_j) distribution function

        P(c largest) = integral over u in (0, 1) of  prod_{j != c} F_j(F_c^-1(u)) du.

    With two classes this is I(a, b) = P(theta >= 1/2) of Chen et al. (ICML 2013), an incomplete beta function:

    >>> chance_of_being_largest(np.array([[5.0, 2.0]])).round(6).tolist()  # 1 - P(Bin(6, 1/2) >= 5) = 57/64
    [[0.890625, 0.109375]]
    """
    if alpha.shape[1] == 2:  # noqa: PLR2004  two classes have a closed form
        first = special.betainc(alpha[:, 1], alpha[:, 0], 0.5)
        return np.stack([first, 1 - first], axis=1)
    chances = np.stack([_chance_of_class(alpha, c) for c in range(alpha.shape[1])], axis=1)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def _chance_of_class(alpha: Array, c: int) -> Array:
    nodes, weights = _unit_quadrature()
    at = special.gammaincinv(alpha[:, c : c + 1], nodes)  # (items, nodes)
    others = np.delete(alpha, c, axis=1)
    below = special.gammainc(others[:, :, None], at[:, None, :])  # (items, classes - 1, nodes)
    return np.asarray(below.prod(axis=1) @ weights)
