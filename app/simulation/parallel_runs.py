"""Simulate one job, or many runs of it side by side: learn from answers, judge items, refit."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array, IntArray, ItemContext, Mask, State
from app.policy.engine import Engine
from app.policy.quality import fitting
from app.policy.quality.item_features import ItemFeatures
from app.policy.worker_models.base import credit
from app.simulation.item_rows import ItemRows

NEVER = np.iinfo(np.int64).max


class ParallelRuns:
    """Independent runs of one job, side by side, so that the arithmetic of a step is done once for all of them.

    Row r * items + i is item i of run r, and row r * workers + w is worker w of run r. An answer arrives as soon as it
    is asked for, so no assignment is ever open. Who is asked, and where the answers come from, is up to the caller:
    `RecordedRuns` replays recorded answers, `MemoryJob` is a single run that also keeps ballots, records and money, and
    `MonteCarloSimulation` draws the answers of sampled worlds for a forecast.
    """

    fits_stage_only: ClassVar[bool] = False  # a refit neither chooses the stage of the worker model nor averages stages
    weight = 1.0  # items of the job that each item represents
    item_features: ItemFeatures | None = None  # of a single run

    def __init__(  # noqa: PLR0913  all but three are keywords with a default
        self,
        engine: Engine,
        context: ItemContext,
        workers: int,
        *,
        runs: int = 1,
        skill: Array | None = None,
        price: Array | None = None,
        prior: Array | None = None,
        stated: Array | None = None,
        state: State | None = None,
    ) -> None:
        """`context` has a row for each item of each run, and so has `state`, where a run begins with answers.

        `skill` and `prior`, a worker's skill before any answer of the job, are (workers, parameters); `price` is
        (workers,). `stated` is the accuracy and the weight that a requester states, (workers, 2), NaN where nothing is.
        """
        self.policy, self.runs = engine.policy, runs
        self.items, self.workers = len(context.cost) // runs, workers
        stages = self.policy.worker_model.stages(self.policy.classes).crediting(stated)
        self.engines = [replace(engine, stage=stage) for stage in range(len(stages.names))]
        self.stage = np.full(runs, engine.stage)  # (runs,) of the worker model
        self.price = np.ones(workers) if price is None else price  # (workers,) in units of the item's cost
        self.context = replace(context, seed=self.policy.seed)
        self.rows = ItemRows(engine, self.context, state)
        self._new_workers = [each.newcomer() for each in self.engines]
        self._prior = [  # (workers, parameters) of each stage
            np.tile(new, (workers, 1)) if prior is None else stages.convert(prior, engine.stage, each.stage)
            for new, each in zip(self._new_workers, self.engines, strict=True)
        ]
        self._stated = stated
        if stated is not None:
            classes = self.policy.classes
            self._prior = [
                credit(each.model, rows, stated, classes) for rows, each in zip(self._prior, self.engines, strict=True)
            ]
        first = self._prior[engine.stage] if skill is None else skill
        self._skill = np.zeros((workers * runs, max(map(len, self._new_workers))))  # padded to the widest stage
        self._skill[:, : first.shape[1]] = np.tile(first, (runs, 1))
        self.low_information: Mask = np.zeros(workers * runs, dtype=bool)  # excluded by the last refit
        self.given = np.zeros(runs, dtype=np.int64)  # (runs,) answers
        self.refit_at = np.full(runs, NEVER if self.policy.first_refit is None else self.policy.first_refit)

    @property
    def open(self) -> Mask:
        """Which items are open, shape (rows,)."""
        return self.rows.open

    @property
    def label(self) -> IntArray:
        """The label of each resolved item, shape (rows,); -1: there is none."""
        return self.rows.label

    @property
    def priority(self) -> Array:
        """What one more answer of a new worker is worth, shape (rows,): the number that the service stores."""
        return self.rows.priority

    def state(self, item: IntArray) -> State:
        """What is kept of these items."""
        return self.rows.state(item)

    def learn(self, item: IntArray, worker: IntArray, label: npt.NDArray[Any], *, teaches: bool = True) -> None:
        """Learn from label[i] of worker[i] on item[i], all three as rows, and judge the items that are open.

        Items must differ, and so must workers if the answers change their skills. With `teaches=False` the answers
        change the items and not the skills.
        """
        run = item // self.items
        for engine, which in self._by_stage(run):
            rows, who = item[which], worker[which]
            known = self.skill_of(engine.stage, who)
            state, skill = engine.learn(self.rows.state(rows), self.context.rows(rows), known, label[which])
            if teaches:
                self._teach(who, known, skill)
            self.rows.put(rows, state)
            self.rows.judge(engine, rows)
        self.given += np.bincount(run, minlength=self.runs)

    def refit(
        self, run: int | IntArray, ballots: Ballots, *, gold: IntArray | None = None, never_reopens: Mask | None = None
    ) -> None:
        """Fit skills and items of a run to all of its answers, and decide by the result from now on.

        Several runs of one stage are fitted together if `ballots` has the rows of all of them. `gold` is (rows,) and
        replaces the known classes of the context. Items that `never_reopens`, (rows,), names stay closed even where
        the policy lets a refit reopen items. An item that represents several is fitted as if it
        were there as often: the workers' priors count less, and what their answers show counts more.
        """
        runs = np.atleast_1d(run)
        policy, stage = self.policy, int(self.stage[runs[0]])
        own, who = ((np.arange(many) + runs[:, None] * many).ravel() for many in (self.items, self.workers))
        context = self.context.rows(own) if gold is None else replace(self.context.rows(own), gold=gold)
        prior = np.tile(self._prior[stage], (len(runs), 1))
        stated = None if self._stated is None else np.tile(self._stated / [1, self.weight], (len(runs), 1))
        known = fitting.FittedCrowd(self.skill_of(stage, who) / self.weight, prior / self.weight, stated)
        found = fitting.fit(
            policy.worker_model,
            stage,
            ballots,
            context,
            known,
            stage_only=self.fits_stage_only,
            questions=policy.questions,
            features=self.item_features,
        )
        self.stage[runs] = found.stage
        # Gold that the crowd made says nothing about errors that the crowd shares.
        calibrated = found.calibration is not None and gold is None and not self.fits_stage_only
        if calibrated:
            self.engines = [replace(engine, calibration=found.calibration) for engine in self.engines]
        self._believe(found)
        skill, state = found.refitted.skill * self.weight, found.refitted.state
        self._skill[who, : skill.shape[1]] = skill
        given = np.asarray(ballots.given * self.weight, dtype=np.float64).reshape(len(runs), -1)
        by_run = skill.reshape(*given.shape, -1)
        self.low_information[who] = self.engines[found.stage].low_information(by_run, self.price, given).ravel()
        answered = np.flatnonzero(state.votes.any(axis=1))
        reopens = np.full(len(answered), policy.refit is not None and (policy.refit.reopen or calibrated))
        if never_reopens is not None:
            reopens &= ~never_reopens[answered]
        kept = State(state.votes[answered], state.model_state[answered])
        self._restate(self.engines[found.stage], own[answered], kept, may_reopen=reopens)
        self.refit_at[runs] = self._next_refit(float(self.given[runs].mean()))

    def skill_of(self, stage: int, who: IntArray | slice) -> Array:
        """The skills of these rows of workers in the shape of a stage, (workers, parameters)."""
        return self._skill[who, : len(self._new_workers[stage])]

    def _believe(self, found: fitting.Fit) -> None:
        """Believe opinions as far as the fit has found their sources reliable; by default, priors are facts."""

    def _restate(self, engine: Engine, item: IntArray, state: State, *, may_reopen: Mask) -> None:
        """Replace what is kept of these items, and judge them again."""
        self.rows.restate(engine, item, state, may_reopen=may_reopen)

    def _next_refit(self, given: float) -> int:
        """The number of answers at which a run that was refitted at `given` is refitted next."""
        return NEVER if self.policy.refit is None else self.policy.refit.next_at(int(given))

    def _teach(self, worker: IntArray, before: Array, after: Array) -> None:
        """Replace the skills of these workers by those that an answer of each has taught."""
        self._refuse_repeated_workers(worker, before, after)
        self._skill[worker, : after.shape[1]] = after

    def _by_stage(self, run: IntArray) -> Iterator[tuple[Engine, Mask | slice]]:
        """Each engine in force, and the places of `run` at which it is."""
        stage = self.stage[run]
        if (stage == stage[:1]).all():
            yield self.engines[stage[0]], slice(None)
            return
        for each in np.unique(stage).tolist():
            yield self.engines[each], stage == each

    def _refuse_repeated_workers(self, worker: IntArray, before: Array, after: Array) -> None:
        """Two answers of one worker would each be learned from the same skill, and one of them would be lost."""
        if len(worker) <= self.runs:  # at most one of each run
            return
        if len(np.unique(worker)) < len(worker) and (after != before).any():
            raise ValueError("two answers of one worker were learned together: pass them one after the other")
