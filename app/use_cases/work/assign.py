"""Assign the best open items to workers, and never reserve more money than the budget has left."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.assignment import Assignment, AssignmentState, HeldAssignment
from app.domain.audit_sample import Audit
from app.domain.item import CROWD_CANNOT_REACH, Item
from app.domain.job import Job
from app.domain.work import NextWork, WorkRequest
from app.domain.worker import UNKNOWN_WORKER, Worker
from app.errors import InvalidInput
from app.policy.core.decision import Reason
from app.policy.core.randomness import number_of
from app.policy.worker_choice.base import CandidateWorkers
from app.store.assignments import live_assignments_of, save_assignments
from app.store.audits import free_audit_item, running_audit
from app.store.queue import gold_item, unsettled_item
from app.store.workers import most_promising
from app.use_cases.work.judging import ItemFacts, context_of
from app.use_cases.work.named_workers import load_named_workers
from app.use_cases.work.no_work import NoWork, while_paused
from app.use_cases.work.queue_window import AskingWorker, Candidate, QueueWindow, skills_for
from app.use_cases.workers.skills import wrong_tier

_TEAM = 64  # candidates from whom a worker is chosen if a request names none
_MOST_CONSIDERED = 64 * _TEAM  # workers; if none of them finds work, nobody is expected to


async def assign_next(
    connection: AsyncConnection, job: Job, requests: Sequence[WorkRequest], now: datetime
) -> tuple[Job, list[NextWork | InvalidInput]]:
    """For each request in turn: assignments that the worker holds come first, then new ones up to `count`.

    A request with a tier that the job does not know gets the error.
    """
    tiers = {place: one.tier for place, one in enumerate(requests) if one.tier is not None}
    refused = {place: wrong for place, tier in tiers.items() if (wrong := wrong_tier(job, tier, "#"))}
    if refused:
        served = [one for place, one in enumerate(requests) if place not in refused]
        job, answered = await assign_next(connection, job, served, now) if served else (job, [])
        work = iter(answered)
        return job, [InvalidInput.of([refused[n]]) if n in refused else next(work) for n in range(len(requests))]
    if job.paused:
        return job, [*await while_paused(connection, job, requests)]
    batch, requests = await _open_batch(connection, job, requests, now)
    given = [await batch.serve(request) for request in requests]
    fresh = await batch.write_back()
    job = batch.balanced()
    responses = {position: _assigned(held, fresh) for position, held in enumerate(given) if held}
    empty = {position: requests[position] for position, held in enumerate(given) if not held}
    if empty:
        empty = {position: batch.as_considered(request) for position, request in empty.items()}
        chosen = {name for request in empty.values() for name in request.workers or ()}
        no_work = NoWork(
            job, batch.workers, {name for name in chosen if batch.is_busy(name)}, batch.queue.is_empty, now, batch.audit
        )
        responses |= zip(empty, await no_work.explain(connection, list(empty.values())), strict=True)
    return job, [responses[position] for position in range(len(requests))]


@dataclass
class AssignmentBatch:
    """The assignments of one transaction: money is reserved as they are made, rows are written at the end."""

    connection: AsyncConnection
    job: Job
    now: datetime
    queue: QueueWindow
    held: dict[str, list[HeldAssignment]]
    workers: Mapping[str, Worker]
    fresh: list[HeldAssignment] = field(default_factory=list)
    audit: Audit | None = None  # that trusted workers of this batch may check items of
    reserved: Decimal = Decimal(0)  # by this batch, in addition to earlier reservations
    considered: dict[WorkRequest, tuple[str, ...]] = field(default_factory=dict)  # if the job looked beyond a team
    gold: Counter[int] = field(default_factory=Counter)  # new assignments of closed items, which are not queued

    def known(self, worker: str | None) -> Worker:
        return self.workers.get(worker or "", UNKNOWN_WORKER)

    def is_busy(self, worker: str) -> bool:
        """Whether the worker holds the most assignments that a chosen worker may hold."""
        return len(self.held.get(worker, ())) >= self.job.policy.max_assignments_per_worker

    def new_assignments(self, requests: Sequence[WorkRequest]) -> int:
        """Return how many assignments these requests may add; a worker who asks twice does not get more."""
        named: dict[str, int] = {}
        for request in requests:
            name = request.worker
            if name is not None and self.known(name).gets_work:
                missing = request.count - len(self.held.get(name, ()))
                named[name] = max(named.get(name, 0), missing)
        return sum(request.count for request in requests if request.worker is None) + sum(named.values())

    async def serve(self, request: WorkRequest) -> list[HeldAssignment]:
        """Assign items for a request; returns all assignments that its workers hold now, or none."""
        if request.workers is None:
            return await self._serve_worker(request.worker, request.count, request.tier)
        team: Sequence[str] = request.workers
        given = await self._serve_team(team, request)
        considered = list(team)
        while not given and request.ignore_held and len(team) == _TEAM and len(considered) < _MOST_CONSIDERED:
            team = await self._further_workers(besides=considered)
            given = await self._serve_team(team, request)
            considered += team
        self.considered[request] = tuple(considered)
        return given

    def as_considered(self, request: WorkRequest) -> WorkRequest:
        """Return a request that was not served with all the workers who were considered for it."""
        return replace(request, workers=self.considered.get(request, request.workers))

    async def write_back(self) -> dict[int, HeldAssignment]:
        """Write the new assignments; returns them by their temporary number in this batch, with their final number."""
        if not self.fresh:
            return {}
        numbers = await save_assignments(self.connection, self.job.job_id, [held.assignment for held in self.fresh])
        await self.queue.write_back(self.gold)
        return {held.assignment.assignment_id: _renumbered(held, numbers) for held in self.fresh}

    def balanced(self) -> Job:
        """Return the job with the money that this batch has reserved."""
        job = self.job
        return replace(job, reserved=job.reserved + self.reserved, assignments=job.assignments + len(self.fresh))

    async def _serve_worker(self, worker: str | None, count: int, tier: str | None) -> list[HeldAssignment]:
        """Return the worker's assignments, oldest first, with new ones up to `count`."""
        if self.known(worker).block is not None:
            return []
        mine = self.held.setdefault(worker, []) if worker is not None else []
        while worker is not None and len(mine) < count and await self._assign_for_truth(worker) is not None:
            mine = self.held[worker]
        while len(mine) < count and self._may_vote(worker):
            asking = replace(self._asking(worker, mine), tier=tier)
            candidate = await self._candidate(asking)
            if candidate is None:
                break
            held = await self._assign(candidate, asking)
            if worker is None:
                mine.append(held)
        return mine[:count]

    async def _serve_team(self, team: Sequence[str], request: WorkRequest) -> list[HeldAssignment]:
        """Return the assignments of these workers together, with new ones up to the request's count."""
        allowed = [name for name in team if self.known(name).gets_work]
        theirs = [] if request.ignore_held else [held for name in allowed for held in self.held.get(name, ())]
        theirs.sort(key=lambda held: (held.assignment.leased_at, held.assignment.assignment_id))
        while len(theirs) < request.count:
            held = await self._assign_to_best(allowed)
            if held is None:
                break
            theirs.append(held)
        return theirs[: request.count]

    def _may_vote(self, worker: str | None) -> bool:
        """Whether the worker gets open items; where an expert has the last word, trusted workers wait for the crowd."""
        known = self.known(worker)
        return known.low_information is None and not (known.trusted and self.job.engine.requirement.refers_doubt)

    async def _further_workers(self, besides: Sequence[str]) -> list[str]:
        """Load other registered workers who may be asked, best first."""
        further = await most_promising(self.connection, self.job.job_id, besides=besides, most=_TEAM)
        self.workers = {**self.workers, **further}
        for name, assignments in (await live_assignments_of(self.connection, self.job.job_id, further.keys())).items():
            self.held.setdefault(name, assignments)  # the database does not have this batch's assignments yet
        self.queue.add_workers(skills_for(self.job, further, further.keys()))
        return list(further)

    def _asking(self, worker: str | None, mine: Sequence[HeldAssignment]) -> AskingWorker:
        left = self.job.remaining
        affordable = None if left is None else left - self.reserved
        return AskingWorker(worker, self.known(worker).price, affordable, [held.assignment.item_id for held in mine])

    async def _candidate(self, asking: AskingWorker) -> Candidate | None:
        if asking.affordable is not None and self.job.least_cost * asking.price > asking.affordable:
            return None  # saves a query: at the end of a budget many workers ask, and every search would fail
        return await self.queue.best_for(asking)

    async def _assign_to_best(self, team: Sequence[str]) -> HeldAssignment | None:
        """Let the policy choose the worker: by the candidates of all, or by worker alone until one has a candidate."""
        choice, candidates = self.job.policy.worker_choice, dict[str, Candidate]()
        free = [name for name in team if not self.is_busy(name)]
        for name in free:
            if (held := await self._assign_audit_item(name)) is not None:
                return held
        asking = {name: self._asking(name, self.held.get(name, ())) for name in free}
        free = [name for name in free if self._may_vote(name)]
        if choice.compares_items:
            await self.queue.value_for(free)
            found = {name: await self._candidate(one) for name, one in asking.items()}
            candidates = {name: candidate for name, candidate in found.items() if candidate is not None}
            first_tier = min((candidate.tier for candidate in candidates.values()), default=0)
            free = [name for name, candidate in candidates.items() if candidate.tier == first_tier]
        while (position := self._chosen(free, candidates)) is not None:
            name = free.pop(position)
            candidate = candidates.get(name) or await self._candidate(asking[name])
            if candidate is not None:
                return await self._assign(candidate, asking[name], second_opinion=self._wants_second_opinion)
        # Last, because the job may choose the crowd instead of a trusted worker as long as it has work for the crowd.
        for name in sorted(asking, key=lambda name: self.known(name).price):
            if (held := await self._assign_unsettled_item(name)) is not None:
                return held
        return None

    @property
    def _wants_second_opinion(self) -> bool:
        policy = self.job.policy
        return bool(
            policy.worker_choice.wants_second_opinion(policy.seed, np.array([self._next_number]), self.job.items)[0]
        )

    def _chosen(self, names: Sequence[str], candidates: Mapping[str, Candidate]) -> int | None:
        policy, engine, newcomer = self.job.policy, self.job.engine, self.job.engine.newcomer()
        known = [self.known(name) for name in names]
        skill = np.array([newcomer if worker.skill is None else worker.skill for worker in known], dtype=np.float64)
        team = CandidateWorkers.with_worth(
            agreed_answers=np.array([float(worker.agreed_answers) for worker in known]),
            scored_answers=np.array([float(worker.scored_answers) for worker in known]),
            price=np.array([float(worker.price) for worker in known]),
            number=np.array([number_of(name) for name in names], dtype=np.int64),
            worth=np.array([candidates[name].value_per_cost if name in candidates else 0.0 for name in names]),
            accuracy=engine.model.accuracy(skill.reshape(len(names), len(newcomer))),
        )
        return policy.worker_choice.choose_from(team, policy.seed, self._next_number, self.job.items)

    async def _assign(
        self, candidate: Candidate, asking: AskingWorker, *, second_opinion: bool = False
    ) -> HeldAssignment:
        """Assign the candidate, or a gold item instead; the worker cannot see the difference."""
        why = _why(self.job, candidate, second_opinion=second_opinion)
        item = await self._gold_for(asking)
        if item is None:
            self.queue.take(candidate, asking.worker)
            item = candidate.queued.item
        else:
            self.gold[item.item_id] += 1
        return self._hand_out(item, asking, why)

    async def _assign_for_truth(self, worker: str) -> HeldAssignment | None:
        """Assign what only a trusted worker can do: an item of the audit, or one that the crowd cannot settle.

        Both come before open items. For the same price a vote on an open item resolves it at best in part, and the
        crowd can give it, too.
        """
        return await self._assign_audit_item(worker) or await self._assign_unsettled_item(worker)

    async def _assign_audit_item(self, worker: str) -> HeldAssignment | None:
        """Assign an item of the running audit to a trusted worker; None if there is none for this worker."""
        if self.audit is None or not self.known(worker).trusted:
            return None
        asking = self._asking(worker, self.held.get(worker, ()))
        item = await free_audit_item(
            self.connection,
            self.job.job_id,
            self.audit.audit_id,
            worker=worker,
            price=asking.price,
            affordable=asking.affordable,
            besides=[*asking.has, *(held.assignment.item_id for held in self.fresh if held.assignment.audit_id)],
        )
        if item is None:
            return None
        self.gold[item.item_id] += 1
        reason = Reason("audit", "This item is in the random sample of an audit: give the right label.")
        why = {"code": reason.code, "message": reason.message, "priority": 0.0}
        return self._hand_out(item, asking, why, audit_id=self.audit.audit_id)

    async def _assign_unsettled_item(self, worker: str) -> HeldAssignment | None:
        """Assign an item that the crowd cannot settle to a trusted worker; None if there is none for this worker."""
        if not self.job.given_up or not self.known(worker).trusted:
            return None
        asking = self._asking(worker, self.held.get(worker, ()))
        item = await unsettled_item(
            self.connection,
            self.job.job_id,
            worker=worker,
            price=asking.price,
            affordable=asking.affordable,
            besides=[held.assignment.item_id for held in self.fresh],
        )
        if item is None:
            return None
        self.gold[item.item_id] += 1
        message = "The crowd cannot make the label of this item sure enough: give the right label."
        return self._hand_out(item, asking, {"code": CROWD_CANNOT_REACH, "message": message, "priority": 0.0})

    def _hand_out(
        self, item: Item, asking: AskingWorker, why: dict[str, Any], audit_id: int | None = None
    ) -> HeldAssignment:
        """Make the assignment and reserve its money."""
        assignment = Assignment(
            assignment_id=self._next_number,
            item_id=item.item_id,
            worker=asking.worker,
            state=AssignmentState.LIVE,
            cost=asking.cost_of(item),
            leased_at=self.now,
            expires_at=self.now + self.job.lease_duration,
            why=why,
            tier=asking.tier,
            audit_id=audit_id,
        )
        held = HeldAssignment(assignment=assignment, key=item.key, payload=item.payload)
        self.reserved += assignment.cost
        self.fresh.append(held)
        if asking.worker is not None:
            self.held.setdefault(asking.worker, []).append(held)
        return held

    async def _gold_for(self, asking: AskingWorker) -> Item | None:
        """Return a gold item if the random draw for this assignment says so; unnamed workers are not tested."""
        if asking.worker is None or not self.job.gold_items:
            return None
        policy, number, worker = self.job.policy, self._next_number, number_of(asking.worker)
        if not policy.gold.drawn(policy.seed, worker, number, self.known(asking.worker).gold_asked):
            return None
        found = await gold_item(
            self.connection,
            self.job.job_id,
            worker=asking.worker,
            price=asking.price,
            affordable=asking.affordable,
            start=int(self.job.engine.tie_breaks(np.array([number ^ worker], dtype=np.int64))[0]),
        )
        return None if found is None or found.item_id in asking.has else found

    @property
    def _next_number(self) -> int:
        return self.job.assignments + len(self.fresh) + 1


