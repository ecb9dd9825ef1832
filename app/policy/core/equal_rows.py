"""Find equal rows, so that what they have in common is computed once."""

import numpy as np

from app.policy.core.arrays import Array, Index, Mask

_WIDE = 32  # columns from which hashing a row is faster than sorting rows: np.unique took 2 s for 1,000 x 1,000


def first_equal_rows(rows: Array | Mask) -> Index:
    """For each row the position of the first row that equals it.

    >>> first_equal_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    array([0, 1, 0])
    """
    first: dict[bytes, int] = {}
    comparable = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0.0 becomes 0.0
    return np.array([first.setdefault(row.tobytes(), at) for at, row in enumerate(comparable)], dtype=np.intp)


def different_rows(rows: Array) -> tuple[Array, Index]:
    """The different rows, and for each row its position among them.

    >>> different_rows(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    (array([[1., 2.],
           [3., 4.]]), array([0, 1, 0]))
    """
    if rows.shape[1] < _WIDE and len(rows) > 1:
        different, position = np.unique(rows, axis=0, return_inverse=True)
        return different, position.ravel()
    first, position = np.unique(first_equal_rows(rows), return_inverse=True)
    return rows[first], position.ravel()
