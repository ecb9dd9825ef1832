"""Refit a job: estimate all skills and beliefs again from all answers, while the job goes on.

1. Fit all answers up to a moment, off the event loop.
2. Learn the answers that arrived during the fit.
3. Write the fitted skills, in short transactions.
4. Write the items page by page, each with the answers that it has by then.

No request waits longer than for one page, and no answer is lost.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.answer import CountedVote
from app.domain.item import ItemRow
from app.domain.job import Job
from app.domain.operation import Operation
from app.domain.worker import Voter
from app.policy.core.belief import Array
from app.policy.quality.calibration import WITH_GOLD
from app.policy.quality.fitting import Fit, FittedCrowd, fit
from app.policy.quality.item_features import PRIORS
from app.store.answers import votes_on_items_since, votes_since
from app.store.item_decisions import item_rows_of, set_feature_opinions, versions_of
from app.store.job_history import History, ballots_of, features_of, read_history
from app.store.jobs import load_job, lock_job, save_fit, save_ledger
from app.store.operations import first_unfinished, jobs_to_refit
from app.store.workers import FittedSkill, forget_skills, load_stated_workers, load_workers, replace_skills
from app.use_cases.clock import Clock
from app.use_cases.operations.low_information import LowInformation, find_low_information, give_no_new_work
from app.use_cases.operations.operation_lifecycle import (
    Outcome,
    Outdated,
    Report,
    carry_out,
    create_operation,
    request_operation,
)
from app.use_cases.operations.refit_draft import RefitDraft, context_of_history
from app.use_cases.operations.worker_process import WorkerProcess
from app.use_cases.work.batching import refit_is_due
from app.use_cases.work.judging import with_state
from app.use_cases.work.rejudging import DecisionChange, changes_of, rejudge_opinions, write_changes
from app.use_cases.workers.skills import accuracies, credited_rows, skill_rows, stated_skill, tier_skills, with_tiers

REFIT = "refit"
_PAGE = 400  # items per transaction: other writers of the job wait for a few hundredths of a second
_WORKERS = 1000  # per transaction that writes skills
_FEW = 200  # answers that may be learned while the job is locked
_PAUSE = 0.001  # seconds between two pages, in which waiting requests get the lock
_FITTED = 0.3  # the progress when the fit is done


@dataclass(frozen=True)
class RefitHandler:
    """Refits jobs in the background, on request or when a refit is due."""

    clock: Clock
    process: WorkerProcess

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_to_refit(connection)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with connection.begin():
            job = await load_job(connection, job_id)
            operation = await first_unfinished(connection, job_id, REFIT)
        if operation is None and refit_is_due(job):
            async with connection.begin():
                job = await lock_job(connection, job_id)
                operation = await create_operation(connection, job, REFIT, self.clock())
        if operation is None:
            return False

        async def work(report: Report) -> Outcome:
            return await refit_job(connection, self.process, job_id, self.clock, report)

        if await carry_out(connection, job_id, operation, work, self.clock) == "failed":
            await _put_off(connection, job_id)
        return True


async def request_refit(database: AsyncEngine, job_id: UUID, now: datetime) -> Operation:
    """Request a refit; if one is already waiting, return that one."""
    return await request_operation(database, job_id, REFIT, now)


async def _put_off(connection: AsyncConnection, job_id: UUID) -> None:
    """Delay the next refit until there are more answers: a fit that failed would fail again."""
    async with connection.begin():
        job = await lock_job(connection, job_id)
        if refit_is_due(job) and job.policy.refit is not None:
            await save_ledger(connection, replace(job, refit_at=job.policy.refit.next_at(job.answers)))


async def refit_job(
    connection: AsyncConnection, process: WorkerProcess, job_id: UUID, clock: Clock, report: Report
) -> Outcome:
    """Refit a job and return the operation's outcome. The caller ensures that no other replica does the same.

    Raises `Outdated` if votes were removed or put back in the meantime.
    """
    history = await read_history(connection, job_id)
    if not history.job.items:
        return {"answers": 0, "items": 0}
    found, low_information = await process.run(len(history.votes.item), _fit_history, history)
    await report(_FITTED)
    draft = RefitDraft(history, found)
    await _catch_up(connection, draft)
    before = await _take_over(connection, draft)
    low_information_workers = await give_no_new_work(connection, before, low_information, clock())
    after = await _write_pages(connection, draft, clock, report)
    if not before.engine.believes_as(history.job.engine):
        after = await _write_priors(connection, before, clock)
    return _outcome(draft, before, after) | {"low_information_workers": low_information_workers}


def _fit_history(history: History) -> tuple[Fit, dict[str, LowInformation]]:
    """Fit all answers, and find the low-information workers by that fit."""
    job, ballots = history.job, ballots_of(history)
    credited = credited_rows(job.engine, history.carried, history.stated, ballots.workers)
    prior = with_tiers(job.engine, credited, history.votes.tiers)
    stated: Array = np.full((ballots.workers, 2), np.nan)
    stated[: len(history.stated)] = history.stated
    crowd = FittedCrowd(skill_rows(job.engine, history.skills, ballots.workers, prior), prior, stated)
    context = context_of_history(history)
    found = fit(
        job.policy.worker_model,
        job.stage,
        ballots,
        context,
        crowd,
        features=features_of(history),
        audited=history.audited,
        calibration_prior=job.calibration_prior or WITH_GOLD,
        questions=job.policy.questions,
    )
    return found, find_low_information(history, found, ballots.given)


async def _catch_up(connection: AsyncConnection, draft: RefitDraft) -> None:
    """Learn the answers that arrived during the fit, until only a few are left to learn while the job is locked."""
    behind = _FEW + 1
    while behind > _FEW:
        async with connection.begin():
            job = await load_job(connection, draft.history.job.job_id)
            votes, until = await votes_since(connection, job.job_id, draft.until)
        await asyncio.to_thread(draft.learn, votes)
        behind, draft.until = until - draft.until, until


async def _take_over(connection: AsyncConnection, draft: RefitDraft) -> Job:
    """Write the fitted stage and the fitted skills; the items follow later.

    Each transaction writes a few workers, with all answers until then. If the stage changes, one transaction writes all
    workers, because the parameters of a skill then have another meaning.
    """
    job = draft.history.job
    changes_stage = draft.fit.stage != job.stage
    names = [] if changes_stage else list(draft.history.crowd)
    for start in range(0, max(len(names), 1), _WORKERS):
        async with connection.begin():
            job = await lock_job(connection, job.job_id)
            votes, draft.until = await votes_since(connection, job.job_id, draft.until)
            draft.learn(votes)
            job = _with_fit(job, draft)
            if changes_stage:  # also those of workers who answered only items newer than the fit
                await forget_skills(connection, job.job_id)
            some = list(draft.skills) if changes_stage else names[start : start + _WORKERS]
            await replace_skills(connection, job.job_id, _fitted_skills(job, draft, some))
            if changes_stage:
                await _credit(connection, job, draft)
            await save_ledger(connection, job)
            await save_fit(connection, job)
    return job


def _with_fit(job: Job, draft: RefitDraft) -> Job:
    """Return the job in the stage that the fit has chosen, with its calibration and the time of the next refit."""
    schedule, choice = job.policy.refit, draft.fit.choice
    return replace(
        draft.with_fit(job),
        stage_choice=job.stage_choice if choice is None else choice.as_json(),
        refit_at=None if job.refit_at is None or schedule is None else schedule.next_at(job.answers),
    )


def _fitted_skills(job: Job, draft: RefitDraft, names: Sequence[str]) -> list[FittedSkill]:
    skills = {name: draft.skills[name].tolist() for name in names if draft.skills[name].size}
    return [
        FittedSkill(name, skill, accuracy, draft.copying_probability.get(name))
        for (name, skill), accuracy in zip(skills.items(), accuracies(job, list(skills.values())), strict=True)
    ]


async def _credit(connection: AsyncConnection, job: Job, draft: RefitDraft) -> None:
    """Give workers of stated accuracy who registered during the fit their skill in the new stage."""
    known = await load_stated_workers(connection, job.job_id)
    skills = {name: stated_skill(job, one) for name, one in known.items() if name not in draft.skills}
    found = [FittedSkill(name, skill.tolist(), None, None) for name, skill in skills.items() if skill is not None]
    await replace_skills(connection, job.job_id, found)


async def _write_pages(connection: AsyncConnection, draft: RefitDraft, clock: Clock, report: Report) -> Job:
    item_ids = draft.item_ids
    job = draft.history.job
    for start in range(0, len(item_ids), _PAGE):
        page = item_ids[start : start + _PAGE]
        job = await _write_page(connection, draft, page, clock)
        await report(_FITTED + (1 - _FITTED) * (start + len(page)) / len(item_ids))
        await asyncio.sleep(_PAUSE)
    return job


async def _write_priors(connection: AsyncConnection, fitted: Job, clock: Clock) -> Job:
    """Judge the items that have nothing but a prior by what their source is believed now, page by page."""
    job, after = fitted, 0
    while True:
        async with connection.begin():
            job = await lock_job(connection, job.job_id)
            if job.sources != fitted.sources:  # blocked or registered again meanwhile, which has judged them
                return job
            job, last = await rejudge_opinions(connection, job, PRIORS, after=after, most=_PAGE, now=clock())
            await save_ledger(connection, job)
        if last is None:
            return job
        after = last
        await asyncio.sleep(_PAUSE)


async def _write_page(connection: AsyncConnection, draft: RefitDraft, item_ids: list[int], clock: Clock) -> Job:
    """Judge items before the job is locked; under the lock, judge only those again that have changed since."""
    async with connection.begin():
        judged_by = await load_job(connection, draft.history.job.job_id)
        versions = await versions_of(connection, judged_by.job_id, item_ids)
        changes = await _changes(connection, draft, judged_by, item_ids)
    async with connection.begin():
        job = await lock_job(connection, judged_by.job_id)
        if job.recounts != draft.history.job.recounts:
            raise Outdated
        versions_now = await versions_of(connection, job.job_id, item_ids)
        moved = {item_id for item_id in item_ids if versions_now[item_id] != versions[item_id]}
        if job.engine != judged_by.engine:
            moved = set(item_ids)
        again = await _changes(connection, draft, job, sorted(moved)) if moved else []
        unmoved = [change for change in changes if change.item_id not in moved]
        in_order = sorted([*unmoved, *again], key=lambda change: change.item_id)
        job = await write_changes(connection, job, in_order, clock())
        await set_feature_opinions(connection, job.job_id, draft.feature_opinions(item_ids))
        await save_ledger(connection, job)
    return job


async def _changes(
    connection: AsyncConnection, draft: RefitDraft, job: Job, item_ids: Sequence[int]
) -> list[DecisionChange]:
    """Return how the fit and the answers since then change these items."""
    found = await item_rows_of(connection, job.job_id, item_ids)
    # Where the source has answered since the fit, that answer has replaced the prior, which is in the fit.
    rows = [row for row in found if not (row.prior_answered and draft.has_prior(row.item_id))]
    item_ids = [row.item_id for row in rows]
    since = await votes_on_items_since(connection, job.job_id, item_ids, draft.until)
    workers = await load_workers(connection, job.job_id, {vote.voter for vote in since if isinstance(vote.voter, str)})
    skills = tier_skills(job.engine)
    skills |= {name: np.array(worker.skill) for name, worker in workers.items() if worker.skill is not None}
    return await asyncio.to_thread(_judged, job, draft, rows, since, skills)


def _judged(
    job: Job, draft: RefitDraft, rows: Sequence[ItemRow], since: Sequence[CountedVote], skills: Mapping[Voter, Array]
) -> list[DecisionChange]:
    item_ids = [row.item_id for row in rows]
    refitted = with_state(rows, draft.with_votes(item_ids, since, skills))
    if said := dict(draft.feature_opinions(item_ids)):
        refitted = [replace(row, feature_opinion=said[row.item_id]) for row in refitted]
    schedule = job.policy.refit
    reopens = schedule is not None and (schedule.reopen or draft.fit.calibration is not None)
    untouched = {row.item_id for row in refitted if not any(row.decision.votes)}
    changes: list[DecisionChange] = []
    for some in (untouched, set(item_ids) - untouched):
        before, after = ([row for row in each if row.item_id in some] for each in (rows, refitted))
        # What was given up without an answer may open again, by what its features say now.
        changes += changes_of(job.engine, before, after, reopens=reopens or some is untouched)
    return changes


def _outcome(draft: RefitDraft, before: Job, after: Job) -> Outcome:
    stages = after.policy.worker_model.stages(after.policy.classes).names
    return {
        "answers": draft.until,
        "items": len(draft.item_ids),
        "iterations": draft.fit.refitted.iterations,
        "converged": draft.fit.refitted.converged,
        "worker_model": stages[draft.fit.stage],
        "resolved": {"before": before.resolved, "after": after.resolved},
    }
