"""Lease the best open items to workers, never promising more than the budget holds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil
from typing import Literal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import Reason
from app.store.assignments import HeldLease, live_leases_of, next_expiry
from app.store.jobs import Job
from app.store.queue import who_finds_open, who_finds_room
from app.store.workers import Worker, load_workers, most_promising
from app.use_cases.handout import Handout
from app.use_cases.queue_head import QueueHead, skills_for

_LONGEST_WAIT = timedelta(seconds=30)
_SOON = timedelta(seconds=5)
_SEEN_ALL = "worker-has-seen-all"
_TEAM = 64  # workers of whom one is chosen, where a platform does not say who is there
_MOST_LOOKED_AT = 64 * _TEAM  # before the others are taken to have as little to do


@dataclass(frozen=True)
class Ask:
    """A worker, perhaps unnamed, who wants to hold so many assignments; or several, who want to hold them together."""

    worker: str | None
    count: int
    workers: tuple[str, ...] | None = None  # of whom one is to be chosen for each assignment
    anew: bool = False  # what these workers hold does not count: a platform that does not say who is there wants more

    @property
    def names(self) -> tuple[str, ...]:
        if self.workers is not None:
            return self.workers
        return () if self.worker is None else (self.worker,)


@dataclass(frozen=True)
class Next:
    """What a worker should do: these assignments, or wait, or stop."""

    status: Literal["continue", "wait", "stop"]
    reason: Reason
    held: Sequence[HeldLease] = ()
    retry_after: int | None = None  # seconds


async def assign_next(
    connection: AsyncConnection, job: Job, asks: Sequence[Ask], now: datetime
) -> tuple[Job, list[Next]]:
    """For each ask in turn: what the worker holds comes first, then new leases up to `count`."""
    if job.paused:
        paused = Next("stop", Reason("job-paused", "The job is paused; what is out may still be answered"))
        return job, [paused] * len(asks)
    asks, workers = await _who_is_there(connection, job, asks)
    names = {name for ask in asks for name in ask.names}
    chosen = {name for ask in asks if ask.workers is not None for name in ask.workers}
    handout = Handout(
        connection=connection,
        job=job,
        now=now,
        queue=QueueHead(connection, job, skills_for(job, workers, chosen)),
        held=await live_leases_of(connection, job.job_id, names),
        workers=workers,
    )
    await handout.queue.read_ahead(_lacking(handout, asks))
    given = [await _give(handout, ask) for ask in asks]
    fresh = await handout.write_back()
    job = handout.balanced()
    empty = [ask for ask, leases in zip(asks, given, strict=True) if not leases]
    reasons = await _why_empty(connection, handout, job, empty)
    return job, [
        _assigned(leases, fresh) if leases else _told(ask, reasons) for ask, leases in zip(asks, given, strict=True)
    ]


async def _who_is_there(
    connection: AsyncConnection, job: Job, asks: Sequence[Ask]
) -> tuple[list[Ask], Mapping[str, Worker]]:
    """The asks, with a team for those who leave it to the job whom to ask, and what is known of all these workers."""
    names = {name for ask in asks for name in ask.names}
    workers = await load_workers(connection, job.job_id, names)
    open_to_all = [ask.worker is None and ask.workers is None for ask in asks]
    if not job.rules.worker_choice.chooses or not any(open_to_all):
        return list(asks), workers
    promising = await most_promising(connection, job.job_id, besides=(), most=_TEAM)
    team = tuple(promising)
    teams = [
        replace(ask, workers=team, anew=True) if to_all else ask for ask, to_all in zip(asks, open_to_all, strict=True)
    ]
    return teams, {**promising, **workers}


def _lacking(handout: Handout, asks: Sequence[Ask]) -> int:
    """How many assignments these may still get; who asks twice gets no more for it."""
    several = sum(ask.count for ask in asks if ask.worker is None)
    named: dict[str, int] = {}
    for ask in asks:
        if ask.worker is not None:
            named[ask.worker] = max(named.get(ask.worker, 0), handout.lacks(ask.worker, ask.count))
    return several + sum(named.values())


async def _give(handout: Handout, ask: Ask) -> list[HeldLease]:
    if ask.workers is None:
        return await handout.give(ask.worker, ask.count)
    given = await handout.give_to_one_of(ask.workers, ask.count, anew=ask.anew)
    team: Sequence[str] = ask.workers
    passed_over = list(team)
    while not given and ask.anew and len(team) == _TEAM and len(passed_over) < _MOST_LOOKED_AT:
        team = await handout.look_for_workers(besides=passed_over, most=_TEAM)
        given = await handout.give_to_one_of(team, ask.count, anew=True)
        passed_over += team
    return given


def _assigned(leases: Sequence[HeldLease], fresh: Mapping[int, HeldLease]) -> Next:
    new = [fresh[held.lease.assignment_id] for held in leases if held.lease.assignment_id in fresh]
    old = [held for held in leases if held.lease.assignment_id not in fresh]
    parts = [f"{len(some)} {word}" for some, word in ((old, "already held"), (new, "newly assigned")) if some]
    return Next("continue", Reason("assigned", ", ".join(parts)), [*old, *new])


def _told(ask: Ask, reasons: Mapping[str | None, Next]) -> Next:
    """Of several workers, the one tells who has most to hope for."""
    if ask.workers is None:
        return reasons[ask.worker]
    if not ask.workers:
        message = "No registered worker is free; register workers, or say in `workers` who is there"
        return reasons.get(None) or _wait("no-workers", message, _SOON)
    found = [reasons[name] for name in ask.workers]
    if len(found) > 1 and all(one.reason.code == _SEEN_ALL for one in found):
        return Next("stop", Reason(_SEEN_ALL, f"Each of these {len(found)} workers has answered every open item"))
    return next((one for one in found if one.status == "wait"), found[0])


async def _why_empty(
    connection: AsyncConnection, handout: Handout, job: Job, asks: Collection[Ask]
) -> dict[str | None, Next]:
    """No work is an answer too: say which kind, for each of these workers."""
    workers: set[str | None] = {name for ask in asks for name in ask.names or (None,)}
    if job.items and job.open and any(ask.workers == () for ask in asks):
        workers.discard(None)  # there is work, but nobody to ask
    found: dict[str | None, Next] = {}
    for name in workers - {None}:
        worker = handout.known(name)
        if worker.block is not None:
            found[name] = _blocked(name, f"blocked: {worker.block['reason']['message']}")
        elif worker.away is not None:
            found[name] = _blocked(name, f"turned away, for now: {worker.away['reason']['message']}")
    return found | await _why_no_item(connection, handout, job, workers - found.keys(), asks)


async def _why_no_item(
    connection: AsyncConnection, handout: Handout, job: Job, workers: set[str | None], asks: Collection[Ask]
) -> dict[str | None, Next]:
    if not workers:
        return {}
    if not job.items:
        return dict.fromkeys(workers, _wait("no-items", "The job has no items yet", _SOON))
    if not job.open:
        resolved = Next("stop", Reason("all-resolved", f"All {job.items} items are resolved or given up"))
        return dict.fromkeys(workers, resolved)
    chosen = {name for ask in asks for name in ask.workers or ()}
    busy = {name for name in workers & chosen if name is not None and handout.is_busy(name)}
    rest = workers - busy
    too_dear = set() if handout.queue.is_empty else await who_finds_room(connection, job.job_id, rest)
    waiting = await who_finds_open(connection, job.job_id, rest - too_dear)
    expiry = await next_expiry(connection, job.job_id) if waiting or busy else None
    until = (expiry or handout.now) - handout.now
    reasons = {worker: _too_dear(job) for worker in too_dear} | {worker: _busy(job, until) for worker in busy}
    for worker in rest - too_dear:
        reasons[worker] = _all_out(until) if worker in waiting else _seen_all(worker)
    return reasons


def _blocked(worker: str | None, why: str) -> Next:
    return Next("stop", Reason("worker-blocked", f"Worker {worker!r} is {why}"))


def _too_dear(job: Job) -> Next:
    held_back = f", of which {job.reserved:f} is reserved by leases that may still return" if job.reserved else ""
    message = f"The rest of the budget, {job.remaining:f}, covers no open item; {job.budget:f} in all{held_back}"
    return Next("stop", Reason("budget-exhausted", message))


def _all_out(until: timedelta) -> Next:
    return _wait("all-leased", "Every open item is out to as many workers as it needs", until)


def _busy(job: Job, until: timedelta) -> Next:
    most = job.rules.leases_per_worker
    return _wait("workers-busy", f"All of these workers hold the {most} assignments that each may hold at once", until)


def _seen_all(worker: str | None) -> Next:
    message = f"Worker {worker!r} has answered every open item" if worker else "Every open item has been answered"
    return Next("stop", Reason(_SEEN_ALL, message))


def _wait(code: str, message: str, until: timedelta) -> Next:
    seconds = ceil(min(until, _LONGEST_WAIT).total_seconds())
    return Next("wait", Reason(code, message), retry_after=max(seconds, 1))
