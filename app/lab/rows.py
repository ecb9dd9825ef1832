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
        """Replace the rows of these items."""
        items, width = self._evidence.shape
        wider = state.evidence.shape[1] - width
        if wider > 0:
            self._evidence = np.concatenate([self._evidence, np.full((items, wider), np.nan)], axis=1)
            self._ragged = True
        self._votes[item] = state.votes
        self._evidence[item, : state.evidence.shape[1]] = state.evidence
