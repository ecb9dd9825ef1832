"""Simulate the rest of a job in many possible worlds at once; the engine makes every decision."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, Array, IntArray, ItemContext, Mask, State
from app.policy.engine import Engine
from app.simulation.item_rows import ItemRows
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
    right: Array  # resolved items whose label is the truth


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


class MonteCarloSimulation:
    """The items of all worlds in one set of rows: item i of world r is row r * items + i, and workers likewise.

    A step takes the sixteenth of a world's items with the highest priority, asks a random worker who has not answered
    it about each, and judges them. That is the order of the service with several workers at a time. `weight` is the
    number of items of the job that each simulated item represents: an answer teaches that much more about its worker,
    and counts as that many answers towards the next refit. Refits follow the policy, but not before the answers have
    grown by a tenth, and exclude low-information workers. The worker model stays in its stage. Workers are not tested
    for guessing, and no gold is assigned.

    All worlds are refitted together, in one fit of all their items, which is many times faster than a fit per world.
    Unlike `ParallelRuns.refit` it includes items without answers: leaving them out changes the forecasts.
    """

    def __init__(
        self,
        engine: Engine,
        context: ItemContext,
        worlds: Worlds,
        rng: np.random.Generator,
        *,
        weight: float = 1.0,
        snapshot: JobSnapshot | None = None,
    ) -> None:
        self.engine, self.worlds, self.weight = engine, worlds, weight
        self._rng = rng
        self._runs, self._items = worlds.truth.shape
        self._workers = worlds.ability.shape[1]
        each = np.tile(np.arange(self._items), self._runs)
        self._run = np.repeat(np.arange(self._runs), self._items)
        self._context = replace(context.rows(each), seed=engine.policy.seed)
        start = engine.initial(context) if snapshot is None else snapshot.state
        self._rows = ItemRows(engine, self._context, State(start.votes[each], start.model_state[each]))
        self._tie_breaks = rng.permuted(each.reshape(self._runs, -1), axis=1).ravel()
        self._truth = worlds.truth.ravel()
        self._who = np.full((len(each), 1), NOBODY)  # (rows, answers) who has answered
        self._count = np.zeros(len(each), dtype=np.int64)
        self._answers: list[tuple[IntArray, IntArray, IntArray]] = []  # row, worker's row, label
        newcomers = np.tile(engine.newcomer(), (self._workers, 1))
        skill, prior, price = newcomers.copy(), newcomers.copy(), np.ones(self._workers)
        self._excluded: Mask = np.zeros((self._runs, self._workers), dtype=bool)
        self._excluded_before: Mask = np.zeros(self._workers, dtype=bool)  # when the simulation begins
        self._given, self._refit_at = 0, engine.policy.first_refit
        if snapshot is not None:
            seen = len(snapshot.skill)
            skill[:seen], prior[:seen], price[:seen] = snapshot.skill, snapshot.prior, snapshot.price
            price[seen:] = snapshot.price.mean() if seen else 1.0
            self._excluded_before[:seen] = snapshot.excluded
            self._excluded[:] = self._excluded_before
            self._given, self._refit_at = snapshot.given, snapshot.refit_at
            self._rows.open[:], self._rows.label[:] = ~snapshot.closed[each], snapshot.label[each]
            for run in range(self._runs):
                past = snapshot.answers
                self._log_answers(past.item + run * self._items, past.worker, past.label)
        self._skill, self._before = np.tile(skill, (self._runs, 1)), np.tile(prior, (self._runs, 1))
        self._price = price
        self._spent, self._labels = np.zeros(self._runs), np.zeros(self._runs)
        self._past = self._count.copy()
        self.truncated_at = np.full(self._runs, np.inf)  # (worlds,) spent when an open item was first cut off
        self.tallies: list[WorldTally] = []
        self._record_tally()

    def steps(self, most_labels: float, most_spent: float = math.inf) -> Iterator[float]:
        """Step until no world has an open item with fewer than `most_labels` new answers, or each has spent the limit.

        Yields the share of open items. After eight answers per item the steps are four times as large, because the
        order in which items are asked then matters little.
        """
        taken, small = 0, max(1, -(-self._items // _STEPS))
        while self._spent.min() < most_spent:
            batch = small if taken < _EARLY * self._items else 4 * small
            row, worker = self._with_workers(self._top_priority(batch, most_labels))
            if not len(row):
                return
            self._take(row, worker)
            self._refit_if_due()
            self._record_tally()
            self._note_truncation(most_labels)
            taken += batch
            yield float(self._rows.open.mean())

    def _log_answers(self, row: IntArray, worker: IntArray, said: IntArray) -> None:
        """Log answers; several may be on one row. `worker` is a position in the world's crowd."""
        order = np.argsort(row, kind="stable")
        row, worker, said = row[order], worker[order], said[order]
        _, start, counts = np.unique(row, return_index=True, return_counts=True)
        turn = np.arange(len(row)) - np.repeat(start, counts)
        place = self._count[row] + turn
        wider = int(place.max(initial=-1)) + 1 - self._who.shape[1]
        if wider > 0:
            self._who = np.pad(self._who, ((0, 0), (0, wider)), constant_values=NOBODY)
        self._who[row, place] = worker
        np.add.at(self._count, row, 1)
        self._answers.append((row, worker + self._run[row] * self._workers, said))

    def _top_priority(self, batch: int, most_labels: float) -> IntArray:
        """The open items of the highest priorities, up to `batch` in each world."""
        may_get = self._count - self._past < most_labels
        row = np.flatnonzero(self._rows.open & may_get & (self._count < self._workers))
        row = row[np.lexsort((self._tie_breaks[row], -self._rows.priority[row], self._rows.tier[row], self._run[row]))]
        first = np.searchsorted(self._run[row], np.arange(self._runs))
        return row[np.arange(len(row)) - first[self._run[row]] < batch]

    def _with_workers(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Draw a worker for each of these items from those who have not answered it, by their presence.

        Excluded workers are asked only if no other worker is left.
        """
        likely = np.cumsum(self.worlds.presence)
        worker = np.full(len(row), NOBODY)
        for _ in range(_TRIES):
            missing = np.flatnonzero(worker == NOBODY)
            if not len(missing):
                return row, worker
            drawn = np.minimum(np.searchsorted(likely, self._rng.random(len(missing)) * likely[-1]), self._workers - 1)
            fresh = (self._who[row[missing]] != drawn[:, None]).all(axis=1)
            fresh &= ~self._excluded[self._run[row[missing]], drawn]
            worker[missing[fresh]] = drawn[fresh]
        for place in np.flatnonzero(worker == NOBODY).tolist():
            free = np.setdiff1d(np.arange(self._workers), self._who[row[place]])
            wanted = free[~self._excluded[self._run[row[place]], free]]
            worker[place] = self._rng.choice(wanted if len(wanted) else free)
        return row, worker

    def _take(self, row: IntArray, worker: IntArray) -> None:
        run, item = self._run[row], row % self._items
        said = self.worlds.answers(run, item, worker, self._rng)
        place = worker + run * self._workers
        context = self._context.rows(row)
        after, skill = self.engine.learn(self._rows.state(row), context, self._skill[place], said)
        if skill.size:
            np.add.at(self._skill, place, self.weight * (skill - self._skill[place]))
            if self.engine.model.fits_skills:
                self._skill[place] = np.maximum(self._skill[place], _LEAST_SKILL)
        self._rows.put(row, after)
        self._log_answers(row, worker, said)
        self._spent += np.bincount(run, context.cost * self._price[worker], minlength=self._runs)
        self._labels += np.bincount(run, minlength=self._runs)
        self._rows.judge(self.engine, row)
        self._score(row[self._rows.label[row] != NOBODY])

    def _score(self, row: IntArray) -> None:
        """Score every vote on these finished items, if the model scores workers; each worker's votes one by one."""
        model = self.engine.policy.worker_model
        if not model.scores_finished_items or not len(row):
            return
        item, worker, said = (np.concatenate(each) for each in zip(*self._answers, strict=True))
        finished = np.isin(item, row)
        worker, agreed = worker[finished], (said == self._rows.label[item])[finished]
        while len(worker):
            _, first = np.unique(worker, return_index=True)
            self._skill[worker[first]] = model.score(self._skill[worker[first]], agreed[first])
            worker, agreed = np.delete(worker, first), np.delete(agreed, first)

    def _refit_if_due(self) -> None:
        """Refit all worlds together when the answers of a world have grown as the policy says."""
        refit = self.engine.policy.refit
        given = self._given + self.weight * float(self._labels.mean())
        if self._refit_at is None or refit is None or given < self._refit_at:
            return
        slower = refit.model_copy(update={"growth": max(refit.growth, _SLOWEST_GROWTH)})
        self._refit_at = slower.next_at(int(given))
        item, worker, said = (np.concatenate(each) for each in zip(*self._answers, strict=True))
        ballots = Ballots.of(
            item,
            worker,
            said,
            items=self._runs * self._items,
            workers=self._runs * self._workers,
            classes=self.worlds.classes,
            gold=self._context.gold,
        )
        # An item that represents several is fitted as if it were there that many times: the prior counts less.
        found = self.engine.model.refit(ballots, self._context, self._skill, self._before / self.weight)
        self._skill = found.skill * self.weight
        self._exclude(np.asarray(ballots.given * self.weight, dtype=np.float64))
        row = np.flatnonzero(self._count > 0)
        state = State(found.state.votes[row], found.state.model_state[row])
        self._rows.restate(self.engine, row, state, may_reopen=False)

    def _exclude(self, answers: Array) -> None:
        """Exclude low-information workers, world by world, by the skills of a fit.

        `answers` is the number of answers of each worker, (worlds * workers,). Workers who were excluded when the
        simulation began stay excluded.
        """
        shape = (self._runs, self._workers)
        skill, given = self._skill.reshape(*shape, -1), answers.reshape(shape)
        self._excluded = self._excluded_before | self.engine.low_information(skill, self._price, given)

    def _note_truncation(self, most_labels: float) -> None:
        wants_more = self._rows.open & (self._count < self._workers)
        cut = self._count_of(wants_more & (self._count - self._past >= most_labels)) > 0
        self.truncated_at = np.minimum(self.truncated_at, np.where(cut, self._spent, np.inf))

    def _record_tally(self) -> None:
        resolved = self._rows.label != NOBODY
        self.tallies.append(
            WorldTally(
                spent=self._spent.copy(),
                labels=self._labels.copy(),
                resolved=self._count_of(resolved),
                given_up=self._count_of(~resolved & ~self._rows.open),
                right=self._count_of(resolved & (self._rows.label == self._truth)),
            )
        )

    def _count_of(self, which: Mask) -> Array:
        """The number of these rows in each world, shape (worlds,)."""
        return np.asarray(np.bincount(self._run, which, minlength=self._runs), dtype=np.float64)
