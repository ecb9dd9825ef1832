"""How many votes a class needs to rule out that the votes are guesses."""

from functools import lru_cache

import numpy as np
from scipy import special

from app.policy.core.arrays import Array

_LARGEST_TABLE = 4096  # votes against; beyond that, each value is computed on its own
_HALVINGS = 52


def chance_of_so_few(few: Array, many: Array) -> Array:
    """P(X <= few) for X ~ Bin(few + many, 1/2), the lower tail; real-valued counts too, as I_{1/2}(many, few + 1).

    Examples 2 and 4 of Li et al. (WSDM 2016): one vote to four, and none to four.

    >>> chance_of_so_few(np.array([1.0, 0.0]), np.array([4.0, 4.0])).round(4).tolist()
    [0.1875, 0.0625]
    """
    return np.where(many > 0, special.betainc(many, few + 1, 0.5), 1.0)


def votes_that_outweigh(against: Array, tail: float) -> Array:
    """The real number a of votes at which I_{1/2}(a, against) has fallen to `tail`, at most 1/2; any shape.

    I_{1/2}(a, b) falls in a, and is 1/2 at a = b. Whole numbers are looked up in a table.

    >>> float(votes_that_outweigh(np.array([2.0]), 0.1875).round(9)[0])  # the tail of Example 2 is reached at four
    4.0
    """
    largest = int(against.max(initial=0))
    if largest < _LARGEST_TABLE and bool((against == np.rint(against)).all()):
        return _table(tail, 1 << largest.bit_length())[against.astype(np.intp)]
    values, position = np.unique(against, return_inverse=True)
    return _invert(values, tail)[position.reshape(against.shape)]


@lru_cache(maxsize=256)
def _table(tail: float, size: int) -> Array:
    return np.concatenate([[0.0], _invert(np.arange(1.0, size + 1), tail)])


def _invert(against: Array, tail: float) -> Array:
    """Bisection; the width of the bracket doubles first, until it holds the answer."""
    width = np.ones_like(against)
    while (short := special.betainc(against + width, against, 0.5) > tail).any():
        width = np.where(short, 2 * width, width)
    low, high = against, against + width
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = special.betainc(middle, against, 0.5) > tail
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    return np.asarray(high)
