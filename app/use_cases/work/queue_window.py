"""The best open items, read once for all workers of a batch."""

import asyncio
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.item import Item
from app.domain.job import Job
from app.domain.worker import OfTier, Voter, Worker
from app.policy.core.belief import Array
from app.policy.core.policy import Uses
from app.policy.worker_choice.base import SHORTLIST
from app.store.items import change_open_assignments, save_decisions
from app.store.queue import QueuedItem, best_open_items, head_of_queue
from app.use_cases.work.judging import judge_open, values_for

_MOST_READ = 1024  # items read ahead, with their payloads
_MOST_VALUED = 200_000  # items x workers x labels x labels that are valued in one step

Rank = tuple[int, float, int]  # tier, -priority, tie_break: the smallest is asked first


@dataclass(frozen=True)
class AskingWorker:
    """A worker who asks for an item, the worker's price, and the money that is left; None means unlimited."""

    worker: str | None
    price: Decimal
    affordable: Decimal | None
    has: Collection[int] = ()  # items assigned in this batch, which the queue does not know yet
    tier: str | None = None  # that the request came with

    @property
    def voter(self) -> Voter:
        """By whom the answer will be learned."""
        return self.worker if self.tier is None else OfTier(self.tier)

    def cost_of(self, item: Item) -> Decimal:
        return item.cost * self.price

    def may_take(self, queued: QueuedItem) -> bool:
        if self.worker in queued.seen_by or queued.item.item_id in self.has:
            return False
        return self.affordable is None or self.cost_of(queued.item) <= self.affordable


@dataclass(frozen=True)
class Candidate:
    """The best item for a worker, its tier, and the value per cost of the worker's answer."""

    queued: QueuedItem
    tier: int
    value_per_cost: float


