"""Keep the maximum of each row, or of each group in a row, while single values change."""

import numpy as np
import numpy.typing as npt

from app.policy.core.belief import Array, IntArray, Mask

NOWHERE = -1
TieBreaks = npt.NDArray[np.uint64]
_LAST = np.iinfo(np.uint64).max


class RowMaxima:
    """The place with the highest value of each row; of equal ones, the place with the smallest tie break.

    Places are kept in blocks of about the square root of their number, with the best place of each block. A change
    looks at one block, and a question looks at the best of each block.

    >>> values = np.array([[0.1, 0.3, 0.3], [0.2, 0.1, -np.inf]])
    >>> maxima = RowMaxima(values, np.array([[5, 9, 7], [1, 2, 3]], np.uint64))
    >>> maxima.best().tolist()
    [2, 0]
    >>> maxima.change(np.array([0, 1, 1]), np.array([2, 0, 1]), np.array([0.0, -np.inf, -np.inf]))
    >>> maxima.best().tolist()
    [1, -1]
    """

    def __init__(self, value: Array, tie_break: TieBreaks) -> None:
        rows, places = value.shape
        self._size = max(1, int(np.ceil(places**0.5)))
        blocks = -(-places // self._size)
        padding = ((0, 0), (0, blocks * self._size - places))
        padded = np.pad(value, padding, constant_values=-np.inf), np.pad(tie_break, padding, constant_values=_LAST)
        self._value, self._tie_break = (each.reshape(rows * blocks, self._size) for each in padded)
        self._blocks = blocks
        self._top: Array = np.empty(rows * blocks)
        self._place: IntArray = np.empty(rows * blocks, dtype=np.int64)
        self._top_tie_break: TieBreaks = np.empty(rows * blocks, dtype=np.uint64)
        self._find_maxima(np.arange(rows * blocks))

    def best(self) -> IntArray:
        """The best place of each row, shape (rows,); -1: none has a value."""
        top, tie_break = self._top.reshape(-1, self._blocks), self._top_tie_break.reshape(-1, self._blocks)
        highest = top.max(axis=1)
        block = np.where(top == highest[:, None], tie_break, _LAST).argmin(axis=1)
        place = self._place.reshape(-1, self._blocks)[np.arange(len(block)), block]
        return np.where(np.isneginf(highest), NOWHERE, block * self._size + place)

    def change(self, row: IntArray, place: IntArray, value: Array) -> None:
        """Set the values of these places; -inf: never chosen."""
        block = row * self._blocks + place // self._size
        self._value[block, place % self._size] = value
        self._find_maxima(np.unique(block))

    def _find_maxima(self, block: IntArray) -> None:
        value = self._value[block]
        highest = value.max(axis=1)
        place = np.where(value == highest[:, None], self._tie_break[block], _LAST).argmin(axis=1)
        self._top[block], self._place[block] = highest, place
        self._top_tie_break[block] = self._tie_break[block, place]


class GroupMaxima:
    """The highest value in each group of places, and the places with that value; group[p] is the group of place p.

    >>> maxima = GroupMaxima(np.array([[0.1, 0.3, 0.3, 0.3]]), group=np.array([1, 0, 1, 1]), groups=2)
    >>> [places.tolist() for places in maxima.tied(tie_break=np.array([[7, 5]], np.uint64))]
    [[2, 3]]
    >>> maxima.change(np.array([0, 0]), np.array([2, 3]), np.array([0.0, -np.inf]))
    >>> [places.tolist() for places in maxima.tied(tie_break=np.array([[7, 5]], np.uint64))]
    [[1]]
    >>> others = np.array([[False, True]])
    >>> [places.tolist() for places in maxima.tied(tie_break=np.array([[7, 5]], np.uint64), instead=others)]
    [[0]]
    """

    def __init__(self, value: Array, group: IntArray, groups: int) -> None:
        self._order = np.argsort(group, kind="stable")  # the places, group by group
        self._start = np.searchsorted(group[self._order], np.arange(groups + 1))
        self._rank = np.empty_like(self._order)
        self._rank[self._order] = np.arange(len(group))
        self._group = group
        self._value = value[:, self._order]
        self.top: Array = np.full((len(value), groups), -np.inf)  # (rows, groups) the highest value of each
        filled = np.unique(group)
        self.top[:, filled] = np.maximum.reduceat(self._value, self._start[filled], axis=1)

    def tied(self, tie_break: TieBreaks, instead: Mask | None = None) -> list[IntArray]:
        """For each row, the best places of the best group; `tie_break`, (rows, groups), decides between equal groups.

        Empty where no place of the row has a value. Where `instead`, (rows, groups), names groups in a row, one of
        these is taken in place of the best.
        """
        best = self.top == self.top.max(axis=1, keepdims=True)
        if instead is not None:
            best = np.where(instead.any(axis=1, keepdims=True), instead, best)
        group = np.where(best, tie_break, _LAST).argmin(axis=1)
        return [self._places(row, one, self.top[row, one]) for row, one in enumerate(group.tolist())]

    def change(self, row: IntArray, place: IntArray, value: Array) -> None:
        """Set the values of these places; -inf: never chosen."""
        self._value[row, self._rank[place]] = value
        row, group = np.divmod(np.unique(row * self.top.shape[1] + self._group[place]), self.top.shape[1])
        many = self._start[group + 1] - self._start[group]
        first = np.cumsum(many) - many
        within = np.arange(many.sum()) - np.repeat(first - self._start[group], many)
        self.top[row, group] = np.maximum.reduceat(self._value[np.repeat(row, many), within], first)

    def _places(self, row: int, group: int, value: float) -> IntArray:
        own = slice(self._start[group], self._start[group + 1])
        return np.asarray(self._order[own][(self._value[row, own] == value) & (value > -np.inf)])
