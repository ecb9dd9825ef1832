"""What every aggregation can say: from all answers, the belief about every item and every worker."""

from abc import ABC, abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from app.policy.aggregation.ballots import Ballots, Consensus
from app.policy.belief import Array, Belief
from app.policy.member import Member
from app.policy.shares import Index, sole_leader

MaxIterations = Annotated[int, Field(ge=1, le=10_000, description="Stop after so many rounds, converged or not")]


class Aggregation(Member, ABC):
    """How answers become labels."""

    @abstractmethod
    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        """Fit all answers at once.

        `worker_prior` holds right and wrong pseudo-answers of each worker from elsewhere, shape (workers, 2). Items
        with gold labels get certainty, and teach what their answers tell of the workers.
        """

    def labels(self, belief: Belief) -> Index:
        """The winning class of each item where only the votes are known, shape (items,), or -1.

        Nothing then tells one worker from another, so the class with the most votes wins, in every member. A tie, and
        an item without votes, has no label: ties are not broken by chance.

        >>> from app.policy.aggregation import Majority
        >>> Majority().labels(Belief.of([[2, 1], [1, 1], [0, 0]]))
        array([ 0, -1, -1])
        """
        return sole_leader(belief.votes)


def pseudo_answers(ballots: Ballots, worker_prior: Array | None) -> Array:
    """The workers' prior as right and wrong pseudo-answers, shape (workers, 2); none where none is given."""
    if worker_prior is None:
        return np.zeros((ballots.workers, 2))
    if worker_prior.shape != (ballots.workers, 2) or (worker_prior < 0).any():
        raise ValueError("worker_prior must hold two counts, right and wrong, per worker")
    return worker_prior
