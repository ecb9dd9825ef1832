"""The best open items, read ahead once for all who ask at the same moment."""

import asyncio
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.policy.belief import Array
from app.policy.worker_choice import SHORTLIST
from app.store.items import Item, change_in_flight, save_standings
from app.store.jobs import Job
from app.store.queue import Queued, best_open_items, head_of_queue
from app.store.workers import Worker
from app.use_cases.copies_out import thought_over
from app.use_cases.standing import worths

_MOST = 1024  # items read ahead, with all that a worker needs to see
_MOST_VALUED = 200_000  # numbers: pairs of item and worker, times labels, times labels, that are valued at a time


@dataclass(frozen=True)
class Buyer:
    """Who asks, what they charge, and what may still be promised to them; None is unlimited."""

    worker: str | None
    price: Decimal
    affordable: Decimal | None
    has: Collection[int] = ()  # items; where nobody is named, nothing else tells what they were given a moment ago

    def cost_of(self, item: Item) -> Decimal:
        return item.cost * self.price

    def may_take(self, queued: Queued) -> bool:
        if self.worker in queued.seen_by or queued.item.item_id in self.has:
            return False
        return self.affordable is None or self.cost_of(queued.item) <= self.affordable


@dataclass(frozen=True)
class Offer:
    """An item for a buyer, and what the answer is worth per cost of the item."""

    queued: Queued
    worth: float


class QueueHead:
    """Gives each buyer the item that Postgres would give if they came one by one.

    Items come from the head of the queue, read once for all. Only where too few of them suit a buyer, or one has lost
    its place because its allocation heeds what is out, is the queue asked again, for that buyer alone.

    The queue is ordered by what an answer of a newcomer would be worth. For a worker of whom more is known, the first
    few that suit are valued by the engine with that worker's skill, and the best of them is offered.
    """

    def __init__(self, connection: AsyncConnection, job: Job, skills: Mapping[str, Array]) -> None:
        self._connection, self._job, self._engine = connection, job, job.engine
        self._skills = skills if self._engine.tells_workers_apart else {}
        self._queue: list[Queued] = []  # those with room, best first
        self._known: set[int] = set()
        self._whole = False  # nothing has room but what is known
        self._horizon = (0.0, 0)  # the rank behind which nothing is known for sure
        self._leased: Counter[int] = Counter()
        self._changed: dict[int, Item] = {}
        self._valued: set[str] = set()  # workers for whom all was valued that was read ahead
        self._worth: dict[int, dict[str, float]] = defaultdict(dict)

    async def read_ahead(self, wanted: int) -> None:
        ahead = max(wanted - 1, 0) + (SHORTLIST - 1 if self._skills else 0)
        most = min(1 << ahead.bit_length(), _MOST)  # few different statements, each prepared once
        self._queue = await head_of_queue(self._connection, self._job.job_id, most=most)
        self._known = {queued.item.item_id for queued in self._queue}
        self._whole = len(self._queue) < most
        if self._queue:
            self._horizon = _rank(self._queue[-1])
        await self.value_for(list(self._skills))

    def learn_of(self, skills: Mapping[str, Array]) -> None:
        """Further workers who may ask."""
        if self._engine.tells_workers_apart:
            self._skills = {**self._skills, **skills}

    async def value_for(self, workers: Sequence[str]) -> None:
        """Value what is known for several workers at once, and away from the event loop."""
        items = [queued.item for queued in self._queue]
        new = [name for name in workers if name in self._skills and name not in self._valued]
        if len(new) > 1 and items:
            many = max(_MOST_VALUED // (len(items) * len(self._job.rules.labels) ** 2), 1)
            for start in range(0, len(new), many):
                await asyncio.to_thread(self._value, items, new[start : start + many])
            self._valued |= set(new)

    @property
    def is_empty(self) -> bool:
        """No open item has room for another answer, whoever asks."""
        return self._whole and not self._queue

    async def offer(self, buyer: Buyer) -> Offer | None:
        """The best item for this buyer; None where there is none."""
        most = SHORTLIST if buyer.worker in self._skills else 1
        found = self._first(buyer, most)
        if not self._whole and (len(found) < most or _rank(found[-1]) > self._horizon):
            await self._look_further(buyer, most)
            found = self._first(buyer, most)
        return self._best_of(found, buyer) if found else None

    def lease(self, offer: Offer, buyer: Buyer) -> None:
        """The offer is taken: the item is out to one worker more."""
        queued = offer.queued
        self._queue.remove(queued)
        item = replace(queued.item, in_flight=queued.item.in_flight + 1)
        self._leased[item.item_id] += 1
        if self._job.rules.allocation.heeds_in_flight:
            (item,) = thought_over(self._job, [item])
            self._changed[item.item_id] = item
        if item.in_flight < item.standing.wanted:
            seen_by = queued.seen_by if buyer.worker is None else queued.seen_by | {buyer.worker}
            insort(self._queue, Queued(item, seen_by), key=_rank)

    async def write_back(self) -> None:
        if self._changed:
            await save_standings(self._connection, self._job.job_id, list(self._changed.values()))
        else:
            await change_in_flight(self._connection, self._job.job_id, self._leased)

    def _first(self, buyer: Buyer, most: int) -> list[Queued]:
        """The first of those known that suit the buyer."""
        return list(islice((queued for queued in self._queue if buyer.may_take(queued)), most))

    async def _look_further(self, buyer: Buyer, most: int) -> None:
        """Behind what was read ahead there may be better ones."""
        further = await best_open_items(
            self._connection,
            self._job.job_id,
            worker=buyer.worker,
            price=buyer.price,
            affordable=buyer.affordable,
            besides=self._known,
            most=most,
        )
        for found in further:
            self._known.add(found.item.item_id)
            insort(self._queue, found, key=_rank)

    def _best_of(self, found: list[Queued], buyer: Buyer) -> Offer:
        worker = buyer.worker
        if worker is None or worker not in self._skills:
            return Offer(found[0], found[0].item.standing.priority)
        unvalued = [queued.item for queued in found if worker not in self._worth[queued.item.item_id]]
        if unvalued:
            self._value(unvalued, [worker])
        worth = [self._worth[queued.item.item_id][worker] for queued in found]
        best = max(range(len(found)), key=worth.__getitem__)  # the first of equals, as the queue has them
        return Offer(found[best], worth[best])

    def _value(self, items: Sequence[Item], workers: Sequence[str]) -> None:
        """What an answer of each of these workers on each of these items is worth."""
        grid = worths(self._engine, items, np.array([self._skills[worker] for worker in workers]))
        for item, row in zip(items, grid.tolist(), strict=True):
            self._worth[item.item_id] |= zip(workers, row, strict=True)


def skills_for(job: Job, workers: Mapping[str, Worker], chosen: Collection[str]) -> dict[str, Array]:
    """The skills by which items are valued, of those of whom there is more to say than of a newcomer.

    Workers among whom one is to be chosen are taken as the choice hopes them to be, newcomers included.
    """
    engine = job.engine
    if not engine.tells_workers_apart:
        return {}
    newcomer, choice = engine.newcomer(), job.rules.worker_choice
    skills = {name: np.array(worker.skill) for name, worker in workers.items() if worker.skill is not None}
    hoped = [skills.get(name, newcomer) for name in chosen]
    if hoped and choice.compares_offers:
        skills |= zip(chosen, choice.hoped(engine.model, np.array(hoped)), strict=True)
    return skills


def _rank(queued: Queued) -> tuple[float, int]:
    """The smallest goes first."""
    return -queued.item.standing.priority, queued.item.tie_break
