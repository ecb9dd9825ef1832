"""Whom to ask: whoever comes, the worker with the best record, or the best pair of item and worker."""

from abc import ABC
from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.belief import Array, Facts, IntArray, Mask, State
from app.policy.chance import scramble
from app.policy.member import Member
from app.policy.prospect import Prospect
from app.policy.rounding import significant
from app.policy.workers.base import WorkerModel

_NEW = 2.0  # the index of a worker of whom nothing is known; no index is higher


@dataclass(frozen=True)
class Candidates:
    """Items that could be asked about; row i of every array is item i."""

    state: State
    facts: Facts


@dataclass(frozen=True)
class Available:
    """Workers who could be asked; row w of every array is worker w."""

    skill: Array  # (workers, parameters)
    price: Array  # (workers,) what an answer of this worker costs, in units of the item's cost
    number: IntArray  # (workers,) position in the job: what chance hangs on


@dataclass(frozen=True)
class Chosen:
    """A pair of item and worker, and what every pair was worth; a pair that may not be asked is -inf."""

    item: int
    worker: int
    value: Array  # (items, workers) priority: value per cost


class WorkerChoice(Member, ABC):
    """Whom to ask."""


class Pull(WorkerChoice):
    """Nobody is chosen: the worker who comes gets the item with the highest priority."""

    kind: Literal["pull"] = "pull"


class UpperConfidence(WorkerChoice):
    """The worker with the highest index t+/t + 1/sqrt(t) (Abraham et al., SIGIR 2016, section 7).

    t counts the worker's answers on items already decided, t+ those that agree with the decision. A new worker has
    the index 2, which a worker with 1 of 1 shares; ties are drawn by the job's seed, anew with every t.

    >>> UpperConfidence().index(np.array([0.0, 1.0, 3.0, 0.0]), np.array([0.0, 1.0, 4.0, 1.0])).tolist()
    [2.0, 2.0, 1.25, 1.0]
    """

    kind: Literal["ucb"] = "ucb"

    def index(self, agreed: Array, decided: Array) -> Array:
        """t+/t + 1/sqrt(t) with t+ = `agreed`, t = `decided`, shape (workers,)."""
        t = np.maximum(decided, 1.0)
        return np.where(decided > 0, agreed / t + 1 / np.sqrt(t), _NEW)

    def choose(self, agreed: Array, decided: Array, numbers: IntArray, seed: int) -> int:
        """The position of the worker to ask."""
        index = significant(self.index(agreed, decided))
        return int(_drawn_from_the_best(index, scramble(seed, numbers, decided.astype(np.int64))))


class Pair(WorkerChoice):
    """The pair of item and worker with the highest value per cost (Chen et al., ICML 2013, section 4).

    The value is the allocation's, after an answer of a worker with that skill; the cost is the item's times the
    worker's price. All pairs are valued in one pass.

    >>> from app.policy.allocation import OptimisticKnowledgeGradient
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import OneCoin
    >>> model, facts = OneCoin(), Facts.plain(1)
    >>> workers = Available(np.array([[5.0, 5.0], [9.0, 1.0], [8.0, 2.0]]), np.array([1.0, 10.0, 1.0]), np.arange(3))
    >>> appraise = Appraisal(model, OptimisticKnowledgeGradient(), Circumstances(Ratio()))
    >>> Pair().choose(appraise, Candidates(model.start(facts, 2), facts), workers).worker
    2
    """

    kind: Literal["pair"] = "pair"

    def choose(
        self, appraisal: "Appraisal", candidates: Candidates, workers: Available, allowed: Mask | None = None
    ) -> Chosen | None:
        """The best pair that is allowed, where `allowed` is (items, workers); None where no pair is."""
        grid = significant(appraisal.grid(candidates, workers))
        if allowed is not None:
            grid = np.where(allowed, grid, -np.inf)
        if not grid.size or np.isneginf(grid.max()):
            return None
        items, crowd = grid.shape
        numbers = np.repeat(candidates.facts.number, crowd), np.tile(workers.number, items)
        best = _drawn_from_the_best(grid.ravel(), scramble(candidates.facts.seed, *numbers))
        item, worker = divmod(int(best), crowd)
        return Chosen(item, worker, grid)


@dataclass(frozen=True)
class Appraisal:
    """How pairs of items and workers are valued."""

    model: WorkerModel
    allocation: Allocation
    circumstances: Circumstances

    def grid(self, candidates: Candidates, workers: Available) -> Array:
        """What an answer of each worker on each item is worth per cost, shape (items, workers)."""
        state, facts = candidates.state, candidates.facts
        items, crowd = len(state.votes), len(workers.price)
        each = facts.rows(np.repeat(np.arange(items), crowd))
        every_pair = replace(each, cost=np.outer(facts.cost, workers.price).ravel())
        repeated = State(np.repeat(state.votes, crowd, axis=0), np.repeat(state.evidence, crowd, axis=0))
        prospect = Prospect.of(self.model, repeated, every_pair, np.tile(workers.skill, (items, 1)))
        return self.allocation.priority(prospect, self.circumstances).reshape(items, crowd)


def _drawn_from_the_best(value: Array, lot: npt.NDArray[np.uint64]) -> np.intp:
    """The position of the highest value; among equals, of the smallest lot."""
    best = np.flatnonzero(value == value.max())
    return np.intp(best[lot[best].argmin()])


AnyWorkerChoice = Annotated[Pull | UpperConfidence | Pair, Field(discriminator="kind")]
