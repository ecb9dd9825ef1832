"""Many runs of one job side by side, so that the arithmetic of a step is done once for all of them."""

from collections.abc import Iterator

import numpy as np

from app.lab.recorded import Recorded
from app.lab.rows import Rows
from app.lab.standing import Run, Standing, final_scores
from app.policy import fitting
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, IntArray, Mask, State
from app.policy.engine import Engine
from app.policy.rules import Rules
from app.policy.shares import NOBODY
from app.policy.worker_choice import WorkerChoice

_NEVER = np.iinfo(np.int64).max


class Runs:
    """The same job several times, each run with numbers of its own for chance to hang on, and no run touching another.

    Row r * items + i is item i of run r, and likewise with workers. As in `Campaign`, answers come as soon as they are
    asked for, and a fit that is due is done before the next question. What is left out is what hangs on finished items:
    records of agreement, spammers, gold, and models that judge workers by them (`side_by_side` tells).
    """

    def __init__(self, crowd: Recorded, rules: Rules, runs: int, budget: float | None = None) -> None:
        self.crowd, self.rules, self.runs = crowd, rules, runs
        self.items, self.workers = len(crowd.items), len(crowd.workers)
        self.stage = np.zeros(runs, dtype=np.int64)  # (runs,) of the worker model
        stages = range(len(rules.worker_model.stages(len(rules.labels))))
        self.engines = [Engine(rules, budget, inverse_costs=float(self.items), stage=stage) for stage in stages]
        self._newcomers = [engine.newcomer() for engine in self.engines]
        self.facts = Facts.plain(self.items * runs, rules.seed)
        self._rows = Rows(self.engines[0].initial(self.facts))
        self._skill = np.zeros((self.workers * runs, max(map(len, self._newcomers))))
        self._skill[:, : len(self._newcomers[0])] = self._newcomers[0]
        self.open: Mask = np.ones(self.items * runs, dtype=bool)
        self.away: Mask = np.zeros(self.workers * runs, dtype=bool)  # whose answers are not wanted any more
        self.label: IntArray = np.full(self.items * runs, NOBODY)
        self.priority: Array = np.zeros(self.items * runs)
        self._memory: dict[bytes, tuple[int, bool, float]] = {}
        self._judge(self.engines[0], np.arange(self.items * runs))
        self.taken: IntArray = np.full((runs, len(crowd.label)), -1)  # (runs, answers) the answers in their order
        self.given = np.zeros(runs, dtype=np.int64)
        self._refit_at = np.full(runs, _NEVER if rules.first_refit is None else rules.first_refit)

    @staticmethod
    def side_by_side(rules: Rules) -> bool:
        """Whether runs of such a job are all that `Campaign` would make of it."""
        no_gold_no_spammers = rules.spammers is None and rules.auto_gold is None
        return no_gold_no_spammers and not rules.worker_model.scores_finished_items

    def take(self, run: IntArray, answer: IntArray) -> IntArray:
        """One recorded answer in each of these runs; which of them were fitted anew after it."""
        item, worker = self.item(run, answer), self.worker(run, answer)
        for engine, rows in self._by_stage(run):
            which, who = item[rows], worker[rows]
            skill = self._skill_in(engine.stage, who)
            learned = engine.learn(
                self._rows.some(which), self.facts.rows(which), skill, self.crowd.label[answer[rows]]
            )
            self._rows.put(which, learned[0])
            self._skill[who, : skill.shape[1]] = learned[1]
            self._judge(engine, which)
        self.taken[run, self.given[run]] = answer
        self.given[run] += 1
        due = run[self.given[run] >= self._refit_at[run]]
        for each in due.tolist():
            self.refit(each)
        return due

    def item(self, run: IntArray, answer: IntArray) -> IntArray:
        """The rows of the items that were answered."""
        return np.asarray(run * self.items + self.crowd.item[answer])

    def worker(self, run: IntArray, answer: IntArray) -> IntArray:
        """The rows of the workers who answered."""
        return np.asarray(run * self.workers + self.crowd.worker[answer])

    def worth(self, run: IntArray, answer: IntArray, choice: WorkerChoice) -> Array:
        """What each of these answers promises, its worker taken to be as good as the choice hopes; shape (answers,)."""
        worth, item, worker = np.empty(len(run)), self.item(run, answer), self.worker(run, answer)
        for engine, rows in self._by_stage(run):
            which = item[rows]
            hoped = choice.hoped(engine.model, self._skill_in(engine.stage, worker[rows]))
            worth[rows] = engine.worth(self._rows.some(which), self.facts.rows(which), hoped)
        return worth

    def tells_workers_apart(self, run: int) -> bool:
        """What an answer is worth hangs on whose it is, as this run sees workers now."""
        return bool(self.engines[self.stage[run]].tells_workers_apart)

    def trust(self, run: int) -> Array:
        """How often each worker is believed to be right, as this run sees them now; shape (workers,)."""
        who = np.arange(self.workers) + run * self.workers
        stage = int(self.stage[run])
        return self.engines[stage].model.accuracy(self._skill_in(stage, who))

    def refit(self, run: int) -> None:
        """Estimate skills and items of a run anew from all of its answers: `Campaign.refit`."""
        rules, stage, own = self.rules, int(self.stage[run]), np.arange(self.items) + run * self.items
        who = np.arange(self.workers) + run * self.workers
        known = fitting.Crowd(self._skill_in(stage, who), np.tile(self._newcomers[stage], (self.workers, 1)))
        ballots = self.ballots(run)
        found = fitting.fit(rules.worker_model, stage, ballots, self.facts.rows(own), known)
        self.stage[run] = found.stage
        engine = self.engines[found.stage]
        self.away[who] = engine.turned_away(found.refitted.skill, np.ones(self.workers), ballots.given)
        self._skill[who, : found.refitted.skill.shape[1]] = found.refitted.skill
        answered = np.flatnonzero(found.refitted.state.votes.any(axis=1))
        state = State(found.refitted.state.votes[answered], found.refitted.state.evidence[answered])
        self._rows.put(own[answered], state)
        self._judge(engine, own[answered], reopens=rules.refit is not None and rules.refit.reopen)
        self._refit_at[run] = _NEVER if rules.refit is None else rules.refit.next_at(int(self.given[run]))

    def ballots(self, run: int) -> Ballots:
        """The answers of a run in their order."""
        crowd, taken = self.crowd, self.taken[run, : self.given[run]]
        sizes = {"items": self.items, "workers": self.workers, "classes": len(self.rules.labels)}
        return Ballots.of(crowd.item[taken], crowd.worker[taken], crowd.label[taken], **sizes)

    def standing(self) -> Standing:
        """Where all runs stand now."""
        return Standing.of(self.crowd, [self._run(run) for run in range(self.runs)])

    def _run(self, run: int) -> Run:
        own = np.arange(self.items) + run * self.items
        state, engine = self._rows.some(own), self.engines[self.stage[run]]
        scores = final_scores(
            self.rules.aggregation,
            state.votes,
            self.label[own],
            lambda: engine.prospect(state, self.facts.rows(own)).now.posterior,
            lambda: self.ballots(run),
        )
        return Run(int(self.given[run]), self.label[own], scores)

    def _skill_in(self, stage: int, who: IntArray) -> Array:
        return self._skill[who, : len(self._newcomers[stage])]

    def _by_stage(self, run: IntArray) -> Iterator[tuple[Engine, Mask | slice]]:
        """The engine in force, and the rows of those for whom it is."""
        stage = self.stage[run]
        if (stage == stage[:1]).all():
            yield self.engines[stage[0]], slice(None)
            return
        for each in np.unique(stage).tolist():
            yield self.engines[each], stage == each

    def _judge(self, engine: Engine, item: IntArray, *, reopens: bool = True) -> None:
        """Bring verdicts and priorities up to date; where nothing may reopen, as `Job.restate` does."""
        label, closed, priority = self._judged(engine, item)
        if not reopens:
            kept = ~(self.open[item] | ((self.label[item] != NOBODY) & (label != NOBODY)))
            item, label, closed, priority = (each[~kept] for each in (item, label, closed, priority))
        self.label[item], self.open[item], self.priority[item] = label, ~closed, priority

    def _judged(self, engine: Engine, item: IntArray) -> tuple[IntArray, Mask, Array]:
        state = self._rows.some(item)
        if not self._alike_by_votes(state) or len(item) > self.runs:
            return self._judged_now(engine, item, state)
        keys = [votes.tobytes() for votes in state.votes]
        new = [row for row, key in enumerate(keys) if key not in self._memory]
        if new:
            fresh = State(state.votes[new], state.evidence[new])
            found = (each.tolist() for each in self._judged_now(engine, item[new], fresh))
            self._memory |= dict(zip([keys[row] for row in new], zip(*found, strict=True), strict=True))
        label, closed, priority = zip(*(self._memory[key] for key in keys), strict=True)
        return np.array(label), np.array(closed), np.array(priority)

    def _judged_now(self, engine: Engine, item: IntArray, state: State) -> tuple[IntArray, Mask, Array]:
        prospect = engine.prospect(state, self.facts.rows(item))
        ending = engine.ending(prospect.now)
        return ending.winner, ending.closed, engine.priority(prospect)

    def _alike_by_votes(self, state: State) -> bool:
        """Items of the same votes stand alike, so that what was said of one holds for all."""
        return self.rules.by_votes_alone and not state.evidence.shape[1]
