"""Count votes, but not those of workers whose answers look like guesses."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.core.policy import ONE_LABEL
from app.policy.quality.guess_tests import GUESS_TESTS, GuessTestName, refuse_test_too_early
from app.policy.worker_models.inference.counted_votes import CountedVotes
from app.policy.worker_models.inference.dirichlet_skills import interval_of_mean


class SpamFilter(CountedVotes):
    """Count votes, but not those of workers who cannot be distinguished from guessing (Li et al., WSDM 2016, 3.2).

        spammer if  n >= min_labels  and  p >= alpha,
        exact:      p = min(1, 2 P(X <= agreed), 2 P(X >= agreed)),    X ~ Bin(n, 1 / K),
        interval:   p >= alpha where Wilson's interval of the accuracy at confidence 1 - alpha contains 1 / K.

    A skill is (agreements, labels on finished items). From `min_labels` on, a worker for whom the two-sided test does
    not reject 1 / K, with K labels, at level `alpha` counts as a spammer: later votes of this worker are not counted,
    earlier ones stay. In the paper's sense a worker who is nearly always wrong is no spammer. Skill
    changes when items finish (`score`), not at the vote.

    >>> model, skill = SpamFilter(alpha=0.1, min_labels=20), np.array([[10.0, 19.0], [14.0, 20.0], [15.0, 20.0]])
    >>> model.is_spammer(skill, classes=2).tolist()
    [False, True, False]
    """

    kind: Literal["spam-filter"] = "spam-filter"
    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL
    treats_labels_alike: ClassVar[bool] = True
    test: GuessTestName = "exact"
    alpha: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="Level at which a worker must differ from guessing; higher values flag fewer",
        ),
    ] = 0.1
    min_labels: Annotated[
        int,
        Field(ge=1, le=10_000, description="Answers on finished items that a worker must have given before the test"),
    ] = 20

    @model_validator(mode="after")
    def _perfect_workers_pass(self) -> "SpamFilter":
        refuse_test_too_early(self.test, self.min_labels, self.alpha)
        return self

    def newcomer(self, classes: int) -> Array:  # noqa: ARG002  agreement alone counts
        return np.zeros(2)

    def chances(self, belief: Belief, skill: Array) -> Array:
        shares = belief.alpha / belief.alpha.sum(axis=1, keepdims=True)
        return np.asarray(np.where(self.is_spammer(skill, shares.shape[1])[:, None], 1 / shares.shape[1], shares))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:  # noqa: ARG002  a count
        counted, left_out = one_more_vote(state.votes, label), self.is_spammer(skill, state.votes.shape[1])
        return State(np.where(left_out[:, None], state.votes, counted), state.model_state), skill

    def score(self, skill: Array, agreed: Mask) -> Array:
        return skill + np.stack([agreed.astype(np.float64), np.ones(len(skill))], axis=1)

    def is_spammer(self, skill: Array, classes: int) -> Mask:
        """Which workers were tested and do not differ from guessing, shape (workers,)."""
        agreed, labels = skill.T
        guesses = GUESS_TESTS[self.test].guesses(agreed, labels, classes, self.alpha)
        return np.asarray((labels >= self.min_labels) & guesses)

    def stated_skill(self, accuracy: float, weight: float, classes: int) -> Array:  # noqa: ARG002  agreement alone counts
        """As after `weight` labels on finished items: the test holds for what is stated too."""
        return np.array([accuracy * weight, weight])

    def accuracy(self, skill: Array) -> Array:
        """The share of agreement with final labels, with one agreement and one disagreement added."""
        return np.asarray((skill[:, 0] + 1) / (skill[:, 1] + 2))

    def interval(self, skill: Array) -> Array:
        """The interval of Beta(agreed + 1, disagreed + 1), whose mean is the accuracy."""
        return interval_of_mean(skill[:, :1] + 1, skill[:, 1:] - skill[:, :1] + 1)
