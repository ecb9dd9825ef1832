"""Stop when another answer would cost more than it is expected to save."""

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from app.domain import Reason
from app.policy.belief import Array, Belief, IntArray, Mask
from app.policy.planning.cost_sensitive import Prior, Strategy, best_strategy
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.shares import Index, sole_leader, strongest_other

MOST_MONEY = 1e9
Shape = Annotated[float, Field(ge=1e-6, le=1000, allow_inf_nan=False)]


class Profit(Requirement):
    """The largest expected profit: value - loss if wrong - cost of all answers (Gao et al., SIGMOD 2013, Alg. 1).

        stop where  MI(m, l) L + Pr(+1) P'(m + 1, l) + Pr(-1) P'(m, l + 1) <= C,    P' the profit of going on.

    Decided by the real votes of the two strongest classes and the item's own cost. The value is earned by any answer,
    so it says what an item brings in, not when to stop. Where asking has stopped to pay and one class leads, that
    class is the answer; where it has stopped at a tie, or does not even pay at the start, there is none, and the item
    is given up. An end of the answers, where there is one, is reckoned with from the start. With the prior B(6, 2), the
    first answer is worth a quarter of the loss (Theorem 4.4):

    >>> Profit(value=100, loss=100).satisfied(Belief.of([[1, 0], [3, 0], [3, 1]]))
    array([False,  True, False])
    >>> [bool(Profit(value=9, loss=loss).not_worth_asking(Belief.of([0, 0]))[0]) for loss in (4, 5)]
    [True, False]
    """

    kind: Literal["profit"] = "profit"
    value: Annotated[float, Field(ge=0, le=MOST_MONEY, description="What an item's answer is worth, in money")]
    loss: Annotated[float, Field(ge=0, le=MOST_MONEY, description="What a wrong answer costs, in money")]
    prior: Annotated[
        tuple[Shape, Shape],
        Field(description="[a, b] of the Beta distribution of how often workers are right on an item; a > b"),
    ] = (6.0, 2.0)
    most_answers: Annotated[
        int | None,
        Field(ge=1, le=10_000, description="Ask no more than this, and take the label that leads then; null: no end"),
    ] = None

    @field_validator("prior")
    @classmethod
    def _better_than_guessing(cls, prior: tuple[float, float]) -> tuple[float, float]:
        if prior[0] <= prior[1]:
            raise PydanticCustomError(
                "prior_not_better_than_guessing",
                "prior: a ({a}) must exceed b ({b}), for workers must be right more often than not",
                {"a": prior[0], "b": prior[1]},
            )
        return prior

    @property
    def by_votes_alone(self) -> bool:
        return False

    def satisfied(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        return np.asarray(self._stopped(belief) & (first > second))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.votes)

    def not_worth_asking(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        return np.asarray(self._stopped(belief) & (first == second))

    def shortfalls(self, prospect: Prospect) -> Array:
        """Looked up: the fewest votes with which a class is accepted against those of the strongest other."""
        votes = prospect.now.votes
        against = strongest_other(votes).astype(np.int64)
        needed = np.empty_like(votes)
        for items, strategy in self._strategies(prospect.now):
            inside = np.minimum(against[items], len(strategy.votes_to_win) - 1)
            needed[items] = np.maximum(strategy.votes_to_win[inside], against[items] + 1)
        return np.maximum(needed - votes, 0.0)

    def answers_to_come(self, prospect: Prospect) -> Array:
        """As the strategy expects it (Algorithm 5)."""
        first, second = _two_highest(prospect.now)
        expected = np.empty(len(first))
        for items, strategy in self._strategies(prospect.now):
            expected[items] = strategy.answers_to_come(first[items], second[items])
        return expected

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = (int(votes[item]) for votes in _two_highest(belief))
        right = float(Prior(*self.prior).result_accuracy(first, second))
        standing = f"{first}:{second} votes, right with {right:.3g}"
        if self.satisfied(belief)[item]:
            return Reason("profit", f"{standing}; another answer would cost more than it saves")
        if self.not_worth_asking(belief)[item]:
            return Reason("does-not-pay", f"{standing}, and another answer would cost more than it saves")
        return Reason("profit-not-reached", f"{standing}; another answer saves more than it costs")

    def _stopped(self, belief: Belief) -> Mask:
        first, second = _two_highest(belief)
        stopped = np.empty(len(first), dtype=bool)
        for items, strategy in self._strategies(belief):
            stopped[items] = strategy.stops(first[items], second[items])
        return stopped

    def _strategies(self, belief: Belief) -> Iterator[tuple[Mask, Strategy]]:
        """The items of each cost, and the strategy for them."""
        for cost in np.unique(belief.facts.cost):
            yield belief.facts.cost == cost, self._strategy(float(cost))

    def _strategy(self, cost: float) -> Strategy:
        return best_strategy(Prior(*self.prior), self.loss / cost, self.most_answers)


def _two_highest(belief: Belief) -> tuple[IntArray, IntArray]:
    """The votes of the strongest and of the second strongest class, shape (items,) each."""
    first, second = belief.votes.max(axis=1), strongest_other(belief.votes).min(axis=1)
    return first.astype(np.int64), second.astype(np.int64)
