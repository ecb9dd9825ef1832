"""Replay recorded answers in many runs of a job side by side."""

import numpy as np

from app.policy.core.ballots import Ballots
from app.policy.core.belief import Array, IntArray, ItemContext
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.worker_choice import WorkerChoice
from app.simulation.parallel_runs import ParallelRuns
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.scores import RunState, Scores, final_scores


class RecordedRuns(ParallelRuns):
    """Runs of a job on the same recorded answers; each run has its own random numbers.

    A refit that is due is done before the next question. Everything that depends on finished items is left out: records
    of agreement, spammers, gold, and models that score workers by finished items; and so are features (`supports`).
    """

    def __init__(self, crowd: RecordedAnswers, policy: JobPolicy, runs: int, budget: float | None = None) -> None:
        items = len(crowd.items)
        engine = Engine(policy, budget, inverse_costs=float(items))
        super().__init__(engine, ItemContext.plain(items * runs), len(crowd.workers), runs=runs)
        self.crowd = crowd
        self.taken: IntArray = np.full((runs, len(crowd.label)), -1)  # (runs, answers) positions, in their order

    @staticmethod
    def supports(policy: JobPolicy) -> bool:
        """Whether these runs decide everything that a `SimulatedJob` of this policy decides."""
        plain = policy.spammers is None and policy.auto_gold is None and policy.features is None
        return plain and not policy.worker_model.scores_finished_items

    def take(self, run: IntArray, answer: IntArray) -> IntArray:
        """Take one recorded answer in each of these runs; returns the runs that were refitted after it."""
        self.taken[run, self.given[run]] = answer
        self.learn(self.item(run, answer), self.worker(run, answer), self.crowd.label[answer])
        due = run[self.given[run] >= self.refit_at[run]]
        for each in due.tolist():
            self.refit(each, self.ballots(each))
        return due

    def item(self, run: IntArray, answer: IntArray) -> IntArray:
        """The rows of the items that were answered."""
        return np.asarray(run * self.items + self.crowd.item[answer])

    def worker(self, run: IntArray, answer: IntArray) -> IntArray:
        """The rows of the workers who answered."""
        return np.asarray(run * self.workers + self.crowd.worker[answer])

    def worth(self, run: IntArray, answer: IntArray, choice: WorkerChoice) -> Array:
        """What each of these answers is worth, with the skill that the choice assumes; shape (answers,)."""
        worth, item, worker = np.empty(len(run)), self.item(run, answer), self.worker(run, answer)
        for engine, places in self._by_stage(run):
            rows = item[places]
            assumed = choice.assumed_skill(engine.model, self.skill_of(engine.stage, worker[places]))
            worth[places] = engine.value_for(self.state(rows), self.context.rows(rows), assumed)
        return worth

    def tells_workers_apart(self, run: int) -> bool:
        """Whether the worth of an answer depends on its worker at the current stage of this run."""
        return bool(self.engines[self.stage[run]].tells_workers_apart)

    def trust(self, run: int) -> Array:
        """The estimated accuracy of each worker in this run, shape (workers,)."""
        stage = int(self.stage[run])
        return self.engines[stage].model.accuracy(self.skill_of(stage, np.arange(self.workers) + run * self.workers))

    def ballots(self, run: int) -> Ballots:
        """The answers of a run in their order."""
        crowd, taken = self.crowd, self.taken[run, : self.given[run]]
        return self.policy.ballots(
            crowd.item[taken], crowd.worker[taken], crowd.label[taken], items=self.items, workers=self.workers
        )

    def scores(self) -> Scores:
        """How much of the truth each run knows now."""
        return Scores.of(self.crowd, [self._run_state(run) for run in range(self.runs)])

    def _run_state(self, run: int) -> RunState:
        own = np.arange(self.items) + run * self.items
        state, engine = self.state(own), self.engines[self.stage[run]]
        scores = final_scores(
            self.policy,
            state.votes,
            self.label[own],
            lambda: engine.lookahead(state, self.context.rows(own)).now,
            lambda: self.ballots(run),
        )
        return RunState(int(self.given[run]), self.label[own], scores)
