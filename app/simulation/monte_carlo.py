"""Simulate the rest of a job in many possible worlds at once; the engine makes every decision."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, Mask, State
from app.policy.engine import Engine
from app.simulation.parallel_runs import NEVER, ParallelRuns
from app.simulation.sampled_worlds import Worlds

_STEPS = 16  # this many steps ask about every open item once
_EARLY = 8  # answers per item
_SLOWEST_GROWTH = 0.1  # of the answers between two fits
_TRIES = 12  # random draws of a worker who has not answered the item, before all workers are searched
_LEAST_SKILL = 1e-3  # pseudo-answers that a skill keeps of each kind


@dataclass(frozen=True)
class WorldTally:
    """What each world has reached at one moment; row r is world r."""

    spent: Array
    labels: Array
    resolved: Array
    given_up: Array
    gold: Array  # resolved items whose label was given; it says nothing about those that answers make
    right: Array  # other resolved items whose label is the truth


@dataclass(frozen=True)
class JobSnapshot:
    """A job at the moment when its rest is simulated; workers without answers follow those of the answers."""

    answers: Ballots  # those that count
    state: State  # (items,)
    label: IntArray  # (items,) of resolved items; -1: there is none
    closed: Mask  # (items,)
    skill: Array  # (workers, parameters)
    prior: Array  # (workers, parameters) of each worker before any answer of the job
    price: Array  # (workers,) in units of the item's cost
    excluded: Mask  # (workers,) who gets no more assignments: blocked, or of low information
    given: int  # answers of the whole job
    refit_at: int | None  # answers of the whole job at which the next refit is due; None: never


class MonteCarloSimulation(ParallelRuns):
    """A run of the job in each world: item i of world r is row r * items + i, workers alike.

    A step takes the sixteenth of a world's items with the highest priority, asks a random worker who has not answered
    it about each, and judges them. That is the order of the service with several workers at a time. `weight` is the
    number of items of the job that each simulated item represents: an answer teaches that much more about its worker,
    and counts as that many answers towards the next refit. Refits follow the policy, but not before the answers have
    grown by a tenth. The worker model stays in its stage, and no other stage is averaged with it: that would take six
    times as long. All worlds are refitted together, which is up to three times as fast as one by one where they are
    small. Workers are not tested for guessing, and no gold is assigned.
    """

    fits_stage_only: ClassVar[bool] = True

    def __init__(
        self,
        engine: Engine,
        context: ItemContext,
        worlds: Worlds,
        rng: np.random.Generator,
        *,
        weight: float = 1.0,
        snapshot: JobSnapshot | None = None,
        reach: IntArray | None = None,
    ) -> None:
        runs, items = worlds.truth.shape
        each, workers = np.tile(np.arange(items), runs), worlds.ability.shape[1]
        skill, prior = (np.tile(engine.newcomer(), (workers, 1)) for _ in range(2))
        price, state = np.ones(workers), None
        if snapshot is not None:
            seen = len(snapshot.skill)
            skill[:seen], prior[:seen], price[:seen] = snapshot.skill, snapshot.prior, snapshot.price
            price[seen:] = snapshot.price.mean() if seen else 1.0
            state = State(snapshot.state.votes[each], snapshot.state.model_state[each])
        every = context.rows(each)
        super().__init__(engine, every, workers, runs=runs, skill=skill, price=price, prior=prior, state=state)
        self.worlds, self.weight, self._rng = worlds, weight, rng
        self._run = np.repeat(np.arange(runs), items)
        self._tie_breaks = rng.permuted(each.reshape(runs, -1), axis=1).ravel()
        self._right_label = worlds.label.ravel()
        self._who = np.full((len(each), 1), NOBODY)  # (rows, answers) who has answered
        self._said = np.full((len(each), 1), NOBODY, dtype=np.int16)  # (rows, answers) the label
        self._count = np.zeros(len(each), dtype=np.int64)
        self._excluded_before: Mask = np.zeros(workers, dtype=bool)  # when the simulation begins
        self._given_before = 0  # answers of the whole job
        if snapshot is not None:
            self._excluded_before[:seen] = snapshot.excluded
            self._given_before = snapshot.given
            self.refit_at[:] = NEVER if snapshot.refit_at is None else snapshot.refit_at
            self.open[:], self.label[:] = ~snapshot.closed[each], snapshot.label[each]
            for run in range(runs):
                past = snapshot.answers
                self._log_answers(past.item + run * items, past.worker, past.label)
        self._likely = np.cumsum(worlds.presence, axis=1)  # (worlds, workers)
        self._nobody_left: Mask = np.zeros(
            len(each), dtype=bool
        )  # (rows,) no worker may be asked, until the next refit
        self._callers = None if reach is None else self._draw_callers(reach)
        self._spent = np.zeros(runs)
        self._past = self._count.copy()
        self.truncated_at = np.full(runs, np.inf)  # (worlds,) spent when an open item was first cut off
        self.tallies: list[WorldTally] = []
        self._record_tally()

    @property
    def excluded(self) -> Mask:
        """Who gets no more assignments, shape (worlds, workers): by a refit, or since the simulation began."""
        return self._excluded_before | self.low_information.reshape(self.runs, self.workers)

    def ballots(self) -> Ballots:
        """The answers of all worlds, past ones included, row by row in their order."""
        row, turn = (self._who != NOBODY).nonzero()
        worker = self._who[row, turn] + self._run[row] * self.workers
        sizes = {"items": self.runs * self.items, "workers": self.runs * self.workers, "classes": self.worlds.classes}
        return Ballots.of(row, worker, self._said[row, turn], gold=self.context.gold, **sizes)

    def steps(self, most_labels: float, most_spent: float = math.inf) -> Iterator[float]:
        """Step until no world has an open item with fewer than `most_labels` new answers, or each has spent the limit.

        Yields the share of open items. After eight answers per item the steps are four times as large, because the
        order in which items are asked then matters little.
        """
        taken, small = 0, max(1, -(-self.items // _STEPS))
        while self._spent.min() < most_spent:
            batch = small if taken < _EARLY * self.items else 4 * small
            chosen = self._top_priority(batch, most_labels)
            if not len(chosen):
                return
            row, worker = self._with_workers(chosen)
            if not len(row):
                continue
            self._take(row, worker)
            self._refit_if_due()
            self._record_tally()
            self._note_truncation(most_labels)
            taken += batch
            yield float(self.open.mean())

    def _log_answers(self, row: IntArray, worker: IntArray, said: IntArray) -> None:
        """Log answers; several may be on one row. `worker` is a position in the world's crowd."""
        order = np.argsort(row, kind="stable")
        row, worker, said = row[order], worker[order], said[order]
        _, start, counts = np.unique(row, return_index=True, return_counts=True)
        turn = np.arange(len(row)) - np.repeat(start, counts)
        place = self._count[row] + turn
        wider = int(place.max(initial=-1)) + 1 - self._who.shape[1]
        if wider > 0:
            more = ((0, 0), (0, wider))
            self._who, self._said = (np.pad(each, more, constant_values=NOBODY) for each in (self._who, self._said))
        self._who[row, place], self._said[row, place] = worker, said
        np.add.at(self._count, row, 1)

    def _top_priority(self, batch: int, most_labels: float) -> IntArray:
        """The open items of the highest priorities, up to `batch` in each world."""
        may_get = ~self._nobody_left & (self._count - self._past < most_labels)
        row = np.flatnonzero(self.open & may_get & (self._count < self.workers))
        row = row[np.lexsort((self._tie_breaks[row], -self.priority[row], self.rows.tier[row], self._run[row]))]
        first = np.searchsorted(self._run[row], np.arange(self.runs))
        return row[np.arange(len(row)) - first[self._run[row]] < batch]

    def _with_workers(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Draw a worker for each of these items from those who may be asked, by their presence; others are left out."""
        worker = self._visitor(row) if self._callers is None else self._caller(row, self._callers)
        found = worker != NOBODY
        self._nobody_left[row[~found]] = True
        return row[found], worker[found]

    def _visitor(self, row: IntArray) -> IntArray:
        """A worker for each of these items who has not answered it, by presence; -1: only excluded ones are left."""
        run, excluded = self._run[row], self.excluded
        every_run = (self._likely + np.arange(self.runs)[:, None]).ravel()
        worker = np.full(len(row), NOBODY)
        for _ in range(_TRIES):
            missing = np.flatnonzero(worker == NOBODY)
            if not len(missing):
                return worker
            at = self._rng.random(len(missing)) * self._likely[run[missing], -1] + run[missing]
            drawn = np.searchsorted(every_run, at) - run[missing] * self.workers
            drawn = np.clip(drawn, 0, self.workers - 1)
            fresh = (self._who[row[missing]] != drawn[:, None]).all(axis=1) & ~excluded[run[missing], drawn]
            worker[missing[fresh]] = drawn[fresh]
        for place in np.flatnonzero(worker == NOBODY).tolist():
            free = np.setdiff1d(np.arange(self.workers), self._who[row[place]])
            free = free[~excluded[run[place], free]]
            worker[place] = self._rng.choice(free) if len(free) else NOBODY
        return worker

    def _draw_callers(self, reach: IntArray) -> IntArray:
        """Draw who comes by each item, in their order, by presence; shape (rows, most), -1 beyond an item's reach.

        Those who have answered come first.
        """
        most, found = int(min(reach.max(), self.workers)), []
        for run in range(self.runs):
            rows = slice(run * self.items, (run + 1) * self.items)
            with np.errstate(divide="ignore"):
                early = np.log(self.worlds.presence[run]) + self._rng.gumbel(size=(self.items, self.workers))
            item, turn = (self._who[rows] != NOBODY).nonzero()
            early[item, self._who[rows][item, turn]] = np.inf
            order = np.argsort(-early, axis=1)[:, :most]
            found.append(np.where(np.arange(most) < reach[:, None], order, NOBODY))
        return np.concatenate(found)

    def _caller(self, row: IntArray, callers: IntArray) -> IntArray:
        """The first of those who come by each of these items whom the job may ask; -1: there is nobody."""
        who = callers[row]
        free = (who != NOBODY) & ~self.excluded[self._run[row][:, None], who]
        for answered in self._who[row].T:
            free &= who != answered[:, None]
        first = free.argmax(axis=1)
        return np.where(free.any(axis=1), who[np.arange(len(row)), first], NOBODY)

    def _take(self, row: IntArray, worker: IntArray) -> None:
        run, item = self._run[row], row % self.items
        said = self.worlds.answers(run, item, worker, self._rng)
        self.learn(row, worker + run * self.workers, said)
        self._log_answers(row, worker, said)
        self._spent += np.bincount(run, self.context.cost[row] * self.price[worker], minlength=self.runs)
        self._score(row[self.label[row] != NOBODY])

    def _teach(self, worker: IntArray, before: Array, after: Array) -> None:
        """Add what each answer has taught, as often as there are items that its item represents."""
        skill = self._skill[:, : after.shape[1]]
        np.add.at(skill, worker, self.weight * (after - before))
        if self.policy.worker_model.fits_skills:
            skill[worker] = np.maximum(skill[worker], _LEAST_SKILL)

    def _score(self, row: IntArray) -> None:
        """Score every vote on these finished items, if the model scores workers; each worker's votes one by one."""
        model = self.policy.worker_model
        if not model.scores_finished_items or not len(row):
            return
        place, turn = (self._who[row] != NOBODY).nonzero()
        item = row[place]
        worker = self._who[item, turn] + self._run[item] * self.workers
        agreed = self._said[item, turn] == self.label[item]
        while len(worker):
            _, first = np.unique(worker, return_index=True)
            self._skill[worker[first]] = model.score(self._skill[worker[first]], agreed[first])
            worker, agreed = np.delete(worker, first), np.delete(agreed, first)

    def _refit_if_due(self) -> None:
        """Refit all worlds together when the answers of a world have grown as the policy says."""
        if self._given_before + self.weight * self.given.mean() >= self.refit_at[0]:
            self.refit(np.arange(self.runs), self.ballots())
            self._nobody_left[:] = False

    def _next_refit(self, given: float) -> int:
        if self.policy.refit is None:
            return NEVER
        slower = self.policy.refit.model_copy(update={"growth": max(self.policy.refit.growth, _SLOWEST_GROWTH)})
        return slower.next_at(int(self._given_before + self.weight * given))

    def _note_truncation(self, most_labels: float) -> None:
        wants_more = self.open & (self._count < self.workers)
        cut = self._count_of(wants_more & (self._count - self._past >= most_labels)) > 0
        self.truncated_at = np.minimum(self.truncated_at, np.where(cut, self._spent, np.inf))

    def _record_tally(self) -> None:
        resolved = self.label != NOBODY
        self.tallies.append(
            WorldTally(
                spent=self._spent.copy(),
                labels=self.given.astype(np.float64),
                resolved=self._count_of(resolved),
                given_up=self._count_of(~resolved & ~self.open),
                gold=self._count_of(resolved & self.context.known),
                right=self._count_of(resolved & ~self.context.known & (self.label == self._right_label)),
            )
        )

    def _count_of(self, which: Mask) -> Array:
        """The number of these rows in each world, shape (worlds,)."""
        return np.asarray(np.bincount(self._run, which, minlength=self.runs), dtype=np.float64)