async def _open_batch(
    connection: AsyncConnection, job: Job, requests: Sequence[WorkRequest], now: datetime
) -> tuple[AssignmentBatch, list[WorkRequest]]:
    """Load the data for these requests; requests that leave the choice to the job are returned with a team."""
    requests, workers = await _with_teams(connection, job, requests)
    chosen = {name for request in requests if request.workers is not None for name in request.workers}
    tiers = {request.tier for request in requests if request.tier is not None}
    is_any_trusted = any(worker.trusted for worker in workers.values())
    batch = AssignmentBatch(
        connection=connection,
        job=job,
        now=now,
        queue=QueueWindow(connection, job, skills_for(job, workers, chosen, tiers)),
        held=await live_assignments_of(connection, job.job_id, _named(requests)),
        workers=workers,
        audit=await running_audit(connection, job.job_id) if is_any_trusted else None,
    )
    await batch.queue.read_ahead(batch.new_assignments(requests))
    return batch, requests


async def _with_teams(
    connection: AsyncConnection, job: Job, requests: Sequence[WorkRequest]
) -> tuple[list[WorkRequest], Mapping[str, Worker]]:
    workers = await load_named_workers(connection, job, _named(requests))
    # A tier says who came: then there is nobody to choose.
    unnamed = [request.worker is None and request.workers is None and request.tier is None for request in requests]
    if not job.policy.worker_choice.chooses or not any(unnamed):
        return list(requests), workers
    promising = await most_promising(connection, job.job_id, besides=(), most=_TEAM)
    team = tuple(promising)
    teams = [
        replace(request, workers=team, ignore_held=True) if is_unnamed else request
        for request, is_unnamed in zip(requests, unnamed, strict=True)
    ]
    return teams, {**promising, **workers}


