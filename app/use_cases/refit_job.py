"""Estimate everything anew from all answers of a job, while the job goes on.

All answers up to a moment are fitted away from the event loop. What has come meanwhile is learned on top, the workers'
skills are replaced in one short transaction, and the items page by page in others, each with the answers that have come
by then. Nobody waits longer than for a page, and no answer is lost: an item holds what was fitted and all that came.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.policy.aggregation import Ballots
from app.policy.belief import Array, Facts, IntArray, State
from app.policy.fitting import Crowd, Fit, fit
from app.policy.shares import Index
from app.policy.worker_choice import too_little
from app.policy.workers.replayed import replayed
from app.store.answers import Vote, votes_on_items_since, votes_since
from app.store.history import History, ballots_of, read_history
from app.store.jobs import Job, load_job, lock_job, save_ledger, save_stage
from app.store.standings import Place, places_of, versions_of
from app.store.workers import Fitted, forget_skills, load_workers, replace_skills, save_turned_away
from app.use_cases.clock import Clock
from app.use_cases.judge_again import Change, changes_of, write_changes
from app.use_cases.skills import accuracies, skill_rows
from app.use_cases.standing import with_state
from app.use_cases.workshop import Workshop

Report = Callable[[float], Awaitable[None]]


class Overtaken(Exception):
    """Votes were removed or put back while all of them were being fitted: the fit is of yesterday."""


_PAGE = 400  # items in one transaction: a few hundredths of a second in which others wait
_WORKERS = 1000  # whose skills are written in one transaction
_FEW = 200  # answers that are caught up with while others wait
_BREATH = 0.001  # seconds between two pages, for those who wait
_FITTED = 0.3  # of the way, when the fit is done


@dataclass(frozen=True)
class Useless:
    """A worker whose answers tell too little."""

    worth: float  # at best, of what an answer of the job tells on average for the same money
    answers: int

    def as_json(self, now: datetime) -> dict[str, Any]:
        """What is kept of it."""
        reason = too_little(self.worth, self.answers)
        return {"reason": reason.as_json(), "worth": self.worth, "since": now.isoformat()}


async def refit_job(
    connection: AsyncConnection, workshop: Workshop, job_id: UUID, clock: Clock, report: Report
) -> dict[str, Any]:
    """Fit, take over, write back; gives what is told of it. The caller sees to it that nobody else does the same."""
    history = await read_history(connection, job_id)
    if not history.job.items:
        return {"answers": 0, "items": 0}
    found, useless = await workshop.do(len(history.votes.item), _fitted, history)
    await report(_FITTED)
    draft = _Draft(history, found)
    await _catch_up(connection, draft)
    before = await _take_over(connection, draft)
    away = await _turn_away(connection, before, useless, clock())
    job = await _write_pages(connection, draft, clock, report)
    return _outcome(draft, before, job) | {"turned_away": away}


def _fitted(history: History) -> tuple[Fit, dict[str, Useless]]:
    """The fit, and whom it finds not worth asking."""
    job, ballots = history.job, ballots_of(history)
    prior = skill_rows(job.engine, history.carried, ballots.workers)
    crowd = Crowd(skill=skill_rows(job.engine, history.skills, ballots.workers, prior), prior=prior)
    found = fit(job.rules.worker_model, job.stage, ballots, _facts(history), crowd)
    return found, _useless(history, found, ballots.given)


def _useless(history: History, found: Fit, answers: Index) -> dict[str, Useless]:
    """Of those who have a name: who has none cannot be told when coming again."""
    engine, skill = replace(history.job, stage=found.stage).engine, found.refitted.skill
    price = np.concatenate([history.price, np.ones(len(answers) - len(history.crowd))])
    away = np.flatnonzero(engine.turned_away(skill, price, answers)[: len(history.crowd)])
    if not len(away):
        return {}
    worth = engine.worth_of_workers(skill, price, answers)
    return {history.crowd[place]: Useless(float(worth[place]), int(answers[place])) for place in away.tolist()}


def _facts(history: History) -> Facts:
    return replace(Facts.plain(history.job.items, history.job.rules.seed), prior=history.prior, gold=history.gold)


@dataclass
class _Draft:
    """What was fitted, with what has been learned since: everything as of the answer number `until`."""

    history: History
    found: Fit

    def __post_init__(self) -> None:
        job, refitted = self.history.job, self.found.refitted
        self.until = job.answers
        self.engine = replace(job, stage=self.found.stage).engine
        self.facts = _facts(self.history)
        self.votes, self.evidence = refitted.state.votes.copy(), np.array(refitted.state.evidence)
        self.skills: dict[str, Array] = dict(zip(self.history.crowd, refitted.skill, strict=False))
        copies = [] if refitted.copies is None else refitted.copies.tolist()
        self.copies = {name: one for name, one in zip(self.history.crowd, copies, strict=False) if not np.isnan(one)}
        self.newcomer = self.engine.newcomer()

    @property
    def item_ids(self) -> list[int]:
        """Items that somebody has answered."""
        return (np.flatnonzero(self.votes.any(axis=1)) + 1).tolist()

    def learn(self, votes: Sequence[Vote]) -> None:
        """Answers that have come since, as they would have been learned one by one."""
        for some in _apart([vote for vote in votes if vote.item_id <= len(self.votes)]):
            rows = np.array([vote.item_id - 1 for vote in some])
            skill = np.array([self.skills.get(vote.worker or "", self.newcomer) for vote in some])
            label = np.array([vote.label for vote in some])
            state, learned = self.engine.learn(self.state(rows), self.facts.rows(rows), skill, label)
            self.put(rows, state)
            self.skills |= {
                vote.worker: row for vote, row in zip(some, learned, strict=True) if vote.worker is not None
            }

    def with_votes(self, item_ids: Sequence[int], votes: Sequence[Vote], skills: dict[str, Array]) -> State:
        """These items with further votes; what those taught about their workers is known already, as `skills`."""
        rows = np.array(item_ids) - 1
        if not votes:
            return self.state(rows)
        names: list[str | None] = [None, *skills]
        ballots = Ballots.of(
            np.searchsorted(rows, [vote.item_id - 1 for vote in votes]),
            [names.index(vote.worker) if vote.worker in skills else 0 for vote in votes],
            [vote.label for vote in votes],
            items=len(rows),
            workers=len(names),
            classes=self.votes.shape[1],
        )
        known = np.array([self.newcomer, *skills.values()])
        return replayed(self.engine.model, ballots, self.facts.rows(rows), known, self.state(rows))

    def state(self, rows: IntArray) -> State:
        return State(self.votes[rows], self.evidence[rows])

    def put(self, rows: IntArray, state: State) -> None:
        wider = state.evidence.shape[1] - self.evidence.shape[1]
        if wider > 0:  # a model that keeps something of every answer
            self.evidence = np.pad(self.evidence, ((0, 0), (0, wider)), constant_values=np.nan)
        self.votes[rows], self.evidence[rows] = state.votes, state.evidence


def _apart(votes: Sequence[Vote]) -> Iterator[list[Vote]]:
    """Cut where an item or a worker comes again: what is left together can be learned together."""
    some: list[Vote] = []
    seen: set[object] = set()
    for vote in votes:
        touched = {vote.item_id, vote.worker} - {None}
        if touched & seen:
            yield some
            some, seen = [], set()
        some.append(vote)
        seen |= touched
    if some:
        yield some


async def _catch_up(connection: AsyncConnection, draft: _Draft) -> None:
    """Learn what has come during the fit, until only a few answers are left for the time under the lock."""
    behind = _FEW + 1
    while behind > _FEW:
        async with connection.begin():
            job = await load_job(connection, draft.history.job.job_id)
            votes, until = await votes_since(connection, job.job_id, draft.until)
        await asyncio.to_thread(draft.learn, votes)
        behind, draft.until = until - draft.until, until


async def _take_over(connection: AsyncConnection, draft: _Draft) -> Job:
    """From now on the job is in the fitted stage with the fitted skills; items follow.

    A few workers at a time, each as of the last answer by then; all at once where the stage changes, and with it what
    the numbers of a skill mean.
    """
    job = draft.history.job
    moves = draft.found.stage != job.stage
    names = [] if moves else list(draft.history.crowd)
    for start in range(0, max(len(names), 1), _WORKERS):
        async with connection.begin():
            job = await lock_job(connection, job.job_id)
            votes, draft.until = await votes_since(connection, job.job_id, draft.until)
            draft.learn(votes)
            job = _refitted(job, draft)
            if moves:  # who has answered only what is newer than the fit begins anew
                await forget_skills(connection, job.job_id)
            some = list(draft.skills) if moves else names[start : start + _WORKERS]
            skills = {name: draft.skills[name].tolist() for name in some if draft.skills[name].size}
            known = zip(skills.items(), accuracies(job, list(skills.values())), strict=True)
            fitted = [Fitted(name, skill, accuracy, draft.copies.get(name)) for (name, skill), accuracy in known]
            await replace_skills(connection, job.job_id, fitted)
            await save_ledger(connection, job)
            await save_stage(connection, job)
    return job


async def _turn_away(connection: AsyncConnection, job: Job, useless: Mapping[str, Useless], now: datetime) -> int:
    """From now on these get nothing new; nobody is turned away where the job asks whom it wants. Gives how many are."""
    if not job.rules.worker_choice.turns_away:
        return 0
    async with connection.begin():
        await lock_job(connection, job.job_id)
        away = {name: one.as_json(now) for name, one in useless.items()}
        return await save_turned_away(connection, job.job_id, away)


def _refitted(job: Job, draft: _Draft) -> Job:
    """The job in the stage that was chosen, with the time of the next refit."""
    schedule, choice = job.rules.refit, draft.found.choice
    return replace(
        job,
        stage=draft.found.stage,
        stage_choice=job.stage_choice if choice is None else choice.as_json(),
        refit_at=None if job.refit_at is None or schedule is None else schedule.next_at(job.answers),
    )


async def _write_pages(connection: AsyncConnection, draft: _Draft, clock: Clock, report: Report) -> Job:
    item_ids = draft.item_ids
    job = draft.history.job
    for start in range(0, len(item_ids), _PAGE):
        page = item_ids[start : start + _PAGE]
        job = await _write_page(connection, draft, page, clock)
        await report(_FITTED + (1 - _FITTED) * (start + len(page)) / len(item_ids))
        await asyncio.sleep(_BREATH)
    return job


async def _write_page(connection: AsyncConnection, draft: _Draft, item_ids: list[int], clock: Clock) -> Job:
    """Items are judged before the job is locked, and only those once more that have changed meanwhile."""
    async with connection.begin():
        judged_by = await load_job(connection, draft.history.job.job_id)
        versions = await versions_of(connection, judged_by.job_id, item_ids)
        changes = await _changes(connection, draft, judged_by, item_ids)
    async with connection.begin():
        job = await lock_job(connection, judged_by.job_id)
        if job.recounts != draft.history.job.recounts:
            raise Overtaken
        now_there = await versions_of(connection, job.job_id, item_ids)
        moved = {item_id for item_id in item_ids if now_there[item_id] != versions[item_id]}
        if job.engine != judged_by.engine:
            moved = set(item_ids)
        again = await _changes(connection, draft, job, sorted(moved)) if moved else []
        still = [change for change in changes if change.item_id not in moved]
        in_order = sorted([*still, *again], key=lambda change: change.item_id)
        job = await write_changes(connection, job, in_order, clock())
        await save_ledger(connection, job)
    return job


async def _changes(connection: AsyncConnection, draft: _Draft, job: Job, item_ids: Sequence[int]) -> list[Change]:
    """What becomes of these items by the fit and by the answers that have come since."""
    places = await places_of(connection, job.job_id, item_ids)
    since = await votes_on_items_since(connection, job.job_id, item_ids, draft.until)
    workers = await load_workers(connection, job.job_id, {vote.worker for vote in since if vote.worker is not None})
    known = {name: np.array(worker.skill) for name, worker in workers.items() if worker.skill is not None}
    return await asyncio.to_thread(_judged, job, draft, places, since, known)


def _judged(
    job: Job, draft: _Draft, places: Sequence[Place], since: Sequence[Vote], skills: dict[str, Array]
) -> list[Change]:
    anew = with_state(places, draft.with_votes([place.item_id for place in places], since, skills))
    schedule = job.rules.refit
    return changes_of(job.engine, places, anew, closed_too=schedule is not None and schedule.reopen)


def _outcome(draft: _Draft, before: Job, after: Job) -> dict[str, Any]:
    stages = after.rules.worker_model.stages(len(after.rules.labels))
    return {
        "answers": draft.until,
        "items": len(draft.item_ids),
        "iterations": draft.found.refitted.iterations,
        "converged": draft.found.refitted.converged,
        "worker_model": stages[draft.found.stage],
        "resolved": {"before": before.resolved, "after": after.resolved},
    }