class QueueWindow:
    """Gives each worker the item that the queue would give if workers asked one by one.

    The head of the queue is read once for all workers. It is read again, for one worker, only if the worker can take
    too few of these items, or if an item has moved because its allocation depends on open assignments.

    The stored priority assumes a new worker. For a known worker, the first `SHORTLIST` items that the worker can take
    are valued with the worker's skill, and the best of them is the candidate.
    """

    def __init__(self, connection: AsyncConnection, job: Job, skills: Mapping[Voter, Array]) -> None:
        self._connection, self._job = connection, job
        self._skills = skills if job.engine.tells_workers_apart else {}
        self._queue: list[QueuedItem] = []  # items that may get one more assignment, best first
        self._known: set[int] = set()
        self._complete = False  # no other item may get one more assignment
        self._horizon: Rank = (0, 0.0, 0)  # after this rank there may be items that were not read
        self._assigned: Counter[int] = Counter()
        self._changed: dict[int, Item] = {}
        self._valued: set[Voter] = set()  # workers for whom all items read ahead are valued
        # Tier and value, by item and worker.
        self._values: dict[int, dict[Voter, tuple[int, float]]] = defaultdict(dict)

    async def read_ahead(self, assignments: int) -> None:
        """Read the head of the queue, enough for this many assignments."""
        ahead = max(assignments - 1, 0) + (SHORTLIST - 1 if self._skills else 0)
        most = min(1 << ahead.bit_length(), _MOST_READ)  # powers of two, so that few statements must be prepared
        self._queue = await head_of_queue(self._connection, self._job.job_id, most=most)
        self._known = {queued.item.item_id for queued in self._queue}
        self._complete = len(self._queue) < most
        if self._queue:
            self._horizon = _rank(self._queue[-1])
        await self.value_for(list(self._skills))

    def add_workers(self, skills: Mapping[Voter, Array]) -> None:
        """Add workers who may ask."""
        if self._job.engine.tells_workers_apart:
            self._skills = {**self._skills, **skills}

    async def value_for(self, workers: Sequence[Voter]) -> None:
        """Value the items that were read for several workers at once, off the event loop."""
        items = [queued.item for queued in self._queue]
        new = [name for name in workers if name in self._skills and name not in self._valued]
        if len(new) > 1 and items:
            many = max(_MOST_VALUED // (len(items) * len(self._job.policy.labels) ** 2), 1)
            for start in range(0, len(new), many):
                await asyncio.to_thread(self._value, items, new[start : start + many])
            self._valued |= set(new)

    @property
    def is_empty(self) -> bool:
        """Whether no open item may get one more assignment, from any worker."""
        return self._complete and not self._queue

    async def best_for(self, asking: AskingWorker) -> Candidate | None:
        """Return the best item for this worker; None if there is none."""
        most = SHORTLIST if asking.voter in self._skills else 1
        found = self._first(asking, most)
        if not self._complete and (len(found) < most or _rank(found[-1]) > self._horizon):
            await self._read_for(asking, most)
            found = self._first(asking, most)
        return self._best_of(found, asking.voter) if found else None

    def take(self, candidate: Candidate, worker: str | None) -> None:
        """Count one more open assignment of the candidate's item, and put the item back if it may get another."""
        queued = candidate.queued
        self._queue.remove(queued)
        item = replace(queued.item, open_assignments=queued.item.open_assignments + 1)
        self._assigned[item.item_id] += 1
        if Uses.OPEN_ASSIGNMENTS in self._job.engine.uses:
            (item,) = judge_open(self._job.engine, [item])
            self._changed[item.item_id] = item
        if item.open_assignments < item.decision.max_open_assignments:
            seen_by = queued.seen_by if worker is None else queued.seen_by | {worker}
            insort(self._queue, QueuedItem(item, seen_by), key=_rank)

    async def write_back(self, gold: Mapping[int, int]) -> None:
        """Write the new numbers of open assignments; `gold` items are not in the queue and are counted separately."""
        if self._changed:
            await save_decisions(self._connection, self._job.job_id, list(self._changed.values()))
            await change_open_assignments(self._connection, self._job.job_id, gold)
        else:
            await change_open_assignments(self._connection, self._job.job_id, self._assigned + Counter(gold))

    def _first(self, asking: AskingWorker, most: int) -> list[QueuedItem]:
        """Return the first items of the window that the worker can take."""
        return list(islice((queued for queued in self._queue if asking.may_take(queued)), most))

    async def _read_for(self, asking: AskingWorker, most: int) -> None:
        """Read the best items for this worker that are not in the window yet."""
        further = await best_open_items(
            self._connection,
            self._job.job_id,
            worker=asking.worker,
            price=asking.price,
            affordable=asking.affordable,
            besides=self._known,
            most=most,
        )
        for found in further:
            self._known.add(found.item.item_id)
            insort(self._queue, found, key=_rank)

    def _best_of(self, found: list[QueuedItem], worker: Voter) -> Candidate:
        if worker is None or worker not in self._skills:
            decision = found[0].item.decision
            return Candidate(found[0], decision.tier, decision.priority)
        unvalued = [queued.item for queued in found if worker not in self._values[queued.item.item_id]]
        if unvalued:
            self._value(unvalued, [worker])
        candidates = [Candidate(queued, *self._values[queued.item.item_id][worker]) for queued in found]
        # Of equal candidates, the first in the order of the queue.
        return min(candidates, key=lambda candidate: (candidate.tier, -candidate.value_per_cost))

    def _value(self, items: Sequence[Item], workers: Sequence[Voter]) -> None:
        skills = np.array([self._skills[worker] for worker in workers])
        values, tiers = values_for(self._job.engine, items, skills)
        for item, tier, value in zip(items, tiers.tolist(), values.tolist(), strict=True):
            self._values[item.item_id] |= zip(workers, zip(tier, value, strict=True), strict=True)


def skills_for(
    job: Job, workers: Mapping[str, Worker], chosen: Collection[str], tiers: Collection[str] = ()
) -> dict[Voter, Array]:
    """Return the skills for valuing items, for workers about whom more is known than about a new worker.

    `tiers` are those that requests come with. For `chosen`, the candidates of a choice, it is the skill that the worker
    choice assumes, also for new workers.
    """
    engine = job.engine
    if not engine.tells_workers_apart:
        return {}
    newcomer, choice = engine.newcomer(), job.policy.worker_choice
    skills: dict[Voter, Array] = {OfTier(tier): engine.policy.worker_model.skill_of(tier) for tier in tiers}
    skills |= {name: np.array(worker.skill) for name, worker in workers.items() if worker.skill is not None}
    known = [skills.get(name, newcomer) for name in chosen]
    if known and choice.compares_items:
        skills |= zip(chosen, choice.assumed_skill(engine.model, np.array(known)), strict=True)
    return skills


def _rank(queued: QueuedItem) -> Rank:
    decision = queued.item.decision
    return decision.tier, -decision.priority, queued.item.tie_break