def _named(requests: Sequence[WorkRequest]) -> set[str]:
    """All workers whom these requests name."""
    return {name for one in requests for name in one.workers or (one.worker,) if name is not None}


def _assigned(assignments: Sequence[HeldAssignment], fresh: Mapping[int, HeldAssignment]) -> NextWork:
    """Build the response with assignments: first those that were already held, then the new ones of this batch."""
    new = [fresh[held.assignment.assignment_id] for held in assignments if held.assignment.assignment_id in fresh]
    old = [held for held in assignments if held.assignment.assignment_id not in fresh]
    word = "assignment" if len(assignments) == 1 else "assignments"
    message = f"{len(new)} new {word}." if new else f"{len(old)} {word} already held."
    if old and new:
        message = f"{len(assignments)} assignments: {len(old)} already held, {len(new)} new."
    return NextWork("continue", Reason("assigned", message), [*old, *new])


def _renumbered(held: HeldAssignment, numbers: Mapping[tuple[int, str | None], int]) -> HeldAssignment:
    """Set the final number: a renewed assignment keeps its first one; an unnamed worker's assignment is always new."""
    assignment = held.assignment
    number = assignment.assignment_id if assignment.worker is None else numbers[assignment.item_id, assignment.worker]
    if number == assignment.assignment_id:
        return held
    return replace(held, assignment=replace(held.assignment, assignment_id=number))


def _why(job: Job, candidate: Candidate, *, second_opinion: bool) -> dict[str, Any]:
    item, engine = candidate.queued.item, job.engine
    decision = item.decision
    trial = engine.on_trial(context_of(engine, [ItemFacts.of(item)]), np.array([float(sum(decision.votes))]))
    reason = engine.explain(
        decision.reason,
        decision.max_open_assignments,
        on_trial=trial is not None and bool(trial[0]),
        second_opinion=second_opinion,
    )
    return {"code": reason.code, "message": reason.message, "priority": float(f"{candidate.value_per_cost:.6g}")}
