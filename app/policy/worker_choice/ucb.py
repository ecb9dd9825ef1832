"""Ask the worker with the highest upper confidence bound."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array, IntArray
from app.policy.core.lookahead import significant
from app.policy.core.policy import ONE_LABEL
from app.policy.core.prices import MIN_PRICE
from app.policy.core.randomness import scramble
from app.policy.worker_choice.base import CandidateWorkers, WorkerChoice, first_of_the_best

_NEW_WORKER = 2.0  # the index of a worker without scored answers; no index is higher


class UpperConfidence(WorkerChoice):
    """Ask the worker with the highest upper confidence bound per cost (Abraham et al., SIGIR 2016, section 7).

        index = t+ / t + 1 / sqrt(t),    score = max(2 index - 1, 0)^2 / price.

    t counts the worker's answers on items that have a final label, t+ those that agree with it. By default both leave
    out an answer without which its item would have another label or none: at 3:2 the two dissenters count as wrong, and
    the other three not at all. `own_votes` counts every answer, as the paper does. Where items end with a lead of two
    or more, as under the paper's stopping rule, both are the same. With 3, 5 and 7 labels per item the default made
    .036, .010 and .005 wrong labels, `own_votes` .040, .012 and .004 (`bench/own_votes.py`).

    A new worker has the index 2, the same as a worker with 1 of 1. Ties are broken at random, differently for every
    assignment: if an index never changes, because no other worker finishes an item, one worker must not get everything.

    >>> UpperConfidence().index(np.array([0.0, 1.0, 3.0, 0.0]), np.array([0.0, 1.0, 4.0, 1.0])).tolist()
    [2.0, 2.0, 1.25, 1.0]
    """

    kind: Literal["ucb"] = "ucb"
    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL
    compares_items: ClassVar[bool] = False
    own_votes: Annotated[
        bool,
        Field(
            description="Count also the answers without which their item would have another label: the paper's t+ / t. "
            "The test of `spammers` then counts them, too"
        ),
    ] = False

    @property
    def scores_own_votes(self) -> bool:
        return self.own_votes

    def index(self, agreed_answers: Array, scored_answers: Array) -> Array:
        """t+/t + 1/sqrt(t) with t+ = `agreed_answers`, t = `scored_answers`, shape (workers,)."""
        t = np.maximum(scored_answers, 1.0)
        return np.where(scored_answers > 0, agreed_answers / t + 1 / np.sqrt(t), _NEW_WORKER)

    def score(self, candidates: CandidateWorkers) -> Array:
        return self.ucb_score(candidates.agreed_answers, candidates.scored_answers, candidates.price)

    def ucb_score(self, agreed_answers: Array, scored_answers: Array, price: Array) -> Array:
        """The index as value per cost: max(2 index - 1, 0)^2 / price, shape (workers,).

        An answer of a worker who is right with probability p has information roughly in proportion to (2 p - 1)^2. At
        equal prices the order is the paper's, except that all workers below one half share the last place. A price of 0
        counts as 1e-9.

        >>> UpperConfidence().ucb_score(np.array([0.0, 3.0]), np.array([0.0, 4.0]), np.array([2.0, 0.5])).tolist()
        [4.5, 4.5]
        """
        index = self.index(agreed_answers, scored_answers)
        return np.asarray(np.maximum(2 * index - 1, 0.0) ** 2 / np.maximum(price, MIN_PRICE))

    def choose(self, agreed_answers: Array, scored_answers: Array, numbers: IntArray, seed: int, turn: int = 0) -> int:
        """The position of the worker to ask if all cost the same."""
        index = significant(self.index(agreed_answers, scored_answers))
        return first_of_the_best(index, scramble(seed, numbers, np.full_like(numbers, turn)))
