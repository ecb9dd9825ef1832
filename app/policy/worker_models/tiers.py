"""Workers in tiers of known quality, whose votes gain or lose weight the longer an item stays open."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from app.policy.core.arrays import Array, Index
from app.policy.core.belief import Belief, ItemContext, State
from app.policy.core.policy import without_doctests
from app.policy.core.text import Label
from app.policy.worker_models.inference.counted_votes import DirichletShares

_MAX_WEIGHT = 1e6  # growth is exponential in the round; a vote of this weight decides every item


class Tier(BaseModel):
    """The weight of votes of one tier: `initial` for the first vote on an item, times `growth` for every later vote."""

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    initial: Annotated[float, Field(gt=0, le=1000, description="Weight of a vote that is the first on its item")] = 1.0
    growth: Annotated[
        float, Field(gt=0, le=10, description="Factor on the weight for every vote that the item already has")
    ] = 1.0


class Tiers(DirichletShares):
    """Weigh votes by the worker's tier and the item's round (Abraham et al., SIGIR 2016, section 6).

        w = lambda_q gamma_q^(t - 1).

    t is the item's round: the vote is its t-th. The paper calls this reputation-dependent exponentiation. A vote keeps
    the weight that it had when it was given. So the order of the answers matters to the weights where a growth is not
    1, and never to the votes. The state is the weighted votes per class, then the sum of the squared weights; the
    shares are Dirichlet(extra votes + weighted votes). A skill is the pair (lambda, gamma) of the worker's tier; a new
    worker belongs to the first tier.

    A good worker gives the third vote, and the weight grows by 10 % per round:

    >>> model, context = Tiers(), ItemContext.plain(1)
    >>> state = State(np.array([[2.0, 0.0]]), np.array([[2.0, 0.0, 2.0]]))
    >>> state, _ = model.learn(state, context, model.skill_of("good")[None], np.array([1]))
    >>> state.model_state.round(4).tolist()
    [[2.0, 1.21, 3.4641]]
    """

    kind: Literal["tiers"] = "tiers"
    treats_labels_alike: ClassVar[bool] = True
    tiers: Annotated[
        dict[Label, Tier],
        Field(min_length=1, max_length=100, description="Tiers by name; a worker without a tier belongs to the first"),
    ] = {"average": Tier(), "good": Tier(growth=1.1), "bad": Tier(growth=0.9)}  # noqa: RUF012  pydantic copies it

    @property
    def tier_names(self) -> Sequence[str]:
        return list(self.tiers)

    def skill_of(self, tier: str) -> Array:
        return np.array([self.tiers[tier].initial, self.tiers[tier].growth])

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  the same for all classes
        return self.skill_of(next(iter(self.tiers)))

    def start(self, context: ItemContext, classes: int) -> State:
        items = len(context.cost)
        return State(np.zeros((items, classes)), np.zeros((items, classes + 1)))

    def read(self, state: State, context: ItemContext) -> Belief:
        weights, squares = state.model_state[:, :-1], state.model_state[:, -1]
        return Belief(state.votes, weights, squares, self.parameters(weights, context), context)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  a weight is not an accuracy
        return np.asarray(belief.alpha / belief.alpha.sum(axis=1, keepdims=True))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        return self.after_answers(state, context, skill, label, times=1), skill

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:  # noqa: ARG002  weights
        """Each answer weighs `growth` times as much as the one before."""
        rounds_before = state.votes.sum(axis=1) + np.arange(times)[:, None]
        weight = np.exp(np.minimum(np.log(skill[:, 0]) + rounds_before * np.log(skill[:, 1]), np.log(_MAX_WEIGHT)))
        each = np.arange(len(label))
        votes, model_state = (np.repeat(kept[None], times, axis=0) for kept in (state.votes, state.model_state))
        votes[:, each, label] += np.arange(1, times + 1)[:, None]
        model_state[:, each, label] += weight.cumsum(axis=0)
        model_state[:, :, -1] += (weight**2).cumsum(axis=0)
        return State(votes.reshape(-1, votes.shape[2]), model_state.reshape(-1, model_state.shape[2]))
