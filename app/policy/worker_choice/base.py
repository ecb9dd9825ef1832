"""The interface of every worker choice: score the candidate workers, and the best one is asked."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.belief import ItemContext
from app.policy.core.lookahead import significant
from app.policy.core.policy import Policy
from app.policy.core.prices import MIN_PRICE
from app.policy.core.randomness import scramble
from app.policy.core.tuning import TUNED
from app.policy.worker_choice.second_opinions import less_trusted
from app.policy.worker_models.base import WorkerModel

SHORTLIST = TUNED.information.shortlist


@dataclass(frozen=True)
class CandidateWorkers:
    """The workers from whom one is chosen; row w of every array is worker w."""

    agreed_answers: Array  # (workers,) scored answers that agree with the final label
    scored_answers: Array  # (workers,) answers on items that have a final label
    price: Array  # (workers,) what an answer costs, in units of the item's cost
    number: IntArray  # (workers,) a number per worker from which random choices are drawn
    best: Array  # (workers,) value per cost of the best open item for this worker; -inf where there is none
    accuracy: Array  # (workers,) how often the worker model expects each to be right

    @classmethod
    def with_worth(
        cls,
        *,
        agreed_answers: Array,
        scored_answers: Array,
        price: Array,
        number: IntArray,
        worth: Array,
        accuracy: Array,
    ) -> "CandidateWorkers":
        """Workers with one item each, on which an answer has this worth per cost of the item, before their own price.

        >>> one, zero = np.ones(2), np.zeros(2)
        >>> records = {"agreed_answers": zero, "scored_answers": zero, "number": np.arange(2), "accuracy": one}
        >>> CandidateWorkers.with_worth(price=np.array([2.0, 0.5]), worth=one, **records).best
        array([0.5, 2. ])
        """
        best = worth / np.maximum(price, MIN_PRICE)
        return cls(agreed_answers, scored_answers, price, number, best=best, accuracy=accuracy)


class WorkerChoice(Policy, ABC):
    """Decides whom to ask. A new member writes `score`; everything else has a default that is safe to keep."""

    chooses: ClassVar[bool] = True  # the job can pick a worker itself; False: workers ask for work themselves
    compares_items: ClassVar[bool] = True  # `score` reads `best`; False saves finding the best item of each worker

    @abstractmethod
    def score(self, candidates: CandidateWorkers) -> Array:
        """A score per worker, shape (workers,); the worker with the highest one who can get an item is asked."""

    def choose_from(self, candidates: CandidateWorkers, seed: int, turn: int, items: int) -> int | None:
        """Return the position of the worker to ask, or None; ties are broken at random by seed and turn.

        `turn` is the number of the assignment in its job, `items` how many items the job has.
        """
        score = np.where(np.isneginf(candidates.best), -np.inf, significant(self.score(candidates)))
        if not score.size or np.isneginf(score.max()):
            return None
        tie_break = scramble(seed, candidates.number, np.full_like(candidates.number, turn))
        best = first_of_the_best(score, tie_break)
        if not self.wants_second_opinion(seed, np.array([turn]), items)[0]:
            return best
        affordable = np.where(candidates.price <= candidates.price[best], candidates.best, -np.inf)
        others = less_trusted(affordable, candidates.accuracy)
        return first_of_the_best(np.where(others, 0.0, -np.inf), tie_break)

    def assumed_skill(self, model: WorkerModel, skill: Array) -> Array:  # noqa: ARG002  most take workers as they are
        """The skills with which answers are valued when a worker is chosen, shape (workers, parameters)."""
        return skill

    def on_trial(self, context: ItemContext, answers: Array, paid_for: Array) -> Mask | None:  # noqa: ARG002  most have none
        """Which items are asked before all others, shape (items,), or None if there are no such items.

        `answers` are those that each item has, `paid_for` how many answers per item the whole budget buys.
        """
        return None

    @property
    def has_trial(self) -> bool:
        """Whether `on_trial` may name items, so that items with equal votes can differ in priority."""
        return type(self).on_trial is not WorkerChoice.on_trial

    def trial_share(self, paid_for: Array | float) -> Array | float:  # noqa: ARG002  most have no trial
        """The share of the items that are on trial, if the budget buys `paid_for` answers per item; inf: unlimited."""
        return 0.0

    def wants_second_opinion(self, seed: int, turn: IntArray, items: int) -> Mask:  # noqa: ARG002  most ask the best
        """For which assignments, by their numbers `turn`, a less trusted worker is asked instead of the best one."""
        return np.zeros(len(turn), dtype=bool)

    def low_information(self, information: Array, answers: Array | IntArray) -> Mask:  # noqa: ARG002  most exclude nobody
        """Which workers get no new work because their answers give too little information, shape (*, workers).

        `information` is their `relative_information`, `answers` how many answers each has given.
        """
        return np.zeros(information.shape, dtype=bool)

    @property
    def scores_own_votes(self) -> bool:
        """Whether a worker's record also has the votes without which their item would have another label, or none."""
        return False

    @property
    def marks_low_information(self) -> bool:
        """Whether `low_information` may name workers."""
        return type(self).low_information is not WorkerChoice.low_information


def first_of_the_best(value: Array, tie_break: npt.NDArray[np.uint64]) -> int:
    """The position of the highest value; among equals, of the smallest tie break.

    >>> first_of_the_best(np.array([1.0, 2.0, 2.0]), np.array([0, 9, 4], dtype=np.uint64))
    2
    """
    best = np.flatnonzero(value == value.max())
    return int(best[tie_break[best].argmin()])
