"""Select the recorded answer that each run asks for next: by item, or by item and worker."""

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from app.policy.core.belief import IntArray, Mask
from app.policy.core.randomness import scramble
from app.policy.worker_choice.second_opinions import less_trusted
from app.simulation.group_maxima import NOWHERE, GroupMaxima, RowMaxima
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.recorded_runs import RecordedRuns

Order = Literal["random", "recorded"]
_AT_ONCE = 40_000  # pairs valued together: four million at once took gigabytes


class AnswerSelection(ABC):
    """Selects the next answer of all runs, which go in step with each other."""

    @abstractmethod
    def select(self) -> IntArray:
        """The position of the answer that each run asks for, shape (runs,); -1: nothing is left to ask."""

    @abstractmethod
    def update(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        """Note that these runs have taken their answers, and which of them were refitted after it."""


class ItemSelection(AnswerSelection):
    """Ask about the open item of highest priority; the next worker with an unused recorded answer on it answers.

    The order in which answers arrive, shape (runs, answers), is grouped by item. Low-information workers are skipped.
    When a refit includes them again, they take their old place in the order.
    """

    def __init__(self, runs: RecordedRuns, order: IntArray) -> None:
        self._runs, self._order = runs, order.copy()
        self._turn = np.argsort(order, axis=1)  # (runs, answers) the place of each answer in the order of arrival
        recorded = np.bincount(runs.crowd.item, minlength=runs.items)
        self._first = np.cumsum(recorded) - recorded  # (items,) where the answers on an item begin
        self._left = np.tile(recorded, runs.runs)  # (runs * items,)
        self._asked = np.zeros_like(self._left)
        tie_breaks = runs.engines[0].tie_breaks(runs.context.number).astype(np.uint64)
        shape = (runs.runs, runs.items)
        self._maxima = RowMaxima(self._values(np.arange(len(self._left))).reshape(shape), tie_breaks.reshape(shape))

    def select(self) -> IntArray:
        item, run = self._maxima.best(), np.arange(self._runs.runs)
        place = self._first[item] + self._asked[run * self._runs.items + item]
        return np.where(item == NOWHERE, NOWHERE, self._order[run, np.where(item == NOWHERE, 0, place)])

    def update(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        row = self._runs.item(run, answer)
        self._asked[row] += 1
        self._left[row] -= 1
        for each in refitted.tolist():
            self._reorder(each)
        rows = [row, *(np.arange(self._runs.items) + each * self._runs.items for each in refitted.tolist())]
        changed = np.concatenate(rows)
        self._maxima.change(*np.divmod(changed, self._runs.items), self._values(changed))

    def _reorder(self, run: int) -> None:
        """Order the answers on each item: used ones, then those to come, then those of low-information workers."""
        runs, crowd = self._runs, self._runs.crowd
        excluded = runs.low_information[run * runs.workers + crowd.worker]
        used = np.zeros(len(crowd.item), dtype=bool)
        used[runs.taken[run, : runs.given[run]]] = True
        self._order[run] = np.lexsort((self._turn[run], excluded, ~used, crowd.item))
        own = slice(run * runs.items, (run + 1) * runs.items)
        self._left[own] = np.bincount(crowd.item, ~(used | excluded), runs.items)

    def _values(self, row: IntArray) -> np.ndarray:
        return np.where(self._runs.open[row] & (self._left[row] > 0), self._runs.priority[row], -np.inf)


class PairSelection(AnswerSelection):
    """Ask for the recorded pair of item and worker that is worth most (Chen et al., ICML 2013, section 4).

    If the best items of several workers are worth the same, one worker is drawn at random for every answer. If several
    items are worth the same for a worker, the first in the queue is asked. Second opinions are drawn from less trusted
    workers. An answer changes the worth of the pairs of its item and of its worker only, so only those are valued
    again.
    """

    def __init__(self, runs: RecordedRuns) -> None:
        self._runs, self._choice = runs, runs.policy.worker_choice
        crowd, self._answers = runs.crowd, len(runs.crowd.label)
        self._free: Mask = np.ones(runs.runs * self._answers, dtype=bool)
        self._of_item = _RowsByGroup(crowd.item, runs.items)
        self._of_worker = _RowsByGroup(crowd.worker, runs.workers)
        self._number = crowd.numbers ^ np.arange(runs.runs)[:, None]  # (runs, workers)
        self._tie_breaks = runs.engines[0].tie_breaks(runs.context.number)  # (runs * items,)
        everything = np.arange(runs.runs * self._answers)
        self._maxima = GroupMaxima(
            self._values(everything).reshape(runs.runs, self._answers), crowd.worker, runs.workers
        )

    def select(self) -> IntArray:
        turn = self._runs.given + 1
        draws = scramble(self._runs.context.seed, self._number, np.broadcast_to(turn[:, None], self._number.shape))
        tied = self._maxima.tied(draws, instead=self._others(turn))
        return np.array([self._first(run, places) for run, places in enumerate(tied)])

    def update(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        self._free[run * self._answers + answer] = False
        again = set(refitted.tolist())
        touched = [
            each * self._answers + (np.arange(self._answers) if each in again else self._touched(each, one))
            for each, one in zip(run.tolist(), answer.tolist(), strict=True)
        ]
        changed = np.concatenate(touched)
        self._maxima.change(*np.divmod(changed, self._answers), self._values(changed))

    def _first(self, run: int, answers: IntArray) -> int:
        """The answer whose item is first in the queue of this run; -1: there is none."""
        if not len(answers):
            return NOWHERE
        row = self._runs.item(np.array([run]), answers)
        return int(answers[np.lexsort((self._tie_breaks[row], -self._runs.priority[row]))[0]])

    def _others(self, turn: IntArray) -> Mask | None:
        """The workers to ask for a second opinion, (runs, workers), in runs where this turn draws one; None: no run."""
        asking = np.flatnonzero(self._choice.wants_second_opinion(self._runs.policy.seed, turn, self._runs.items))
        if not len(asking):
            return None
        others = np.zeros(self._number.shape, dtype=bool)
        for run in asking.tolist():
            others[run] = less_trusted(self._maxima.top[run], self._runs.trust(run))
        return others

    def _touched(self, run: int, answer: int) -> IntArray:
        crowd = self._runs.crowd
        of_item = self._of_item.members(crowd.item[answer])
        if not self._runs.tells_workers_apart(run):
            return of_item
        return np.concatenate([of_item, self._of_worker.members(crowd.worker[answer])])

    def _values(self, pair: IntArray) -> np.ndarray:
        run, answer = np.divmod(pair, self._answers)
        values = np.full(len(pair), -np.inf)
        asked = np.flatnonzero(self._free[pair] & self._runs.open[self._runs.item(run, answer)])
        for some in (asked[begin : begin + _AT_ONCE] for begin in range(0, len(asked), _AT_ONCE)):
            values[some] = self._runs.worth(run[some], answer[some], self._choice)
        return values


class _RowsByGroup:
    """The rows that hold each number of a column."""

    def __init__(self, column: IntArray, groups: int) -> None:
        self._order = np.argsort(column, kind="stable")
        self._start = np.searchsorted(column[self._order], np.arange(groups + 1))

    def members(self, group: int) -> IntArray:
        return self._order[self._start[group] : self._start[group + 1]]


def order_of_arrival(crowd: RecordedAnswers, runs: int, order: Order) -> IntArray:
    """The positions of the answers, grouped by item, in the order in which they arrive; shape (runs, answers).

    >>> two = np.array([1, 0, 1])
    >>> crowd = RecordedAnswers(("a", "b"), ("v", "w", "x"), ("0", "1"), two, np.arange(3), two, np.array([0, 1]))
    >>> order_of_arrival(crowd, 1, "recorded").tolist()
    [[1, 0, 2]]
    """
    if order == "recorded":
        return np.tile(np.argsort(crowd.item, kind="stable"), (runs, 1))
    random = [np.random.default_rng(run).random(len(crowd.item)) for run in range(runs)]
    return np.stack([np.lexsort((each, crowd.item)) for each in random])
