"""Items that are several questions: from rows of items to rows of questions, and back."""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.ballots import UNKNOWN, Ballots
from app.policy.core.belief import ItemContext, State
from app.policy.core.opinions import Opinions

Entry = TypeVar("Entry", bound=np.generic)
SIDES = 2  # of a question: no and yes


@dataclass(frozen=True)
class Questions:
    """Every item is as many yes/no questions as the job has labels; row i * labels + k is question k of item i.

    >>> Questions(3).bits(np.array([5, 0])).tolist()  # the set of the first and the third label, and the empty one
    [[1, 0, 1], [0, 0, 0]]
    >>> Questions(3).sets(np.array([[1, 0, 1], [0, 0, 0]])).tolist()
    [5, 0]
    """

    labels: int

    def bits(self, said: Index) -> IntArray:
        """1 where a set has the label, shape (answers, labels)."""
        return np.asarray(said, dtype=np.int64)[:, None] >> np.arange(self.labels) & 1

    def sets(self, bits: IntArray) -> IntArray:
        """The set of each row, shape (rows,)."""
        return np.asarray((np.asarray(bits, dtype=np.int64) << np.arange(self.labels)).sum(axis=1))

    def known(self, sets: IntArray) -> IntArray:
        """The class of each question where the set of its item is known, shape (questions,), else -1."""
        return np.where(sets[:, None] == UNKNOWN, UNKNOWN, self.bits(sets)).ravel()

    def shares(self, applies: Array) -> Array:
        """Probabilities that a label applies, (items, labels), as those of no and yes; shape (questions, 2)."""
        yes = applies.ravel()
        return np.stack([1 - yes, yes], axis=1)

    def applies(self, shares: Array) -> Array:
        """The inverse of `shares`."""
        return np.asarray(shares[:, 1].reshape(-1, self.labels))

    def rows(self, items: Index) -> IntArray:
        """The questions of these items, shape (items * labels,)."""
        return np.asarray((np.asarray(items)[:, None] * self.labels + np.arange(self.labels)).ravel())

    def of(self, per_item: npt.NDArray[Entry]) -> npt.NDArray[Entry]:
        """Rows of items, repeated for each question."""
        return np.repeat(per_item, self.labels, axis=0)

    def by_item(self, per_question: npt.NDArray[Entry]) -> npt.NDArray[Entry]:
        """Rows of questions, (items, labels, ...)."""
        return per_question.reshape(-1, self.labels, *per_question.shape[1:])

    def context(self, context: ItemContext) -> ItemContext:
        """What is known about each question. They share the cost of an answer."""
        return ItemContext(
            cost=self.of(context.cost) / self.labels,
            open_assignments=self.of(context.open_assignments),
            number=((context.number - 1)[:, None] * self.labels + np.arange(1, self.labels + 1)).ravel(),
            prior=None if context.prior is None else self.shares(context.prior),
            seed=context.seed,
            gold=None if context.gold is None else self.known(context.gold),
            price=context.price,
        )

    def state(self, state: State) -> State:
        """The state of each question."""
        width = state.model_state.shape[1] // self.labels
        return State(state.votes.reshape(-1, SIDES), state.model_state.reshape(len(state.votes) * self.labels, width))

    def folded(self, state: State) -> State:
        """The inverse of `state`."""
        items, width = len(state.votes) // self.labels, state.model_state.shape[1]
        return State(
            state.votes.reshape(items, self.labels * SIDES), state.model_state.reshape(items, self.labels * width)
        )

    def ballots(self, ballots: Ballots) -> Ballots:
        """Every answer as one answer to each question of its item."""
        assert ballots.value is not None  # noqa: S101  sets
        return Ballots(
            item=self.rows(ballots.item),
            worker=self.of(ballots.worker),
            label=self.bits(ballots.value).ravel().astype(np.intp),
            items=ballots.items * self.labels,
            workers=ballots.workers,
            classes=SIDES,
            gold=None if ballots.gold is None else self.known(ballots.gold),
            opinions=None if ballots.opinions is None else self.opinions(ballots.opinions),
        )

    def opinions(self, opinions: Opinions) -> Opinions:
        return Opinions(np.stack([self.shares(each) for each in opinions.shares]), opinions.source)

    def folded_opinions(self, opinions: Opinions | None) -> Opinions | None:
        """The inverse of `opinions`."""
        if opinions is None:
            return None
        return Opinions(np.stack([self.applies(each) for each in opinions.shares]), opinions.source)
