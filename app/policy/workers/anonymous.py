"""One worker is as good as another: votes are only counted."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import one_more_vote
from app.policy.workers.counted_votes import CountedVotes


class Anonymous(CountedVotes):
    """Every vote counts the same, whoever gives it (Chen et al., ICML 2013, section 2).

        shares ~ Dirichlet(1 + v),    P(class c is the true one) = P(share c is the largest).

    An item's votes v under a uniform prior leave Dirichlet(v + 1) over the shares of the classes in an endless
    crowd; the true class is the one with the largest share. An item's own prior p adds `prior_weight` votes, split
    as p says.

    >>> model, facts = Anonymous(), Facts.plain(1)
    >>> model.read(State(np.array([[4.0, 1.0]]), np.empty((1, 0))), facts).posterior.round(4).tolist()
    [[0.8906, 0.1094]]
    """

    kind: Literal["anonymous"] = "anonymous"
    tells_workers_apart: ClassVar[bool] = False

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  nothing is known of anybody
        return np.empty(0)

    def chances(self, belief: Belief, skill: Array) -> Array:  # noqa: ARG002  whoever answers
        return np.asarray(belief.alpha / belief.alpha.sum(axis=1, keepdims=True))

    def learn(
        self,
        state: State,
        facts: Facts,  # noqa: ARG002  votes are only counted
        skill: Array,
        label: npt.NDArray[np.intp],
    ) -> tuple[State, Array]:
        return State(one_more_vote(state.votes, label), state.evidence), skill
