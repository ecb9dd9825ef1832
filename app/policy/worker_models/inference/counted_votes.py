"""The base of worker models that count votes, and what a prior and gold are worth in votes."""

from typing import Annotated

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.worker_models.base import WorkerModel

_CERTAIN = 1e15  # votes for a known class: more than any worker's answer, however accurate, can outweigh

PriorWeight = Annotated[
    float, Field(ge=0, le=1000, description="How many votes an item's own prior is worth, if it has one")
]


class CountedVotes(WorkerModel):
    """Models that count votes: v votes give Dirichlet(v + 1) over the classes' shares; an item's prior adds to it.

    Complete as it is; a model overrides what it does differently.
    """

    prior_weight: PriorWeight = 2.0

    def read(self, state: State, context: ItemContext) -> Belief:
        votes = state.votes
        alpha = votes + 1 + prior_votes(context, self.prior_weight)
        return Belief(votes, votes, votes.sum(axis=1), alpha, context)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  all workers alike
        return np.asarray(belief.alpha / belief.alpha.sum(axis=1, keepdims=True))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:  # noqa: ARG002  a count
        return State(one_more_vote(state.votes, label), state.model_state), skill


def prior_votes(context: ItemContext, weight: float) -> Array | float:
    """An item's own prior as votes, shape (items, classes); 0 where there is none."""
    return 0.0 if context.prior is None else np.nan_to_num(context.prior) * weight


def first_parameters(context: ItemContext, classes: int, weight: float) -> Array:
    """The Dirichlet parameters before any answer, shape (items, classes): uniform, plus the prior, plus gold.

    >>> first_parameters(ItemContext.plain(1), 2, weight=2.0).tolist()
    [[1.0, 1.0]]
    """
    alpha = np.ones((len(context.cost), classes)) + prior_votes(context, weight)
    if context.gold is None:
        return np.asarray(alpha)
    known = (context.gold[:, None] == np.arange(classes)) & (context.gold != UNKNOWN)[:, None]
    return np.asarray(alpha + _CERTAIN * known)
