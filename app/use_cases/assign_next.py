"""Lease the best open items to workers, never promising more than the budget holds."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from math import ceil
from typing import Any, Literal

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import AssignmentState, Reason
from app.store.assignments import HeldLease, Lease, live_leases_of, next_expiry, save_leases
from app.store.items import Item
from app.store.jobs import Job
from app.store.queue import who_finds_open, who_finds_room
from app.store.workers import STRANGER, Worker, load_workers
from app.use_cases.queue_head import Buyer, QueueHead

_LONGEST_WAIT = timedelta(seconds=30)
_WAIT_FOR_ITEMS = timedelta(seconds=5)


@dataclass(frozen=True)
class Ask:
    """A worker, perhaps unnamed, who wants to hold so many assignments."""

    worker: str | None
    count: int


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
    names = {ask.worker for ask in asks if ask.worker is not None}
    handout = _Handout(
        job=job,
        now=now,
        queue=QueueHead(connection, job),
        held=await live_leases_of(connection, job.job_id, names),
        workers=await load_workers(connection, job.job_id, names),
    )
    await handout.queue.read_ahead(_lacking(handout, asks))
    given = [await handout.give(ask) for ask in asks]
    fresh = await handout.write_back(connection)
    empty = {ask.worker for ask, leases in zip(asks, given, strict=True) if not leases}
    job = handout.balanced()
    reasons = await _why_empty(connection, handout, job, empty)
    return job, [
        _assigned(leases, fresh) if leases else reasons[ask.worker] for ask, leases in zip(asks, given, strict=True)
    ]


def _lacking(handout: "_Handout", asks: Sequence[Ask]) -> int:
    """How many assignments these may still get; who asks twice gets no more for it."""
    unnamed = sum(ask.count for ask in asks if ask.worker is None)
    named: dict[str | None, int] = {}
    for ask in asks:
        if ask.worker is not None:
            named[ask.worker] = max(named.get(ask.worker, 0), handout.lacks(ask))
    return unnamed + sum(named.values())


@dataclass
class _Handout:
    """What is being handed out in one transaction: money is reserved as it goes, rows are written at the end."""

    job: Job
    now: datetime
    queue: QueueHead
    held: dict[str, list[HeldLease]]
    workers: Mapping[str, Worker]
    fresh: list[HeldLease] = field(default_factory=list)
    reserved: Decimal = Decimal(0)  # beside what was reserved before

    def block_of(self, ask: Ask) -> Mapping[str, Any] | None:
        return self.workers.get(ask.worker or "", STRANGER).block

    def lacks(self, ask: Ask) -> int:
        if self.block_of(ask) is not None:
            return 0
        return max(ask.count - len(self.held.get(ask.worker or "", ())), 0)

    async def give(self, ask: Ask) -> list[HeldLease]:
        """What the worker holds from now on, oldest first, at most as many as were asked for."""
        if self.block_of(ask) is not None:
            return []
        mine = self.held.setdefault(ask.worker, []) if ask.worker is not None else []
        while len(mine) < ask.count:
            lease = await self._lease(ask.worker, [held.lease.item_id for held in mine])
            if lease is None:
                break
            mine.append(lease)
        return mine[: ask.count]

    async def _lease(self, worker: str | None, has: Sequence[int]) -> HeldLease | None:
        left = self.job.remaining
        price = self.workers.get(worker or "", STRANGER).price
        buyer = Buyer(worker, price, None if left is None else left - self.reserved, has)
        if buyer.affordable is not None and self.job.least_cost * price > buyer.affordable:
            return None  # without a look: at the end of a budget everybody asks, and all would search in vain
        item = await self.queue.take(buyer)
        if item is None:
            return None
        lease = self._new_lease(item, worker, buyer.cost_of(item))
        self.reserved += lease.cost
        self.fresh.append(HeldLease(lease=lease, key=item.key, payload=item.payload))
        return self.fresh[-1]

    def _new_lease(self, item: Item, worker: str | None, cost: Decimal) -> Lease:
        return Lease(
            assignment_id=self.job.leases + len(self.fresh) + 1,
            item_id=item.item_id,
            worker=worker,
            state=AssignmentState.LIVE,
            cost=cost,
            leased_at=self.now,
            expires_at=self.now + self.job.lease_duration,
            why=_why(self.job, item),
        )

    def balanced(self) -> Job:
        """The job with what was promised here."""
        job = self.job
        return replace(job, reserved=job.reserved + self.reserved, leases=job.leases + len(self.fresh))

    async def write_back(self, connection: AsyncConnection) -> dict[int, HeldLease]:
        """Write the leases; gives them by the number that they got here, with the one that stands for them for good."""
        if not self.fresh:
            return {}
        numbers = await save_leases(connection, self.job.job_id, [held.lease for held in self.fresh])
        await self.queue.write_back()
        return {held.lease.assignment_id: _renumbered(held, numbers) for held in self.fresh}


def _renumbered(held: HeldLease, numbers: Mapping[tuple[int, str | None], int]) -> HeldLease:
    """A lease that was renewed keeps its first number; one of an unnamed worker is always new."""
    lease = held.lease
    number = lease.assignment_id if lease.worker is None else numbers[lease.item_id, lease.worker]
    if number == lease.assignment_id:
        return held
    return replace(held, lease=replace(held.lease, assignment_id=number))


def _why(job: Job, row: Item) -> dict[str, Any]:
    reason = job.engine.explain(row.standing.reason, row.standing.wanted)
    return {"code": reason.code, "message": reason.message, "priority": row.standing.priority}


def _assigned(leases: Sequence[HeldLease], fresh: Mapping[int, HeldLease]) -> Next:
    new = [fresh[held.lease.assignment_id] for held in leases if held.lease.assignment_id in fresh]
    old = [held for held in leases if held.lease.assignment_id not in fresh]
    parts = [f"{len(some)} {word}" for some, word in ((old, "already held"), (new, "newly assigned")) if some]
    return Next("continue", Reason("assigned", ", ".join(parts)), [*old, *new])


async def _why_empty(
    connection: AsyncConnection, handout: _Handout, job: Job, workers: Collection[str | None]
) -> dict[str | None, Next]:
    """No work is an answer too: say which kind, for each of these workers."""
    blocks = {name: worker.block for name, worker in handout.workers.items() if worker.block is not None}
    if shut_out := {worker: _blocked(worker, blocks[worker]) for worker in workers if worker in blocks}:
        return shut_out | await _why_empty(connection, handout, job, set(workers) - shut_out.keys())
    if not workers:
        return {}
    if not job.items:
        return dict.fromkeys(workers, _wait("no-items", "The job has no items yet", _WAIT_FOR_ITEMS))
    if not job.open:
        resolved = Next("stop", Reason("all-resolved", f"All {job.items} items are resolved or given up"))
        return dict.fromkeys(workers, resolved)
    too_dear = set() if handout.queue.is_empty else await who_finds_room(connection, job.job_id, workers)
    waiting = await who_finds_open(connection, job.job_id, set(workers) - too_dear)
    expiry = await next_expiry(connection, job.job_id) if waiting else None
    reasons = {worker: _too_dear(job) for worker in too_dear}
    for worker in set(workers) - too_dear:
        reasons[worker] = _all_out((expiry or handout.now) - handout.now) if worker in waiting else _seen_all(worker)
    return reasons


def _blocked(worker: str | None, block: Mapping[str, Any]) -> Next:
    return Next("stop", Reason("worker-blocked", f"Worker {worker!r} is blocked: {block['reason']['message']}"))


def _too_dear(job: Job) -> Next:
    held_back = f", of which {job.reserved:f} is reserved by leases that may still return" if job.reserved else ""
    message = f"The rest of the budget, {job.remaining:f}, covers no open item; {job.budget:f} in all{held_back}"
    return Next("stop", Reason("budget-exhausted", message))


def _all_out(until: timedelta) -> Next:
    return _wait("all-leased", "Every open item is out to as many workers as it needs", until)


def _seen_all(worker: str | None) -> Next:
    message = f"Worker {worker!r} has answered every open item" if worker else "Every open item has been answered"
    return Next("stop", Reason("worker-has-seen-all", message))


def _wait(code: str, message: str, until: timedelta) -> Next:
    seconds = ceil(min(until, _LONGEST_WAIT).total_seconds())
    return Next("wait", Reason(code, message), retry_after=max(seconds, 1))
