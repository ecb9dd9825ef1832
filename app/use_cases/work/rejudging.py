"""Judge stored items again when the policy, the budget or the votes have changed, a page at a time."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import fsum

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import ItemDecision, ItemRow, ItemState, LabelCounts
from app.domain.job import Job
from app.policy.core.belief import Array
from app.policy.engine import Engine
from app.store.item_decisions import ballots_on_items, page_of_item_rows, page_of_opinions, replace_decisions
from app.store.items import demote_items
from app.store.jobs import save_ledger
from app.store.workers import Tally, load_workers, save_tallies, score_votes
from app.use_cases.work.judging import ItemFacts, context_of, judge_rows, keep_closed, with_state
from app.use_cases.workers.blocking import block_guessers

_PAGE = 20_000  # items judged at a time: enough for fast arrays, few enough for memory


@dataclass(frozen=True)
class DecisionChange:
    """The decision about one item before and after."""

    item_id: int
    before: ItemDecision
    after: ItemDecision
    demoted: bool = False  # it was gold made by the crowd, and its label turned out wrong


async def rejudge_job(
    connection: AsyncConnection, job: Job, *, closed_too: bool = False, now: datetime | None = None
) -> Job:
    """Judge the items of a locked job by its present policy, budget and costs; returns the job with new counters.

    Votes and model states do not depend on the requirement, so a decision is a pure function of the stored rows.
    Without `closed_too` only open items are judged, which is enough for a new budget or new items. With it, closed
    items are judged too, by all their votes, including votes that came after the item closed; a new requirement needs
    this. Live assignments stay live.

    The votes on items that become resolved are compared with the label, each once. These scores stay even if the item
    opens again, because other votes were weighted by them since. Workers who turn out to guess are blocked as of `now`;
    if no item can become resolved, `now` is not needed.
    """
    after = 0
    while rows := await page_of_item_rows(connection, job.job_id, open_only=not closed_too, after=after, most=_PAGE):
        job = await rejudge_rows(connection, job, rows, rows, reopens=closed_too, now=now)
        after = rows[-1].item_id
    await save_ledger(connection, job)
    return job


async def rejudge_opinions(
    connection: AsyncConnection, job: Job, place: int, *, after: int, most: int, now: datetime
) -> tuple[Job, int | None]:
    """Judge a page of a locked job's items without answers again, by how far this source of opinions is believed.

    `place` is that of the source among the job's. Returns the job with new counters, and the item after which the next
    page starts; None after the last page. Items that were given up without an answer may open again.
    """
    rows = await page_of_opinions(connection, job.job_id, place, without_answers=True, after=after, most=most)
    if not rows:
        return job, None
    fresh = with_state(rows, job.engine.initial(context_of(job.engine, [ItemFacts.of(row) for row in rows])))
    job = await rejudge_rows(connection, job, rows, fresh, reopens=True, now=now)
    return job, rows[-1].item_id if len(rows) == most else None


async def rejudge_all_opinions(connection: AsyncConnection, job: Job, place: int, now: datetime) -> Job:
    """The same for all pages, in the caller's transaction."""
    after: int | None = 0
    while after is not None:
        job, after = await rejudge_opinions(connection, job, place, after=after, most=_PAGE, now=now)
    await save_ledger(connection, job)
    return job


async def rejudge_rows(
    connection: AsyncConnection,
    job: Job,
    before: Sequence[ItemRow],
    after: Sequence[ItemRow],
    *,
    reopens: bool,
    now: datetime | None,
) -> Job:
    """Judge items of a locked job by the votes and model states in `after`, and write them; returns new counters."""
    changes = await asyncio.to_thread(changes_of, job.engine, before, after, reopens=reopens)
    return await write_changes(connection, job, changes, now)


def changes_of(
    engine: Engine, before: Sequence[ItemRow], after: Sequence[ItemRow], *, reopens: bool
) -> list[DecisionChange]:
    """Judge items, by ascending number, with the votes and model states in `after`; returns the changes.

    Without `reopens` a closed item stays closed: only its label may change, to another that is good enough. An item
    that a trusted worker settled stays as it is. An item that the crowd made gold is no longer gold if its label turns
    out wrong.
    """
    changes = []
    for was, row, judged in zip(before, after, judge_rows(engine, after), strict=True):
        stays = not reopens or row.decision.is_settled
        decision = keep_closed(row.decision, judged) if stays else judged
        if decision != was.decision:
            holds = decision.state is ItemState.RESOLVED and decision.label == was.gold
            changes.append(DecisionChange(was.item_id, was.decision, decision, demoted=was.promoted and not holds))
    return changes


