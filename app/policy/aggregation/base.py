"""The interface of every aggregation: all answers in, a belief about every item and worker out."""

from abc import ABC, abstractmethod
from typing import Annotated

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, Consensus
from app.policy.core.belief import Belief, sole_leader
from app.policy.core.policy import Policy

MaxIterations = Annotated[int, Field(ge=1, le=10_000, description="Stop after this many iterations, converged or not")]


class Aggregation(Policy, ABC):
    """Turns answers into labels. A new member writes `fit`."""

    @abstractmethod
    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        """Fit all answers at once.

        `worker_prior` holds right and wrong pseudo-answers of each worker from elsewhere, shape (workers, 2). Items
        with gold labels are certain, and their answers show how good the workers are.
        """

    def labels(self, belief: Belief) -> Index:
        """The winning class of each item by its votes alone, shape (items,), or -1.

        Without names all workers are alike, so the class with the most votes wins in every aggregation. Tied items and
        items without votes have no label: ties are not broken at random.

        >>> from app.policy.aggregation import Majority
        >>> Majority().labels(Belief.of([[2, 1], [1, 1], [0, 0]]))
        array([ 0, -1, -1])
        """
        return sole_leader(belief.votes)


def pseudo_answers(ballots: Ballots, worker_prior: Array | None) -> Array:
    """The workers' prior as right and wrong pseudo-answers, shape (workers, 2); 0 if there is none."""
    if worker_prior is None:
        return np.zeros((ballots.workers, 2))
    if worker_prior.shape != (ballots.workers, 2) or (worker_prior < 0).any():
        raise ValueError("worker_prior must have two counts, right and wrong answers, for each worker")
    return worker_prior
