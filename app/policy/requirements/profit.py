"""Stop when another answer would cost more than it is expected to save."""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import NOBODY, Belief, sole_leader
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.core.prices import MIN_PRICE
from app.policy.planning.cost_sensitive import Prior, Strategy, best_strategy
from app.policy.planning.expert_strategy import ExpertStrategy, expert_strategy
from app.policy.planning.many_labels import ManyLabelStrategy, chance_of_leader, many_label_strategy
from app.policy.planning.stopping_policy import Expert
from app.policy.requirements.base import Requirement
from app.policy.requirements.on_counts import two_highest, votes_in_words

MOST_MONEY = 1e9
_BINARY = 2  # two labels need a smaller table
Shape = Annotated[float, Field(ge=1e-6, le=1000, allow_inf_nan=False)]


class LastExpert(BaseModel):
    """An expert whom the job asks where the crowd leaves too much doubt."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    price: Annotated[
        float,
        Field(
            gt=0,
            le=MOST_MONEY,
            description="The `price` with which the expert is registered: an answer costs this times the item's cost",
            examples=[16],
        ),
    ]
    accuracy: Annotated[float, Field(gt=0.5, le=1, description="How often the expert is right")] = 1.0


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

    With `expert`, the crowd comes first, and a trusted worker settles what stays in doubt (section 6.2). An item is
    given up for a trusted worker, with the reason `crowd-cannot-reach`, where the expert's answer saves more than it
    costs, and more than going on with the crowd:

        (e - A_R(m, l)) L - price > max(0, profit of the crowd's next answers),    e how often the expert is right.

    Trusted workers of such a job get no other items. The two strongest labels decide, after 100 answers at the latest.

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

    expert: Annotated[
        LastExpert | None,
        Field(
            description="Who is asked where the crowd leaves doubt: register such workers as `trusted`; null: nobody"
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
        return np.asarray(self._stopped(belief) & (self.winner(belief) != NOBODY) & ~self._referred(belief))

    def winner(self, belief: Belief) -> Index:
        return sole_leader(belief.votes)

    def not_worth_asking(self, belief: Belief) -> Mask:
        lost = self._stopped(belief) & (self.winner(belief) == NOBODY)
        return np.asarray(lost | self._referred(belief))

    @property
    def refers_doubt(self) -> bool:
        return self.expert is not None

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
        if self._referred(belief)[item]:
            message = f"{counted}; the answer of an expert is expected to save more than it costs."
            return Reason("crowd-cannot-reach", message)
        if self.not_worth_asking(belief)[item]:
            tie = f"{votes_in_words(first, second)}, so no label leads" if first else "The item has no answer"
            return Reason("does-not-pay", f"{tie}, and another answer would cost more than it is expected to save.")
        return Reason("profit-not-reached", f"{counted}; another answer is expected to save more than it costs.")

    def _stopped(self, belief: Belief) -> Mask:
        stopped = np.empty(len(belief.votes), dtype=bool)
        for items, strategy in self._strategies(belief):
            stopped[items] = strategy.stopped(belief.votes[items])
        return stopped

    def _referred(self, belief: Belief) -> Mask:
        """Where the expert is asked next."""
        referred = np.zeros(len(belief.votes), dtype=bool)
        for items, strategy in self._strategies(belief):
            if isinstance(strategy, ExpertStrategy):
                referred[items] = strategy.refers(belief.votes[items])
        return referred

    def _strategies(self, belief: Belief) -> Iterator[tuple[Mask, Strategy | ManyLabelStrategy | ExpertStrategy]]:
        """The items of each cost, with the strategy for them."""
        prior, labels = Prior(*self.prior), belief.votes.shape[1]
        expected = belief.context.expected_cost
        for cost in np.unique(expected).tolist():
            items = expected == cost
            if self.expert is not None:
                price = self.expert.price / max(belief.context.price, MIN_PRICE)  # in answers of the crowd
                expert = Expert(price, self.expert.accuracy)
                yield items, expert_strategy(prior, self.loss / cost, expert, self.most_answers)
            elif labels == _BINARY:
                yield items, best_strategy(prior, self.loss / cost, self.most_answers)
            else:
                yield items, many_label_strategy(prior, labels, self.loss / cost, self.most_answers)
