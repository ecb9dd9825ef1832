"""What models that only count votes have in common."""

from typing import Annotated

import numpy as np
from pydantic import Field

from app.policy.aggregation.ballots import UNKNOWN
from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import WorkerModel

_CERTAIN = 1e15  # votes for a known truth: who errs on it has erred in full, even if right 9,999 times in 10,000

PriorWeight = Annotated[
    float, Field(ge=0, le=1000, description="How many votes an item's own prior is worth, where it has one")
]


class CountedVotes(WorkerModel):
    """Votes v under a uniform prior leave Dirichlet(v + 1) over the classes' shares; an item's own prior adds to it."""

    prior_weight: PriorWeight = 2.0

    def start(self, facts: Facts, classes: int) -> State:
        items = len(facts.cost)
        return State(np.zeros((items, classes)), np.empty((items, 0)))

    def read(self, state: State, facts: Facts) -> Belief:
        votes = state.votes
        alpha = votes + 1 + prior_votes(facts, self.prior_weight)
        return Belief(votes, votes, votes.sum(axis=1), alpha, facts)


def prior_votes(facts: Facts, weight: float) -> Array | float:
    """An item's own prior as votes, shape (items, classes); nothing where there is none."""
    return 0.0 if facts.prior is None else np.nan_to_num(facts.prior) * weight


def first_parameters(facts: Facts, classes: int, weight: float) -> Array:
    """The Dirichlet before any answer, shape (items, classes): one vote per class, the prior's, and certainty of gold.

    >>> first_parameters(Facts.plain(1), 2, weight=2.0).tolist()
    [[1.0, 1.0]]
    """
    alpha = np.ones((len(facts.cost), classes)) + prior_votes(facts, weight)
    if facts.gold is None:
        return np.asarray(alpha)
    known = (facts.gold[:, None] == np.arange(classes)) & (facts.gold != UNKNOWN)[:, None]
    return np.asarray(alpha + _CERTAIN * known)
