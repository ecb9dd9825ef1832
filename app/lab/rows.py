"""Keep the state of all items where single rows can be changed."""

import numpy as np

from app.policy.belief import IntArray, State


class Rows:
    """The states of all items. Where a model keeps so much per answer, short rows are padded with NaN, as it does."""

    def __init__(self, state: State) -> None:
        self._votes = state.votes.copy()  # (items, classes)
        self._evidence = state.evidence.copy()  # (items, *)
        self._ragged = bool(np.isnan(state.evidence).any())

    def all(self) -> State:
        """Every item's row."""
        return State(self._votes, self._evidence)

    def some(self, item: IntArray) -> State:
        """The rows of these items, as wide as the widest of them."""
        evidence = self._evidence[item]
        if self._ragged:
            evidence = evidence[:, ~np.isnan(evidence).all(axis=0)]
        return State(self._votes[item], evidence)

    def put(self, item: IntArray, state: State) -> None:
        """Replace the rows of these items.

        >>> rows = Rows(State(np.zeros((2, 2)), np.empty((2, 0))))
        >>> rows.put(np.array([0, 1]), State(np.ones((2, 2)), np.array([[7.0, 8.0], [7.0, 8.0]])))
        >>> rows.put(np.array([1]), State(np.ones((1, 2)), np.array([[9.0]])))
        >>> rows.some(np.array([1])).evidence.tolist()
        [[9.0]]
        """
        (items, width), new = self._evidence.shape, state.evidence.shape[1]
        if new > width:
            self._evidence = np.concatenate([self._evidence, np.full((items, new - width), np.nan)], axis=1)
        self._ragged |= new != width
        self._votes[item] = state.votes
        self._evidence[item, :new], self._evidence[item, new:] = state.evidence, np.nan
