"""Stop when another answer would cost more than it is expected to save."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import NOBODY, Belief, sole_leader
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.planning.cost_sensitive import Prior, Strategy, best_strategy
from app.policy.planning.many_labels import ManyLabelStrategy, chance_of_leader, many_label_strategy
from app.policy.requirements.base import Requirement
from app.policy.requirements.on_counts import two_highest, votes_in_words

MOST_MONEY = 1e9
_BINARY = 2  # two labels need a smaller table
Shape = Annotated[float, Field(ge=1e-6, le=1000, allow_inf_nan=False)]


class Profit(Requirement):
    """Stop when another answer costs more than it is expected to save (Gao et al., SIGMOD 2013, Alg. 1).

        stop where  MI(m, l) L + Pr(+1) P'(m + 1, l) + Pr(-1) P'(m, l + 1) <= C,    P' the profit of going on.

    This maximises the expected profit: value - loss if wrong - cost of all answers. It depends on the real votes and on
    what an answer costs: the item's cost times the price that the job expects its workers to charge. Any label earns
    `value`, so `value` does not affect when to stop. Where asking no longer pays and one label leads, that label is
    accepted. At a tie, or where asking does not pay even at the start, the item is given up. A limit on the answers is
    taken into account from the start.

    With K > 2 labels the prior is Dirichlet (section 3): how often workers choose each label is Dirichlet with a for
    the right one and b / (K - 1) for each other one. Each label is right with the same probability before any answer.

        P(k is right | v) ~ Gamma(a + v_k) / Gamma(b / (K - 1) + v_k);    stop where no way of going on saves its cost.

    All ways are computed up to 25 votes (up to 67 with three labels); with more, the two strongest labels decide.

    With two labels and the prior B(6, 2), the first answer is worth a quarter of the loss (Theorem 4.4), with three
    labels 3/4 - 1/3 of it:

    >>> Profit(value=100, loss=100).satisfied(Belief.of([[1, 0], [3, 0], [3, 1]]))
    array([False,  True, False])
    >>> [bool(Profit(value=9, loss=loss).not_worth_asking(Belief.of([0, 0]))[0]) for loss in (4, 5)]
    [True, False]
    >>> [bool(Profit(value=9, loss=loss).not_worth_asking(Belief.of([0, 0, 0]))[0]) for loss in (2.4, 2.5)]
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

    uses: ClassVar[Uses] = Uses.COST | Uses.PRICE

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(self._stopped(belief) & (self.winner(belief) != NOBODY))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.votes)

    def not_worth_asking(self, belief: Belief) -> Mask:
        return np.asarray(self._stopped(belief) & (self.winner(belief) == NOBODY))

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """From a table: the fewest votes with which a class is accepted against those of the others."""
        votes = lookahead.now.votes
        needed = np.empty_like(votes)
        for items, strategy in self._strategies(lookahead.now):
            needed[items] = strategy.shortfalls(votes[items])
        return needed

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        """The expectation of the strategy (Algorithm 5)."""
        expected = np.empty(len(lookahead.now.votes))
        for items, strategy in self._strategies(lookahead.now):
            expected[items] = strategy.answers_after(lookahead.now.votes[items])
        return expected

    def reason(self, belief: Belief, item: int) -> Reason:
        first, second = two_highest(belief.votes, item)
        right = float(chance_of_leader(Prior(*self.prior), belief.votes[item : item + 1])[0])
        counted = f"{votes_in_words(first, second)}, so the leading label is right with probability {right:.2f}"
        if self.satisfied(belief)[item]:
            return Reason("profit", f"{counted}; another answer would cost more than it is expected to save.")
        if self.not_worth_asking(belief)[item]:
            tie = f"{votes_in_words(first, second)}, so no label leads" if first else "The item has no answer"
            return Reason("does-not-pay", f"{tie}, and another answer would cost more than it is expected to save.")
        return Reason("profit-not-reached", f"{counted}; another answer is expected to save more than it costs.")

    def _stopped(self, belief: Belief) -> Mask:
        stopped = np.empty(len(belief.votes), dtype=bool)
        for items, strategy in self._strategies(belief):
            stopped[items] = strategy.stopped(belief.votes[items])
        return stopped

    def _strategies(self, belief: Belief) -> Iterator[tuple[Mask, Strategy | ManyLabelStrategy]]:
        """The items of each cost, with the strategy for them."""
        prior, labels = Prior(*self.prior), belief.votes.shape[1]
        expected = belief.context.expected_cost
        for cost in np.unique(expected).tolist():
            items = expected == cost
            if labels == _BINARY:
                yield items, best_strategy(prior, self.loss / cost, self.most_answers)
            else:
                yield items, many_label_strategy(prior, labels, self.loss / cost, self.most_answers)
