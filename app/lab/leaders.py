"""Know the best of many places at every moment, although their values change one by one."""

import numpy as np
import numpy.typing as npt

from app.policy.belief import Array, IntArray

NOWHERE = -1
Lots = npt.NDArray[np.uint64]
_LAST = np.iinfo(np.uint64).max


class Leaders:
    """The place with the highest value of each row; among equals, the one with the smallest lot.

    Places are kept in blocks of about the square root of their number, and the best of each block is remembered: a
    change costs a look at its block, and a question one at the blocks.

    >>> leaders = Leaders(np.array([[0.1, 0.3, 0.3], [0.2, 0.1, -np.inf]]), np.array([[5, 9, 7], [1, 2, 3]], np.uint64))
    >>> leaders.best().tolist()
    [2, 0]
    >>> leaders.change(np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([0.0, -np.inf, -np.inf]))
    >>> leaders.best().tolist()
    [1, -1]
    """

    def __init__(self, value: Array, lot: Lots) -> None:
        rows, places = value.shape
        self._size = max(1, int(np.ceil(places**0.5)))
        blocks = -(-places // self._size)
        padding = ((0, 0), (0, blocks * self._size - places))
        padded = np.pad(value, padding, constant_values=-np.inf), np.pad(lot, padding, constant_values=_LAST)
        self._value, self._lot = (each.reshape(rows * blocks, self._size) for each in padded)
        self._blocks = blocks
        self._top: Array = np.empty(rows * blocks)
        self._place: IntArray = np.empty(rows * blocks, dtype=np.int64)
        self._top_lot: Lots = np.empty(rows * blocks, dtype=np.uint64)
        self._look_at(np.arange(rows * blocks))

    def best(self) -> IntArray:
        """The best place of each row, shape (rows,); -1 where none has a value."""
        top, lot = self._top.reshape(-1, self._blocks), self._top_lot.reshape(-1, self._blocks)
        highest = top.max(axis=1)
        block = np.where(top == highest[:, None], lot, _LAST).argmin(axis=1)
        place = self._place.reshape(-1, self._blocks)[np.arange(len(block)), block]
        return np.where(np.isneginf(highest), NOWHERE, block * self._size + place)

    def change(self, row: IntArray, place: IntArray, value: Array) -> None:
        """From now on these places have these values; -inf: not to be chosen."""
        block = row * self._blocks + place // self._size
        self._value[block, place % self._size] = value
        self._look_at(np.unique(block))

    def _look_at(self, block: IntArray) -> None:
        value = self._value[block]
        highest = value.max(axis=1)
        place = np.where(value == highest[:, None], self._lot[block], _LAST).argmin(axis=1)
        self._top[block], self._place[block] = highest, place
        self._top_lot[block] = self._lot[block, place]
