"""Rehearse the rest of a job in many possible worlds at once, every decision by the engine."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from app.lab.prospects import Worlds
from app.lab.rows import Rows
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, IntArray, Mask, State
from app.policy.engine import Engine
from app.policy.shares import NOBODY

_STEPS = 16  # in which every open item could be asked once
_EARLY = 8  # answers per item
_SLOWEST_GROWTH = 0.1  # of the answers between two fits
_TRIES = 12  # to find a worker who has not answered the item, before all of them are looked through
_LEAST_SKILL = 1e-3  # pseudo-answers that a skill keeps of each kind


@dataclass(frozen=True)
class Tally:
    """How the worlds stand at one moment; row r is world r."""

    spent: Array
    labels: Array
    resolved: Array
    given_up: Array
    right: Array  # resolved items whose label is the truth


@dataclass(frozen=True)
class Standing:
    """Where a job stands when its rest is rehearsed; workers who have not come yet follow those of the answers."""

    answers: Ballots  # that count
    state: State  # (items,)
    label: IntArray  # (items,) of what is resolved; -1: is not
    closed: Mask  # (items,)
    skill: Array  # (workers, parameters)
    prior: Array  # (workers, parameters) what each was credited with before any answer
    price: Array  # (workers,) in units of the item's cost
    unwanted: Mask  # (workers,) who gets nothing any more: blocked, or turned away
    given: int  # answers of the whole job
    refit_at: int | None  # answers of the whole job at which all are fitted next


class _Judged(NamedTuple):
    """What of a judgement steers a rehearsal, shape (rows,) each."""

    winner: IntArray
    closed: Mask
    priority: Array


class Rehearsal:
    """The items of all worlds in one set of rows: item i of world r is row r * items + i, workers alike.

    A step asks about the sixteenth of a world's items that are worth most, each a random worker who has not answered
    it, and judges them. That is the order of the service with some workers at it at a time. `weight` is how many items
    of the job each item here stands for: an answer teaches that much about its worker, and brings the next fit as much
    nearer. Fits come as the rules say, but not before the answers have grown by a tenth, and turn away whom they find
    useless. The worker model stays in its stage; nobody is tested for guessing, and no gold is handed out.
    """

    def __init__(
        self,
        engine: Engine,
        facts: Facts,
        worlds: Worlds,
        rng: np.random.Generator,
        *,
        weight: float = 1.0,
        standing: Standing | None = None,
    ) -> None:
        self.engine, self.worlds, self.weight = engine, worlds, weight
        self._rng = rng
        self._runs, self._items = worlds.truth.shape
        self._workers = worlds.ability.shape[1]
        each = np.tile(np.arange(self._items), self._runs)
        self._run = np.repeat(np.arange(self._runs), self._items)
        self._facts = replace(facts.rows(each), seed=engine.rules.seed)
        start = engine.initial(facts) if standing is None else standing.state
        self._rows = Rows(State(start.votes[each], start.evidence[each]))
        first = self._judged(self._rows.all(), self._facts)
        self._open = ~first.closed  # (rows,) as all of these
        self._label = first.winner.copy()
        self._priority = first.priority.copy()
        self._lot = rng.permuted(each.reshape(self._runs, -1), axis=1).ravel()
        self._truth = worlds.truth.ravel()
        self._who = np.full((len(each), 1), NOBODY)  # (rows, answers) who has answered
        self._count = np.zeros(len(each), dtype=np.int64)
        self._answers: list[tuple[IntArray, IntArray, IntArray]] = []  # row, worker's row, label
        newcomers = np.tile(engine.newcomer(), (self._workers, 1))
        skill, prior, price = newcomers.copy(), newcomers.copy(), np.ones(self._workers)
        self._unwanted: Mask = np.zeros((self._runs, self._workers), dtype=bool)
        self._shut_out: Mask = np.zeros(self._workers, dtype=bool)  # already when the rehearsal begins
        self._given, self._refit_at = 0, engine.rules.first_refit
        if standing is not None:
            heard = len(standing.skill)
            skill[:heard], prior[:heard], price[:heard] = standing.skill, standing.prior, standing.price
            price[heard:] = standing.price.mean() if heard else 1.0
            self._shut_out[:heard] = standing.unwanted
            self._unwanted[:] = self._shut_out
            self._given, self._refit_at = standing.given, standing.refit_at
            self._open = ~standing.closed[each]
            self._label = standing.label[each]
            for run in range(self._runs):
                past = standing.answers
                self._enter_answers(past.item + run * self._items, past.worker, past.label)
        self._skill, self._before = np.tile(skill, (self._runs, 1)), np.tile(prior, (self._runs, 1))
        self._price = price
        self._spent, self._labels = np.zeros(self._runs), np.zeros(self._runs)
        self._past = self._count.copy()
        self.cut_at = np.full(self._runs, np.inf)  # (worlds,) spent when an open item first had all that it may get
        self.tallies: list[Tally] = []
        self._note()

    def steps(self, most_labels: float, most_spent: float = math.inf) -> Iterator[float]:
        """Until nothing is open in any world but items that had so many more answers, or each has spent so much.

        Gives the share of items that are open. Steps grow fourfold after eight answers per item: so late it matters
        little in which order items are asked.
        """
        taken, small = 0, max(1, -(-self._items // _STEPS))
        while self._spent.min() < most_spent:
            batch = small if taken < _EARLY * self._items else 4 * small
            row, worker = self._visited(self._worth_most(batch, most_labels))
            if not len(row):
                return
            self._take(row, worker)
            self._fit_if_due()
            self._note()
            self._note_cuts(most_labels)
            taken += batch
            yield float(self._open.mean())

    def _enter_answers(self, row: IntArray, worker: IntArray, said: IntArray) -> None:
        """Answers, several of which may be on one row: `worker` is a place in the world's crowd."""
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

    def _worth_most(self, batch: int, most_labels: float) -> IntArray:
        """The open items that are worth most, so many in each world."""
        may_get = self._count - self._past < most_labels
        row = np.flatnonzero(self._open & may_get & (self._count < self._workers))
        row = row[np.lexsort((self._lot[row], -self._priority[row], self._run[row]))]
        first = np.searchsorted(self._run[row], np.arange(self._runs))
        return row[np.arange(len(row)) - first[self._run[row]] < batch]

    def _visited(self, row: IntArray) -> tuple[IntArray, IntArray]:
        """Who comes for each of these items: anybody who has not answered it, as likely as they are to be there.

        Who is unwanted is asked only where nobody else is left.
        """
        likely = np.cumsum(self.worlds.presence)
        worker = np.full(len(row), NOBODY)
        for _ in range(_TRIES):
            missing = np.flatnonzero(worker == NOBODY)
            if not len(missing):
                return row, worker
            drawn = np.minimum(np.searchsorted(likely, self._rng.random(len(missing)) * likely[-1]), self._workers - 1)
            fresh = (self._who[row[missing]] != drawn[:, None]).all(axis=1)
            fresh &= ~self._unwanted[self._run[row[missing]], drawn]
            worker[missing[fresh]] = drawn[fresh]
        for place in np.flatnonzero(worker == NOBODY).tolist():
            free = np.setdiff1d(np.arange(self._workers), self._who[row[place]])
            wanted = free[~self._unwanted[self._run[row[place]], free]]
            worker[place] = self._rng.choice(wanted if len(wanted) else free)
        return row, worker

    def _take(self, row: IntArray, worker: IntArray) -> None:
        run, item = self._run[row], row % self._items
        said = self.worlds.answers(run, item, worker, self._rng)
        place = worker + run * self._workers
        facts = self._facts.rows(row)
        after, skill = self.engine.learn(self._rows.some(row), facts, self._skill[place], said)
        if skill.size:
            np.add.at(self._skill, place, self.weight * (skill - self._skill[place]))
            if self.engine.model.fits_skills:
                self._skill[place] = np.maximum(self._skill[place], _LEAST_SKILL)
        self._rows.put(row, after)
        self._enter_answers(row, worker, said)
        self._spent += np.bincount(run, facts.cost * self._price[worker], minlength=self._runs)
        self._labels += np.bincount(run, minlength=self._runs)
        judgement = self._judged(after, facts)
        self._enter(row, judgement)
        self._score(row[judgement.winner != NOBODY])

    def _judged(self, state: State, facts: Facts) -> _Judged:
        prospect = self.engine.prospect(state, facts)
        ending = self.engine.ending(prospect.now)
        return _Judged(ending.winner, ending.closed, self.engine.priority(prospect))

    def _enter(self, row: IntArray, judgement: _Judged) -> None:
        self._open[row], self._label[row] = ~judgement.closed, judgement.winner
        self._priority[row] = judgement.priority

    def _score(self, row: IntArray) -> None:
        """For models that judge workers by finished items: every vote on these, each worker's one after the other."""
        model = self.engine.rules.worker_model
        if not model.scores_finished_items or not len(row):
            return
        item, worker, said = (np.concatenate(each) for each in zip(*self._answers, strict=True))
        held = np.isin(item, row)
        worker, agreed = worker[held], (said == self._label[item])[held]
        while len(worker):
            _, first = np.unique(worker, return_index=True)
            self._skill[worker[first]] = model.score(self._skill[worker[first]], agreed[first])
            worker, agreed = np.delete(worker, first), np.delete(agreed, first)

    def _fit_if_due(self) -> None:
        """All worlds together, once the answers of a world have grown as the rules say."""
        refit = self.engine.rules.refit
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
            gold=self._facts.gold,
        )
        # An item that stands for several is fitted as if it were there as often: the prior counts as much less.
        prior = self._before / self.weight
        found = self.engine.model.refit(ballots, self._facts, self._skill, prior)
        self._skill = found.skill * self.weight
        self._turn_away(np.asarray(ballots.given * self.weight, dtype=np.float64))
        row = np.flatnonzero(self._count > 0)
        state = State(found.state.votes[row], found.state.evidence[row])
        self._rows.put(row, state)
        judgement = self._judged(state, self._facts.rows(row))
        resolved = self._label[row] != NOBODY
        changed = self._open[row] | (resolved & (judgement.winner != NOBODY))
        self._open[row[changed]] = ~judgement.closed[changed]
        self._label[row[changed]] = judgement.winner[changed]
        self._priority[row[changed]] = judgement.priority[changed]

    def _turn_away(self, answers: Array) -> None:
        """By the skills of a fit, world by world; `answers` is how many each worker has given, (worlds * workers,).

        Who was shut out when the rehearsal began is, for all that is known here, shut out for good.
        """
        shape = (self._runs, self._workers)
        skill, given = self._skill.reshape(*shape, -1), answers.reshape(shape)
        self._unwanted = self._shut_out | self.engine.turned_away(skill, self._price, given)

    def _note_cuts(self, most_labels: float) -> None:
        wants_more = self._open & (self._count < self._workers)
        cut = self._count_of(wants_more & (self._count - self._past >= most_labels)) > 0
        self.cut_at = np.minimum(self.cut_at, np.where(cut, self._spent, np.inf))

    def _note(self) -> None:
        resolved = self._label != NOBODY
        self.tallies.append(
            Tally(
                spent=self._spent.copy(),
                labels=self._labels.copy(),
                resolved=self._count_of(resolved),
                given_up=self._count_of(~resolved & ~self._open),
                right=self._count_of(resolved & (self._label == self._truth)),
            )
        )

    def _count_of(self, which: Mask) -> Array:
        """How many rows of each world, shape (worlds,)."""
        return np.asarray(np.bincount(self._run, which, minlength=self._runs), dtype=np.float64)
