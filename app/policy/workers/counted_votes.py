"""What models that only count votes have in common."""

from typing import Annotated

import numpy as np
from pydantic import Field

from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import WorkerModel

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
