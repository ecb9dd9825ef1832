"""The base of worker models that count votes, and what a prior and gold are worth in votes."""

from typing import Annotated, ClassVar

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
PseudoVotes = Annotated[
    float,
    Field(
        ge=0.05,
        le=1000,
        description="How many extra votes each label has before the first answer: 1 is a uniform prior of the labels' "
        "shares, 0.5 Jeffreys' prior",
    ),
]


class DirichletShares(WorkerModel):
    """Models in which votes show the classes' shares in an infinite crowd: Dirichlet, `pseudo_votes` at the start."""

    # A prior makes every label different: a decision with 50 labels takes about 20 ms, with 200 labels 250 ms.
    most_labels_with_priors: ClassVar[int] = 50
    prior_weight: PriorWeight = 2.0
    pseudo_votes: PseudoVotes = 1.0

    def parameters(self, votes: Array, context: ItemContext) -> Array:
        """The Dirichlet parameters after these votes, (items, classes); an item's own prior adds to them."""
        return np.asarray(votes + self.pseudo_votes + self._prior_votes(context))

    def weights(self, alpha: Array, context: ItemContext) -> Array:
        """What these parameters have gained, at least 0: the inverse of `parameters`."""
        return np.maximum(alpha - self.pseudo_votes - self._prior_votes(context), 0.0)

    def first_parameters(self, context: ItemContext, classes: int) -> Array:
        """The parameters before any answer, shape (items, classes): those of no votes, and gold.

        >>> from app.policy.worker_models import OneCoin
        >>> OneCoin(pseudo_votes=0.5).first_parameters(ItemContext.plain(1), 2).tolist()  # Jeffreys' prior
        [[0.5, 0.5]]
        """
        alpha = self.parameters(np.zeros((len(context.cost), classes)), context)
        if context.gold is None:
            return alpha
        known = (context.gold[:, None] == np.arange(classes)) & (context.gold != UNKNOWN)[:, None]
        return np.asarray(alpha + _CERTAIN * known)

    def _prior_votes(self, context: ItemContext) -> Array | float:
        """An item's own prior as votes, shape (items, classes); 0 where there is none."""
        return 0.0 if context.prior is None else np.nan_to_num(context.prior) * self.prior_weight


class CountedVotes(DirichletShares):
    """Models that count votes: v votes of a class add v to its Dirichlet parameter, as an item's prior does.

    Complete as it is; a model overrides what it does differently.
    """

    def read(self, state: State, context: ItemContext) -> Belief:
        votes = state.votes
        return Belief(votes, votes, votes.sum(axis=1), self.parameters(votes, context), context)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  all workers alike
        return np.asarray(belief.alpha / belief.alpha.sum(axis=1, keepdims=True))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:  # noqa: ARG002  a count
        return State(one_more_vote(state.votes, label), state.model_state), skill

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:
        """Each answer counts as the first one does."""
        counted = self.after_answer(state, context, skill, label).votes - state.votes
        further = np.arange(1, times + 1)[:, None, None]
        votes = (state.votes + further * counted).reshape(-1, counted.shape[1])
        return State(votes, np.empty((len(votes), 0)))
