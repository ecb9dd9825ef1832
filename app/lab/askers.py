"""Which recorded answer each run asks for next: by item, whoever comes, or by item and worker."""

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np

from app.lab.leaders import NOWHERE, Leaders, Tops
from app.lab.recorded import Recorded
from app.lab.runs import Runs
from app.policy.belief import IntArray, Mask
from app.policy.chance import scramble
from app.policy.worker_choice import less_trusted

Order = Literal["random", "recorded"]
_AT_ONCE = 40_000  # pairs that are valued together: four million at once took gigabytes


class Asker(ABC):
    """The questions of all runs, in step with each other."""

    @abstractmethod
    def next(self) -> IntArray:
        """The answer that each run asks for, shape (runs,); -1 where nothing is left to ask for."""

    @abstractmethod
    def taken(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        """These runs have had their answers, and some were fitted anew after it."""


class ByItem(Asker):
    """The open item of highest priority, and whoever comes by of those whose answer is recorded and not used yet.

    The order in which the answers on an item come, shape (runs, answers), is grouped by item. Who is turned away comes
    again when that is over, and is the first to be asked then who came first.
    """

    def __init__(self, runs: Runs, order: IntArray) -> None:
        self._runs, self._order = runs, order.copy()
        self._turn = np.argsort(order, axis=1)  # (runs, answers) the place of each answer in the order of arrival
        recorded = np.bincount(runs.crowd.item, minlength=runs.items)
        self._first = np.cumsum(recorded) - recorded  # (items,) where the answers on an item begin
        self._left = np.tile(recorded, runs.runs)  # (runs * items,)
        self._asked = np.zeros_like(self._left)
        lot = runs.engines[0].tie_breaks(runs.facts.number).astype(np.uint64)
        shape = (runs.runs, runs.items)
        self._leaders = Leaders(self._values(np.arange(len(self._left))).reshape(shape), lot.reshape(shape))

    def next(self) -> IntArray:
        item, run = self._leaders.best(), np.arange(self._runs.runs)
        place = self._first[item] + self._asked[run * self._runs.items + item]
        return np.where(item == NOWHERE, NOWHERE, self._order[run, np.where(item == NOWHERE, 0, place)])

    def taken(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        row = self._runs.item(run, answer)
        self._asked[row] += 1
        self._left[row] -= 1
        for each in refitted.tolist():
            self._line_up(each)
        rows = [row, *(np.arange(self._runs.items) + each * self._runs.items for each in refitted.tolist())]
        changed = np.concatenate(rows)
        self._leaders.change(*np.divmod(changed, self._runs.items), self._values(changed))

    def _line_up(self, run: int) -> None:
        """On each item: the answers that were taken, then those to come, and last those that are not wanted now."""
        runs, crowd = self._runs, self._runs.crowd
        unwanted = runs.away[run * runs.workers + crowd.worker]
        used = np.zeros(len(crowd.item), dtype=bool)
        used[runs.taken[run, : runs.given[run]]] = True
        self._order[run] = np.lexsort((self._turn[run], unwanted, ~used, crowd.item))
        own = slice(run * runs.items, (run + 1) * runs.items)
        self._left[own] = np.bincount(crowd.item, ~(used | unwanted), runs.items)

    def _values(self, row: IntArray) -> np.ndarray:
        return np.where(self._runs.open[row] & (self._left[row] > 0), self._runs.priority[row], -np.inf)


class ByPair(Asker):
    """The recorded pair of item and worker that is worth most (Chen et al., ICML 2013, section 4), as a job picks it.

    Of workers whose best items are worth the same, the seed draws one, anew with every answer; of equal items of a
    worker the first in the queue is asked. Where the lot falls on people who are less trusted, one of them is asked.
    An answer changes what the pairs of its item and of its worker are worth, and nothing else: only those are valued
    again.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs, self._choice = runs, runs.rules.worker_choice
        crowd, self._answers = runs.crowd, len(runs.crowd.label)
        self._free: Mask = np.ones(runs.runs * self._answers, dtype=bool)
        self._of_item = _Groups(crowd.item, runs.items)
        self._of_worker = _Groups(crowd.worker, runs.workers)
        self._number = crowd.numbers ^ np.arange(runs.runs)[:, None]  # (runs, workers)
        self._lot = runs.engines[0].tie_breaks(runs.facts.number)  # (runs * items,)
        everything = np.arange(runs.runs * self._answers)
        self._tops = Tops(self._values(everything).reshape(runs.runs, self._answers), crowd.worker, runs.workers)

    def next(self) -> IntArray:
        turn = self._runs.given + 1
        lot = scramble(self._runs.facts.seed, self._number, np.broadcast_to(turn[:, None], self._number.shape))
        tied = self._tops.tied(lot, instead=self._others(turn))
        return np.array([self._first(run, places) for run, places in enumerate(tied)])

    def taken(self, run: IntArray, answer: IntArray, refitted: IntArray) -> None:
        self._free[run * self._answers + answer] = False
        again = set(refitted.tolist())
        touched = [
            each * self._answers + (np.arange(self._answers) if each in again else self._touched(each, one))
            for each, one in zip(run.tolist(), answer.tolist(), strict=True)
        ]
        changed = np.concatenate(touched)
        self._tops.change(*np.divmod(changed, self._answers), self._values(changed))

    def _first(self, run: int, answers: IntArray) -> int:
        """The answer whose item comes first in the queue of this run."""
        if not len(answers):
            return NOWHERE
        row = self._runs.item(np.array([run]), answers)
        return int(answers[np.lexsort((self._lot[row], -self._runs.priority[row]))[0]])

    def _others(self, turn: IntArray) -> Mask | None:
        """Who is asked instead of the best, (runs, workers), in runs where the lot of this turn says so; None: none."""
        asking = np.flatnonzero(self._choice.asks_others(self._runs.rules.seed, turn, self._runs.items))
        if not len(asking):
            return None
        others = np.zeros(self._number.shape, dtype=bool)
        for run in asking.tolist():
            others[run] = less_trusted(self._tops.top[run], self._runs.trust(run))
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


class _Groups:
    """Which rows belong to each number of a column."""

    def __init__(self, column: IntArray, groups: int) -> None:
        self._order = np.argsort(column, kind="stable")
        self._start = np.searchsorted(column[self._order], np.arange(groups + 1))

    def members(self, group: int) -> IntArray:
        return self._order[self._start[group] : self._start[group + 1]]


def order_of_arrival(crowd: Recorded, runs: int, order: Order) -> IntArray:
    """The answers, item by item, in the order in which they come; shape (runs, answers).

    >>> two = np.array([1, 0, 1])
    >>> crowd = Recorded(("a", "b"), ("v", "w", "x"), ("0", "1"), two, np.arange(3), two, np.array([0, 1]))
    >>> order_of_arrival(crowd, 1, "recorded").tolist()
    [[1, 0, 2]]
    """
    if order == "recorded":
        return np.tile(np.argsort(crowd.item, kind="stable"), (runs, 1))
    drawn = [np.random.default_rng(run).random(len(crowd.item)) for run in range(runs)]
    return np.stack([np.lexsort((luck, crowd.item)) for luck in drawn])
