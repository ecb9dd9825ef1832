"""Run a job on the answers that a crowd of the past has given, as the service would have."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from app.lab.job import Job
from app.lab.recorded import Recorded
from app.lab.rehearsal import Standing
from app.policy import fitting
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Facts, Mask, State
from app.policy.engine import Engine
from app.policy.rules import Rules
from app.policy.shares import NOBODY


class ReplayedJob:
    """The item that is worth most is asked next, of a random worker whose answer is recorded and not yet used.

    All answers are fitted when the rules say so, and whom a fit turns away is not asked. An item of which no answer is
    left stays open and is not asked again.
    """

    def __init__(self, crowd: Recorded, rules: Rules, seed: int) -> None:
        self.crowd = crowd
        items, workers = len(crowd.items), len(crowd.workers)
        self.job = Job(Engine(rules), Facts.plain(items), workers)
        self.refit_at = rules.first_refit
        self._taken: list[int] = []  # positions of answers, in their order
        order = np.random.default_rng(seed).permutation(len(crowd.item))
        self._left: list[list[int]] = [[] for _ in range(items)]
        for position in order.tolist():
            self._left[crowd.item[position]].append(position)
        self._away = np.zeros(workers, dtype=bool)
        self._some_left = self._anybody_left()
        self._lot = self.job.engine.tie_breaks(self.job.facts.number)

    def answers(self) -> Iterator[int]:
        """Until nothing can be asked any more; gives how many answers were taken."""
        job, crowd = self.job, self.crowd
        while (item := self._next()) is not None:
            position = next(each for each in reversed(self._left[item]) if not self._away[crowd.worker[each]])
            self._left[item].remove(position)
            self._some_left[item] = self._is_wanted(item)
            self._taken.append(position)
            job.take_one(item, int(crowd.worker[position]), int(crowd.label[position]))
            if self.refit_at is not None and job.given >= self.refit_at:
                self._refit()
            yield job.given

    def standing(self) -> Standing:
        """The job as it stands, of those workers who have come."""
        job, ballots = self.job, self._ballots()
        come, worker = np.unique(ballots.worker, return_inverse=True)
        newcomers = np.tile(job.engine.newcomer(), (len(come), 1))
        return Standing(
            answers=replace(ballots, worker=worker, workers=len(come)),
            state=job.state(np.arange(ballots.items)),
            label=job.label.copy(),
            closed=~job.open,
            skill=job.skill[come],
            prior=newcomers,
            price=job.price[come],
            unwanted=self._away[come],
            given=job.given,
            refit_at=self.refit_at,
        )

    def accuracy(self) -> float:
        """The share of resolved items whose label is right."""
        resolved = self.job.label != NOBODY
        return float((self.job.label == self.crowd.truth)[resolved].mean())

    def _anybody_left(self) -> Mask:
        """Of which items somebody may still be asked, shape (items,)."""
        return np.array([self._is_wanted(item) for item in range(len(self._left))])

    def _is_wanted(self, item: int) -> bool:
        return not self._away[self.crowd.worker[self._left[item]]].all()

    def _next(self) -> int | None:
        job = self.job
        value = np.where(job.open & self._some_left, job.priority, -np.inf)
        highest = value.max()
        if np.isneginf(highest):
            return None
        best = np.flatnonzero(value == highest)
        return int(best[self._lot[best].argmin()])

    def _ballots(self) -> Ballots:
        crowd, taken = self.crowd, np.array(self._taken)
        sizes = {"items": len(crowd.items), "workers": len(crowd.workers), "classes": len(crowd.labels)}
        return Ballots.of(crowd.item[taken], crowd.worker[taken], crowd.label[taken], **sizes)

    def _refit(self) -> None:
        """As `Campaign.refit` does, without gold and without blocks."""
        job, ballots, rules = self.job, self._ballots(), self.job.engine.rules
        newcomers = np.tile(job.engine.newcomer(), (ballots.workers, 1))
        found = fitting.fit(
            rules.worker_model, job.engine.stage, ballots, job.facts, fitting.Crowd(job.skill, newcomers)
        )
        job.engine, job.skill = replace(job.engine, stage=found.stage), found.refitted.skill.copy()
        self._away = job.engine.turned_away(job.skill, job.price, ballots.given)
        self._some_left = self._anybody_left()
        answered = np.flatnonzero(ballots.answered)
        state = found.refitted.state
        reopens = np.full(len(answered), rules.refit is not None and rules.refit.reopen)
        job.restate(answered, State(state.votes[answered], state.evidence[answered]), reopens=reopens)
        self.refit_at = None if rules.refit is None else rules.refit.next_at(job.given)