async def write_changes(
    connection: AsyncConnection, job: Job, changes: Sequence[DecisionChange], now: datetime | None
) -> Job:
    """Write new decisions of a locked job, and score workers by them; returns the job with new counters."""
    await replace_decisions(connection, job.job_id, [(change.item_id, change.after) for change in changes])
    demoted = [change.item_id for change in changes if change.demoted]
    await demote_items(connection, job.job_id, demoted, newest=job.answers)
    resolved = _newly_resolved(changes)
    await _score_workers(connection, job, resolved)
    compared = resolved if job.policy.answer.is_one_label else {}
    own_votes = job.policy.worker_choice.scores_own_votes
    scores = await score_votes(connection, job.job_id, compared.keys(), newest=job.answers, own_votes=own_votes)
    job = _with_counters(job, changes)
    return job if now is None else await block_guessers(connection, job, scores, now)


def _with_counters(job: Job, changes: Sequence[DecisionChange]) -> Job:
    labels = LabelCounts(job.labeled, job.label_changes, job.confidence_sum, job.dissent_sum)
    for change in changes:
        labels = labels.after(change.before, change.after, job.policy.answer)
    return replace(
        job,
        resolved=job.resolved + _increase(ItemState.RESOLVED, changes),
        given_up=job.given_up + _increase(ItemState.GIVEN_UP, changes),
        gold_items=job.gold_items - sum(change.demoted for change in changes),
        labeled=labels.labeled,
        label_changes=labels.label_changes,
        confidence_sum=labels.confidence_sum,
        dissent_sum=labels.dissent_sum,
        progress=job.progress + fsum(change.after.progress - change.before.progress for change in changes),
    )


def _increase(state: ItemState, changes: Sequence[DecisionChange]) -> int:
    """Return how many more items are in this state after the changes."""
    return sum((change.after.state is state) - (change.before.state is state) for change in changes)


def _newly_resolved(changes: Sequence[DecisionChange]) -> dict[int, int]:
    """Return the label of each item that was not resolved before."""
    return {
        change.item_id: change.after.label
        for change in changes
        if change.after.label is not None and change.before.state is not ItemState.RESOLVED
    }


async def _score_workers(connection: AsyncConnection, job: Job, labels: Mapping[int, int]) -> None:
    """Update the skills of workers by whether they agreed with finished items, for worker models that use this."""
    if not labels or not job.engine.scores_finished_items:
        return
    ballots = await ballots_on_items(connection, job.job_id, labels.keys())
    agreed: dict[str, list[bool]] = {}
    for item_id, worker, label in ballots:
        agreed.setdefault(worker, []).append(label == labels[item_id])
    known = await load_workers(connection, job.job_id, agreed.keys())
    skills = {name: worker.skill for name, worker in known.items() if worker.skill is not None}
    scored = await asyncio.to_thread(_scored, job.engine, agreed, skills)
    accuracies = job.engine.accuracies(list(scored.values()))
    tallies = [
        Tally(name, skill.tolist(), accuracy)
        for (name, skill), accuracy in zip(scored.items(), accuracies, strict=True)
    ]
    await save_tallies(connection, job.job_id, tallies)


def _scored(
    engine: Engine, agreed: Mapping[str, Sequence[bool]], known: Mapping[str, Sequence[float]]
) -> dict[str, Array]:
    """Return the skill of each worker after all scores: first every worker's first item, then the second, and so on."""
    workers = sorted(agreed, key=lambda name: len(agreed[name]), reverse=True)
    newcomer = engine.newcomer()
    skills: Array = np.array([known.get(name, newcomer) for name in workers])
    left, turn = len(workers), 0
    while left:
        now = np.array([agreed[name][turn] for name in workers[:left]])
        skills[:left] = engine.model.score(skills[:left], now)
        turn += 1
        while left and len(agreed[workers[left - 1]]) == turn:
            left -= 1
    return dict(zip(workers, skills, strict=True))
