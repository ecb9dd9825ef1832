"""How likely each class is the true one, when all that is known are votes."""

from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import special

Array = npt.NDArray[np.float64]

_BINARY = 2  # two classes have a closed form
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
    if alpha.shape[1] == _BINARY:
        first = special.betainc(alpha[:, 1], alpha[:, 0], 0.5)
        return np.stack([first, 1 - first], axis=1)
    every = [np.full(len(alpha), c) for c in range(alpha.shape[1])]
    chances = np.stack([_chance_of(alpha, c) for c in every], axis=1)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def chance_of_the_strongest(alpha: Array) -> Array:
    """The largest of those chances, shape (items,): it belongs to the largest parameter, so only one is computed.

    >>> chance_of_the_strongest(np.array([[2.0, 5.0], [1.0, 1.0]])).tolist()
    [0.890625, 0.5]
    """
    if alpha.shape[1] == _BINARY:
        return np.asarray(special.betainc(alpha.min(axis=1), alpha.max(axis=1), 0.5))
    return _chance_of(alpha, alpha.argmax(axis=1))


def _chance_of(alpha: Array, c: npt.NDArray[np.intp]) -> Array:
    nodes, weights = _unit_quadrature()
    rows = np.arange(len(alpha))
    at = special.gammaincinv(alpha[rows, c][:, None], nodes)  # (items, nodes)
    others = alpha.copy()
    others[rows, c] = np.inf
    kept = np.sort(others, axis=1)[:, :-1]  # (items, classes - 1)
    product = np.ones_like(at)
    for j in range(kept.shape[1]):
        product *= special.gammainc(kept[:, j : j + 1], at)
    return np.asarray(product @ weights)
