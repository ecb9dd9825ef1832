"""What is being handed out in one transaction: money is reserved as it goes, rows are written at the end."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import AssignmentState
from app.policy.chance import number_of
from app.policy.worker_choice import Team
from app.store.assignments import HeldLease, Lease, live_leases_of, save_leases
from app.store.items import Item, change_in_flight
from app.store.jobs import Job
from app.store.queue import gold_item
from app.store.workers import STRANGER, Worker, most_promising
from app.use_cases.queue_head import Buyer, Offer, QueueHead, skills_for
from app.use_cases.standing import Known, facts_of


@dataclass
class Handout:
    connection: AsyncConnection
    job: Job
    now: datetime
    queue: QueueHead
    held: dict[str, list[HeldLease]]
    workers: Mapping[str, Worker]
    fresh: list[HeldLease] = field(default_factory=list)
    reserved: Decimal = Decimal(0)  # beside what was reserved before
    gold: Counter[int] = field(default_factory=Counter)  # items that are out as gold, beside what was out before

    def known(self, worker: str | None) -> Worker:
        return self.workers.get(worker or "", STRANGER)

    def lacks(self, worker: str, count: int) -> int:
        if not self.known(worker).is_welcome:
            return 0
        return max(count - len(self.held.get(worker, ())), 0)

    def is_busy(self, worker: str) -> bool:
        """Who is chosen holds no more than so many at once."""
        return len(self.held.get(worker, ())) >= self.job.rules.leases_per_worker

    async def give(self, worker: str | None, count: int) -> list[HeldLease]:
        """What the worker holds from now on, oldest first, at most as many as were asked for."""
        if self.known(worker).block is not None:
            return []
        mine = self.held.setdefault(worker, []) if worker is not None else []
        while len(mine) < count and self.known(worker).away is None:
            buyer = self._buyer(worker, [held.lease.item_id for held in mine])
            offer = await self._offer(buyer)
            if offer is None:
                break
            lease = await self._lease(offer, buyer)
            if worker is None:
                mine.append(lease)
        return mine[:count]

    async def give_to_one_of(self, team: Sequence[str], count: int, *, anew: bool) -> list[HeldLease]:
        """What these hold together from now on, or, `anew`, what they get beside it."""
        allowed = [name for name in team if self.known(name).is_welcome]
        theirs = [] if anew else [held for name in allowed for held in self.held.get(name, ())]
        theirs.sort(key=lambda held: (held.lease.leased_at, held.lease.assignment_id))
        while len(theirs) < count:
            lease = await self._lease_to_the_best(allowed)
            if lease is None:
                break
            theirs.append(lease)
        return theirs[:count]

    async def look_for_workers(self, besides: Sequence[str], most: int) -> list[str]:
        """Registered workers who may be asked, other than these, best first; the handout knows of them from now on."""
        further = await most_promising(self.connection, self.job.job_id, besides=besides, most=most)
        self.workers = {**self.workers, **further}
        for name, leases in (await live_leases_of(self.connection, self.job.job_id, further.keys())).items():
            self.held.setdefault(name, leases)  # what was given here a moment ago is not there yet
        self.queue.learn_of(skills_for(self.job, further, further.keys()))
        return list(further)

    def balanced(self) -> Job:
        """The job with what was promised here."""
        job = self.job
        return replace(job, reserved=job.reserved + self.reserved, leases=job.leases + len(self.fresh))

    async def write_back(self) -> dict[int, HeldLease]:
        """Write the leases; gives them by the number that they got here, with the one that stands for them for good."""
        if not self.fresh:
            return {}
        numbers = await save_leases(self.connection, self.job.job_id, [held.lease for held in self.fresh])
        await self.queue.write_back()
        await change_in_flight(self.connection, self.job.job_id, self.gold)
        return {held.lease.assignment_id: _renumbered(held, numbers) for held in self.fresh}

    def _buyer(self, worker: str | None, has: Sequence[int] = ()) -> Buyer:
        left = self.job.remaining
        return Buyer(worker, self.known(worker).price, None if left is None else left - self.reserved, has)

    async def _offer(self, buyer: Buyer) -> Offer | None:
        if buyer.affordable is not None and self.job.least_cost * buyer.price > buyer.affordable:
            return None  # without a look: at the end of a budget everybody asks, and all would search in vain
        return await self.queue.offer(buyer)

    async def _lease_to_the_best(self, team: Sequence[str]) -> HeldLease | None:
        """The choice is the policy's: by the offers of all, or by the workers alone until one has an offer."""
        choice, offers = self.job.rules.worker_choice, dict[str, Offer]()
        free = [name for name in team if not self.is_busy(name)]
        buyers = {name: self._buyer(name, [held.lease.item_id for held in self.held.get(name, ())]) for name in free}
        if choice.compares_offers:
            await self.queue.value_for(free)
            found = {name: await self._offer(buyer) for name, buyer in buyers.items()}
            offers = {name: offer for name, offer in found.items() if offer is not None}
            free = list(offers)
        while (place := self._chosen(free, offers)) is not None:
            name = free.pop(place)
            offer = offers.get(name) or await self._offer(buyers[name])
            if offer is not None:
                return await self._lease(offer, buyers[name], second_opinion=self._asks_others)
        return None

    @property
    def _asks_others(self) -> bool:
        rules = self.job.rules
        return bool(rules.worker_choice.asks_others(rules.seed, np.array([self._next_number]), self.job.items)[0])

    def _chosen(self, names: Sequence[str], offers: Mapping[str, Offer]) -> int | None:
        rules = self.job.rules
        return rules.worker_choice.choose_from(self._team(names, offers), rules.seed, self._next_number, self.job.items)

    def _team(self, names: Sequence[str], offers: Mapping[str, Offer]) -> Team:
        known, engine, newcomer = [self.known(name) for name in names], self.job.engine, self.job.engine.newcomer()
        skill = np.array([newcomer if worker.skill is None else worker.skill for worker in known], dtype=np.float64)
        return Team.offered(
            agreed=np.array([float(worker.agreed) for worker in known]),
            decided=np.array([float(worker.decided) for worker in known]),
            price=np.array([float(worker.price) for worker in known]),
            number=np.array([number_of(name) for name in names], dtype=np.int64),
            worth=np.array([offers[name].worth if name in offers else 0.0 for name in names]),
            trust=engine.model.accuracy(skill.reshape(len(names), len(newcomer))),
        )

    async def _lease(self, offer: Offer, buyer: Buyer, *, second_opinion: bool = False) -> HeldLease:
        """The offer, or gold in its place: outside they look the same."""
        why = _why(self.job, offer, second_opinion=second_opinion)
        item = await self._gold_for(buyer)
        if item is None:
            self.queue.lease(offer, buyer)
            item = offer.queued.item
        else:
            self.gold[item.item_id] += 1
        held = HeldLease(lease=self._new_lease(item, buyer, why), key=item.key, payload=item.payload)
        self.reserved += held.lease.cost
        self.fresh.append(held)
        if buyer.worker is not None:
            self.held.setdefault(buyer.worker, []).append(held)
        return held

    async def _gold_for(self, buyer: Buyer) -> Item | None:
        """An item whose label is known, where the lot falls on this assignment; nobody unnamed is worth testing."""
        if buyer.worker is None or not self.job.gold_items:
            return None
        rules, number, worker = self.job.rules, self._next_number, number_of(buyer.worker)
        if not rules.gold.drawn(rules.seed, worker, number, self.known(buyer.worker).gold_asked):
            return None
        found = await gold_item(
            self.connection,
            self.job.job_id,
            worker=buyer.worker,
            price=buyer.price,
            affordable=buyer.affordable,
            lot=int(self.job.engine.tie_breaks(np.array([number ^ worker], dtype=np.int64))[0]),
        )
        return None if found is None or found.item_id in buyer.has else found

    @property
    def _next_number(self) -> int:
        return self.job.leases + len(self.fresh) + 1

    def _new_lease(self, item: Item, buyer: Buyer, why: dict[str, Any]) -> Lease:
        return Lease(
            assignment_id=self._next_number,
            item_id=item.item_id,
            worker=buyer.worker,
            state=AssignmentState.LIVE,
            cost=buyer.cost_of(item),
            leased_at=self.now,
            expires_at=self.now + self.job.lease_duration,
            why=why,
        )


def _renumbered(held: HeldLease, numbers: Mapping[tuple[int, str | None], int]) -> HeldLease:
    """A lease that was renewed keeps its first number; one of an unnamed worker is always new."""
    lease = held.lease
    number = lease.assignment_id if lease.worker is None else numbers[lease.item_id, lease.worker]
    if number == lease.assignment_id:
        return held
    return replace(held, lease=replace(held.lease, assignment_id=number))


def _why(job: Job, offer: Offer, *, second_opinion: bool) -> dict[str, Any]:
    item, engine = offer.queued.item, job.engine
    standing, facts = item.standing, facts_of(engine, [Known.of(item)])
    answers = np.array([float(sum(standing.votes))])
    trial = engine.on_trial(facts, answers)
    reason = engine.explain(
        standing.reason,
        standing.wanted,
        on_trial=trial is not None and bool(trial[0]),
        second_opinion=second_opinion,
    )
    worth = engine.worth_alone(np.array([offer.worth]), facts, answers)
    return {"code": reason.code, "message": reason.message, "priority": float(worth[0])}
