"""Judge a job's items anew when what they are judged by has changed, though no answer came."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import fsum

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState
from app.policy.belief import Array
from app.policy.engine import Engine
from app.store.items import Standing, demote_items
from app.store.jobs import Job, save_ledger
from app.store.standings import Place, ballots_on_items, page_of_places, replace_standings
from app.store.worker_counts import Tally, hold_votes_to_labels, save_tallies
from app.store.workers import load_workers
from app.use_cases.shut_out import block_guessers
from app.use_cases.skills import accuracies
from app.use_cases.standing import standings

_PAGE = 20_000  # items judged at a time: enough for arrays to pay, few enough to hold


@dataclass(frozen=True)
class Change:
    """One item's standing before and after."""

    item_id: int
    before: Standing
    after: Standing
    demoted: bool = False  # the crowd had made it gold, and it is not what it was any more


async def judge_again(
    connection: AsyncConnection, job: Job, *, closed_too: bool = False, now: datetime | None = None
) -> Job:
    """Judge the items of a locked job by its rules, budget and costs as they are now; gives the job's new counters.

    Votes and evidence do not hang on the requirement, so a standing is a pure function of what is kept. Without
    `closed_too` a verdict, once given, stands, and only open items are looked at: what a new budget or new items ask
    for. With it, closed items are judged too, by all their votes, those included that came under a lease after they
    had closed: what a new requirement asks for. Leases that are out stay out, and are honoured.

    The votes on items that become resolved are held to the label, each once; an item that reopens does not take its
    scores back, for what it taught has weighed votes elsewhere since. Who turns out to guess is blocked as of `now`;
    where no item can become resolved, no time is needed.
    """
    after = 0
    while places := await page_of_places(connection, job.job_id, open_only=not closed_too, after=after, most=_PAGE):
        job = await judge_anew(connection, job, places, places, closed_too=closed_too, now=now)
        after = places[-1].item_id
    await save_ledger(connection, job)
    return job


async def judge_anew(
    connection: AsyncConnection,
    job: Job,
    before: Sequence[Place],
    anew: Sequence[Place],
    *,
    closed_too: bool,
    now: datetime | None,
) -> Job:
    """Judge items of a locked job as they are `anew`, in votes and evidence, and write that; gives its new counters.

    Without `closed_too` a closed item stays closed, whatever it is believed to be now: only its label may change, to
    another one that is good enough. An item that the crowd made gold is gold no more if its label does not stand.
    """
    changes = await asyncio.to_thread(changes_of, job.engine, before, anew, closed_too=closed_too)
    return await write_changes(connection, job, changes, now)


async def write_changes(connection: AsyncConnection, job: Job, changes: Sequence[Change], now: datetime | None) -> Job:
    """Write what became of items of a locked job, and what that means for their workers; gives its new counters."""
    await replace_standings(connection, job.job_id, [(change.item_id, change.after) for change in changes])
    demoted = [change.item_id for change in changes if change.demoted]
    await demote_items(connection, job.job_id, demoted, newest=job.answers)
    resolved = _resolved_now(changes)
    await _score_workers(connection, job, resolved)
    scores = await hold_votes_to_labels(connection, job.job_id, resolved.keys(), newest=job.answers)
    job = _counted(job, changes)
    return job if now is None else await block_guessers(connection, job, scores, now)


def changes_of(engine: Engine, before: Sequence[Place], anew: Sequence[Place], *, closed_too: bool) -> list[Change]:
    """What becomes of items, by ascending number, if they are as they are `anew`; see `judge_anew`."""
    judged = zip(before, anew, standings(engine, anew), strict=True)
    changes = [
        _change(was, standing if closed_too else _kept_closed(place.standing, standing))
        for was, place, standing in judged
    ]
    return [change for change in changes if change.after != change.before]


def _change(was: Place, after: Standing) -> Change:
    stands = after.state is ItemState.RESOLVED and after.label == was.gold
    return Change(was.item_id, was.standing, after, demoted=was.promoted and not stands)


def _kept_closed(known: Standing, judged: Standing) -> Standing:
    """What was judged, but an item that was closed stays so, with the label that it was given."""
    corrected = known.state is ItemState.RESOLVED and judged.state is ItemState.RESOLVED
    return judged if known.state is ItemState.OPEN or corrected else known


def _counted(job: Job, changes: Sequence[Change]) -> Job:
    return replace(
        job,
        resolved=job.resolved + _more(ItemState.RESOLVED, changes),
        given_up=job.given_up + _more(ItemState.GIVEN_UP, changes),
        gold_items=job.gold_items - sum(change.demoted for change in changes),
        progress=job.progress + fsum(change.after.progress - change.before.progress for change in changes),
    )


def _more(state: ItemState, changes: Sequence[Change]) -> int:
    """By how many more items are in this state."""
    return sum((change.after.state is state) - (change.before.state is state) for change in changes)


def _resolved_now(changes: Sequence[Change]) -> dict[int, int]:
    """The label of each item that was not resolved before."""
    return {
        change.item_id: change.after.label
        for change in changes
        if change.after.label is not None and change.before.state is not ItemState.RESOLVED
    }


async def _score_workers(connection: AsyncConnection, job: Job, labels: Mapping[int, int]) -> None:
    """A finished item tells who agreed with its label, for the models that judge workers by that."""
    if not labels or not job.engine.model.scores_finished_items:
        return
    ballots = await ballots_on_items(connection, job.job_id, labels.keys())
    agreed: dict[str, list[bool]] = {}
    for item_id, worker, label in ballots:
        agreed.setdefault(worker, []).append(label == labels[item_id])
    known = await load_workers(connection, job.job_id, agreed.keys())
    skills = {name: worker.skill for name, worker in known.items() if worker.skill is not None}
    scored = await asyncio.to_thread(_scored, job.engine, agreed, skills)
    known_now = zip(scored.items(), accuracies(job, list(scored.values())), strict=True)
    await save_tallies(connection, job.job_id, [Tally(name, skill, accuracy) for (name, skill), accuracy in known_now])


def _scored(
    engine: Engine, agreed: Mapping[str, Sequence[bool]], known: Mapping[str, Sequence[float]]
) -> dict[str, list[float]]:
    """The skill of each worker after all this, in its order: the first item of everybody, then the second, ..."""
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
    return dict(zip(workers, skills.tolist(), strict=True))
