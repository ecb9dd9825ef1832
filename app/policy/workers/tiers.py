"""Workers come in tiers of known quality, and the better ones count more the longer an item stays open."""

from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from app.policy.belief import Array, Belief, Facts, State
from app.policy.text import Label
from app.policy.workers.base import WorkerModel, one_more_vote
from app.policy.workers.counted_votes import PriorWeight, prior_votes

_HEAVIEST = 1e6  # growth is exponential in the round; a vote this heavy decides anything


class Tier(BaseModel):
    """How much a vote of this tier weighs in an item's first round, and by what it is multiplied each round."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    initial: Annotated[float, Field(gt=0, le=1000, description="Weight of the first vote on an item")] = 1.0
    growth: Annotated[float, Field(gt=0, le=10, description="Factor per further vote on the item")] = 1.0


class Tiers(WorkerModel):
    """Reputation-dependent exponentiation (Abraham et al., SIGIR 2016, section 6).

        w = lambda_q gamma_q^(t - 1).

    t is the item's round: the vote is its t-th. A vote keeps the weight it had when it came, so the order of the
    answers matters to the weights where a growth is not 1, and never to the votes. The evidence is the weighted
    votes per class, then the sum of the squared weights; alpha is 1 + the weighted votes. A skill is the pair
    (lambda, gamma) of the worker's tier; a newcomer belongs to the first tier named.

    The third vote of a good worker, at 10 % a round:

    >>> model, facts = Tiers(), Facts.plain(1)
    >>> state = State(np.array([[2.0, 0.0]]), np.array([[2.0, 0.0, 2.0]]))
    >>> state, _ = model.learn(state, facts, model.skill_of("good")[None], np.array([1]))
    >>> state.evidence.round(4).tolist()
    [[2.0, 1.21, 3.4641]]
    """

    kind: Literal["tiers"] = "tiers"
    tiers: Annotated[
        dict[Label, Tier],
        Field(min_length=1, max_length=100, description="Tiers by name; newcomers belong to the first"),
    ] = {"average": Tier(), "good": Tier(growth=1.1), "bad": Tier(growth=0.9)}  # noqa: RUF012  pydantic copies it
    prior_weight: PriorWeight = 2.0

    def skill_of(self, tier: str) -> Array:
        """The skill of a worker of this tier, shape (2,)."""
        return np.array([self.tiers[tier].initial, self.tiers[tier].growth])

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  tiers do not tell classes apart
        return self.skill_of(next(iter(self.tiers)))

    def start(self, facts: Facts, classes: int) -> State:
        items = len(facts.cost)
        return State(np.zeros((items, classes)), np.zeros((items, classes + 1)))

    def read(self, state: State, facts: Facts) -> Belief:
        weights, squares = state.evidence[:, :-1], state.evidence[:, -1]
        return Belief(state.votes, weights, squares, weights + 1 + prior_votes(facts, self.prior_weight), facts)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  a weight is not an accuracy
        return np.asarray(belief.alpha / belief.alpha.sum(axis=1, keepdims=True))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:  # noqa: ARG002  votes are only weighed
        rounds_before = state.votes.sum(axis=1)
        weight = np.exp(np.minimum(np.log(skill[:, 0]) + rounds_before * np.log(skill[:, 1]), np.log(_HEAVIEST)))
        evidence = state.evidence.copy()
        evidence[np.arange(len(label)), label] += weight
        evidence[:, -1] += weight**2
        return State(one_more_vote(state.votes, label), evidence), skill
