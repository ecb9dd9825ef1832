"""Stop when another answer would cost more than it is expected to save."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from app.policy.core.arrays import Array, Index, IntArray, Mask
from app.policy.core.belief import Belief, sole_leader, strongest_other
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.planning.cost_sensitive import Prior, Strategy, best_strategy
from app.policy.requirements.base import Requirement
from app.policy.requirements.on_counts import votes_in_words

MOST_MONEY = 1e9
Shape = Annotated[float, Field(ge=1e-6, le=1000, allow_inf_nan=False)]


class Profit(Requirement):
    """Stop when another answer costs more than it is expected to save (Gao et al., SIGMOD 2013, Alg. 1).

        stop where  MI(m, l) L + Pr(+1) P'(m + 1, l) + Pr(-1) P'(m, l + 1) <= C,    P' the profit of going on.

    This maximises the expected profit: value - loss if wrong - cost of all answers. It depends on the real votes of the
    two strongest labels and on the item's own cost. Any label earns `value`, so `value` does not affect when to stop.
    Where asking no longer pays and one label leads, that label is accepted. At a tie, or where asking does not pay even
    at the start, the item is given up. A limit on the answers is taken into account from the start.
    With the prior B(6, 2), the first answer is worth a quarter of the loss (Theorem 4.4):

    >>> Profit(value=100, loss=100).satisfied(Belief.of([[1, 0], [3, 0], [3, 1]]))
    array([False,  True, False])
    >>> [bool(Profit(value=9, loss=loss).not_worth_asking(Belief.of([0, 0]))[0]) for loss in (4, 5)]
    [True, False]
    """

    kind: Literal["profit"] = "profit"
    value: Annotated[
        float, Field(ge=0, le=MOST_MONEY, description="What an item's label is worth, in money", examples=[10])
    ]
    loss: Annotated[float, Field(ge=0, le=MOST_MONEY, description="What a wrong label costs, in money", examples=[30])]
    prior: Annotated[
        tuple[Shape, Shape],
        Field(description="The Beta distribution [a, b] of how often workers are right on an item; a must exceed b"),
    ] = (6.0, 2.0)
    most_answers: Annotated[
        int | None,
        Field(
            ge=1,
            le=10_000,
            description="Ask for at most this many answers, and accept the label that leads then; null: no limit",
        ),
    ] = None

    @field_validator("prior")
    @classmethod
    def _better_than_guessing(cls, prior: tuple[float, float]) -> tuple[float, float]:
        if prior[0] <= prior[1]:
            raise PydanticCustomError(
                "prior_not_better_than_guessing",
                "The first number ({a}) must exceed the second ({b}): workers must be right more often than wrong",
                {"a": prior[0], "b": prior[1]},
            )
        return prior

    uses: ClassVar[Uses] = Uses.COST

    def satisfied(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        return np.asarray(self._stopped(belief) & (first > second))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.votes)

    def not_worth_asking(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        return np.asarray(self._stopped(belief) & (first == second))

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """From a table: the fewest votes with which a class is accepted against those of the strongest other."""
        votes = lookahead.now.votes
        against = strongest_other(votes).astype(np.int64)
        needed = np.empty_like(votes)
        for items, strategy in self._strategies(lookahead.now):
            inside = np.minimum(against[items], len(strategy.votes_to_win) - 1)
            needed[items] = np.maximum(strategy.votes_to_win[inside], against[items] + 1)
        return np.maximum(needed - votes, 0.0)

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        """The expectation of the strategy (Algorithm 5)."""
        first, second = _two_highest(lookahead.now)
        expected = np.empty(len(first))
        for items, strategy in self._strategies(lookahead.now):
            expected[items] = strategy.answers_to_come(first[items], second[items])
        return expected

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = (int(votes[item]) for votes in _two_highest(belief))
        right = float(Prior(*self.prior).result_accuracy(first, second))
        counted = f"{votes_in_words(first, second)}, so the leading label is right with probability {right:.2f}"
        if self.satisfied(belief)[item]:
            return Reason("profit", f"{counted}; another answer would cost more than it is expected to save.")
        if self.not_worth_asking(belief)[item]:
            tie = f"{votes_in_words(first, second)}, so no label leads" if first else "The item has no answer"
            return Reason("does-not-pay", f"{tie}, and another answer would cost more than it is expected to save.")
        return Reason("profit-not-reached", f"{counted}; another answer is expected to save more than it costs.")

    def _stopped(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        stopped = np.empty(len(first), dtype=bool)
        for items, strategy in self._strategies(belief):
            stopped[items] = strategy.stops(first[items], second[items])
        return stopped

    def _strategies(self, belief: Belief) -> Iterator[tuple[Mask, Strategy]]:
        """The items of each cost, with the strategy for them."""
        for cost in np.unique(belief.context.cost):
            yield belief.context.cost == cost, self._strategy(float(cost))

    def _strategy(self, cost: float) -> Strategy:
        return best_strategy(Prior(*self.prior), self.loss / cost, self.most_answers)


def _two_highest(belief: Belief) -> tuple[IntArray, IntArray]:
    """The votes of the strongest and of the second strongest class, shape (items,) each."""
    first, second = belief.votes.max(axis=1), strongest_other(belief.votes).min(axis=1)
    return first.astype(np.int64), second.astype(np.int64)
