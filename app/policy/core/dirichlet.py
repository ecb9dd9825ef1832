"""How likely each class is the true one, given votes alone."""

import numpy as np
from scipy import special

from app.policy.core.arrays import Array
from app.policy.core.equal_rows import different_rows

_BINARY = 2  # two classes have a closed form
_NODES = 48  # at least; 1e-12 of the exact value for parameters from 1 to 100,000
_WIDEST_STEP = 0.3  # in log x: an exponential tail, as small parameters have, then errs by exp(-pi^2 / 0.3)
_MOST_NODES = 4096
_NEGLIGIBLE = 1e-14
_LEAST_LOG = -700.0  # exp of it is still above zero
_CHUNK = 200_000  # numbers at a time: what a cache holds


def chance_of_being_largest(alpha: Array) -> Array:
    """P(class c has the largest share) under Dirichlet(alpha), for every class; alpha is (items, classes).

    Shares of a Dirichlet are normalised gammas, so with F_j and f_j the distribution function and density of log x,
    x ~ Gamma(alpha_j),

        P(c largest) = integral over y of  f_c(y) prod_{j != c} F_j(y) dy.

    The integrand is smooth and falls off at both ends at least exponentially, where the trapezoidal rule converges
    exponentially; all classes share one grid, so K classes cost K distribution functions per node, or fewer where some
    have the same parameter; rows that differ in the order of their classes alone are computed once. With two classes
    this is I(a, b) = P(theta >= 1/2) of Chen et al. (ICML 2013), an incomplete beta function:

    >>> chance_of_being_largest(np.array([[5.0, 2.0]])).round(6).tolist()  # 1 - P(Bin(6, 1/2) >= 5) = 57/64
    [[0.890625, 0.109375]]

    With one vote among three classes the integral of x exp(-x) (1 - exp(-x))^2 is 1 - 2/4 + 1/9 = 11/18:

    >>> chance_of_being_largest(np.array([[1.0, 1.0, 2.0]])).round(6).tolist()
    [[0.194444, 0.194444, 0.611111]]
    """
    if alpha.shape[1] == _BINARY:
        first = special.betainc(alpha[:, 1], alpha[:, 0], 0.5)
        return np.stack([first, 1 - first], axis=1)
    if not len(alpha):
        return np.empty(alpha.shape)
    order = alpha.argsort(axis=1)
    different, which = different_rows(np.take_along_axis(alpha, order, axis=1))
    rows = max(1, _CHUNK // (_NODES * alpha.shape[1]))
    chunks = [_by_quadrature(different[start : start + rows]) for start in range(0, len(different), rows)]
    chance = np.empty_like(alpha)
    np.put_along_axis(chance, order, np.concatenate(chunks)[which], axis=1)
    return chance


def chance_of_the_strongest(alpha: Array) -> Array:
    """The largest of those chances, shape (items,): it belongs to the largest parameter.

    >>> chance_of_the_strongest(np.array([[2.0, 5.0], [1.0, 1.0]])).tolist()
    [0.890625, 0.5]
    """
    if alpha.shape[1] == _BINARY:
        first, second = alpha[:, 0], alpha[:, 1]
        return np.asarray(special.betainc(np.minimum(first, second), np.maximum(first, second), 0.5))
    return np.asarray(chance_of_being_largest(alpha).max(axis=1))


def _by_quadrature(alpha: Array) -> Array:
    """The same for rows in ascending order, where equal parameters are neighbours and are computed once."""
    y = _grid(alpha)  # (items, nodes)
    x, first = np.exp(y), np.diff(alpha, axis=1, prepend=-1.0) != 0
    item, parameter = np.nonzero(first)[0], alpha[first][:, None]
    below = special.gammainc(parameter, x[item])  # (different parameters, nodes)
    density = np.exp(parameter * y[item] - x[item] - special.gammaln(parameter))
    each = np.cumsum(first).reshape(alpha.shape) - 1  # the position of each class of each item among them
    times, start = np.bincount(each.ravel())[:, None], each[:, 0]
    all_below = np.multiply.reduceat(below**times, start, axis=0)  # (items, nodes)
    mass = (density / below * all_below[item]).sum(axis=1)[each]
    # Scaling to the sum 1 cancels the step, and most of the error at both ends of the grid.
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _grid(alpha: Array) -> Array:
    """Even steps of log x over the range in which the largest of the gammas lies, shape (items, nodes)."""
    largest = alpha.max(axis=1)
    high = np.log(special.gammainccinv(largest, _NEGLIGIBLE))
    # All are below x with a chance of at most x^sum(alpha) / prod Gamma(alpha + 1).
    low = (np.log(_NEGLIGIBLE) + special.gammaln(alpha + 1).sum(axis=1)) / alpha.sum(axis=1)
    low = np.maximum(low, np.log(np.maximum(special.gammaincinv(largest, _NEGLIGIBLE), np.exp(_LEAST_LOG))))
    widest = float((high - low).max())
    nodes = int(np.clip(np.ceil(widest / _WIDEST_STEP) + 1, _NODES, _MOST_NODES))
    return np.asarray(np.linspace(low, high, nodes, axis=1))
