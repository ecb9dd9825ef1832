"""Votes are only counted, but not those of workers who cannot be told from a coin."""

from typing import Annotated, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from app.policy.belief import Array, Belief, Facts, Mask, State
from app.policy.spammers import chance_of_guessing, refuse_test_too_early
from app.policy.workers.base import one_more_vote
from app.policy.workers.counted_votes import CountedVotes
from app.policy.workers.skill_rows import interval_of_mean


class SpamFilter(CountedVotes):
    """Leave out workers whose agreement with finished items does not differ from a coin's (Li et al., WSDM 2016, 3.2).

        spammer if  2 P(Bin(n, 1/2) <= min(agreed, n - agreed)) >= alpha  and  n >= min_labels.

    A skill is (agreements, labels on finished items). From `min_labels` on, a worker for whom the exact two-sided
    binomial test does not reject 1/2 at level `alpha` is taken for a spammer: from then on the votes of this worker
    are not counted, while what was counted before stays. In the paper's sense a worker who is nearly always wrong is
    no spammer. Skill changes when items finish (`score`), not at the vote.

    >>> model = SpamFilter(alpha=0.1, min_labels=20)
    >>> model.is_spammer(np.array([[10.0, 19.0], [14.0, 20.0], [15.0, 20.0]])).tolist()
    [False, True, False]
    """

    kind: Literal["spam-filter"] = "spam-filter"
    scores_finished_items: ClassVar[bool] = True
    alpha: Annotated[float, Field(gt=0, lt=1, description="Level at which a worker must differ from a coin")] = 0.1
    min_labels: Annotated[
        int, Field(ge=1, le=10_000, description="Labels on finished items before a worker is tested")
    ] = 20

    @model_validator(mode="after")
    def _perfect_workers_pass(self) -> "SpamFilter":
        refuse_test_too_early(self.min_labels, self.alpha)
        return self

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  agreement is agreement
        return np.zeros(2)

    def chances(self, belief: Belief, skill: Array) -> Array:
        shares = belief.alpha / belief.alpha.sum(axis=1, keepdims=True)
        return np.asarray(np.where(self.is_spammer(skill)[:, None], 1 / shares.shape[1], shares))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:  # noqa: ARG002  votes are only counted
        counted = one_more_vote(state.votes, label)
        return State(np.where(self.is_spammer(skill)[:, None], state.votes, counted), state.evidence), skill

    def score(self, skill: Array, agreed: Mask) -> Array:
        return skill + np.stack([agreed.astype(np.float64), np.ones(len(skill))], axis=1)

    def is_spammer(self, skill: Array) -> Mask:
        """Which workers cannot be told from a coin although they have been tested, shape (workers,)."""
        return np.asarray((skill[:, 1] >= self.min_labels) & (chance_of_a_coin(skill) >= self.alpha))

    def accuracy(self, skill: Array) -> Array:
        """The agreement with finished items, one of each kind added."""
        return np.asarray((skill[:, 0] + 1) / (skill[:, 1] + 2))

    def interval(self, skill: Array) -> Array:
        """Of Beta(agreed + 1, disagreed + 1), whose mean that accuracy is."""
        return interval_of_mean(skill[:, :1] + 1, skill[:, 1:] - skill[:, :1] + 1)


def chance_of_a_coin(skill: Array) -> Array:
    """The p-value of the exact two-sided binomial test against 1/2; skill is (agreements, labels), shape (workers, 2).

    The null is symmetric, so with k the rarer outcome of n it is min(1, 2 P(Bin(n, 1/2) <= k)).

    >>> chance_of_a_coin(np.array([[8.0, 10.0], [5.0, 10.0], [0.0, 0.0]])).round(6).tolist()
    [0.109375, 1.0, 1.0]
    """
    return chance_of_guessing(skill[:, 0], skill[:, 1], classes=2)
