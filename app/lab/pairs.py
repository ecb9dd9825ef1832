"""Keep the values of pairs of item and worker, so that the best is found without valuing all of them again."""

import numpy as np

from app.lab.job import Job
from app.policy.belief import Array, IntArray, Mask
from app.policy.chance import scramble


class Pairs:
    """The pairs of a job that may be asked, and what each is worth (Chen et al., ICML 2013, section 4).

    `Pair` values all pairs anew for every question. An answer changes the value of the pairs of its item, and of its
    worker, and of nothing else: only those are valued again. The choice is the same, ties and all.
    """

    def __init__(self, job: Job, item: IntArray, worker: IntArray) -> None:
        self.job = job
        self.item = item  # (pairs,)
        self.worker = worker  # (pairs,)
        self.value: Array = np.full(len(item), -np.inf)  # (pairs,) per cost; -inf where it may not be asked any more
        self._free: Mask = np.ones(len(item), dtype=bool)  # (pairs,)
        self._lot = scramble(job.facts.seed, job.facts.number[item], job.number[worker])
        self._cost = job.facts.cost[item] * job.price[worker]
        self._of_item = _Groups(item, len(job.open))
        self._of_worker = _Groups(worker, len(job.number))
        self._revalue(np.arange(len(item)))

    def best(self, among: slice = slice(None)) -> int | None:
        """The position of the best pair that the budget covers, ties drawn by the job's seed; None where none is."""
        value, budget = self.value[among], self.job.engine.budget
        if budget is not None:
            value = np.where(self._cost[among] <= budget - self.job.spent, value, -np.inf)
        highest = value.max(initial=-np.inf)
        if np.isneginf(highest):
            return None
        equals = np.flatnonzero(value == highest)
        return int(equals[self._lot[among][equals].argmin()]) + (among.start or 0)

    def take(self, pair: IntArray, label: IntArray) -> None:
        """The answers of these pairs, which do not touch each other: label[i] on pair[i]."""
        item, worker = self.item[pair], self.worker[pair]
        known_better = self.job.take(item, worker, label)
        self._free[pair] = False
        self._revalue(np.concatenate([self._of_item.members(item), self._of_worker.members(known_better)]))

    def _revalue(self, pair: IntArray) -> None:
        self._free[pair] &= self.job.open[self.item[pair]]
        self.value[pair] = -np.inf
        asked = pair[self._free[pair]]
        if len(asked):
            self.value[asked] = self.job.value(self.item[asked], self.worker[asked])


class _Groups:
    """Which rows belong to each number of a column."""

    def __init__(self, column: IntArray, groups: int) -> None:
        self._order = np.argsort(column, kind="stable")
        self._start = np.searchsorted(column[self._order], np.arange(groups + 1))

    def members(self, groups: IntArray) -> IntArray:
        """The rows of all these groups."""
        return np.concatenate([self._order[self._start[group] : self._start[group + 1]] for group in groups])
