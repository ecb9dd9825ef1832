"""Apply all requests that wait for the same job in one transaction."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.assignment import HeldAssignment
from app.domain.job import Job
from app.domain.work import NextWork, WorkRequest
from app.errors import SufficeError
from app.policy.core.policy import Uses
from app.store.assignments import expire_assignments
from app.store.connection import is_lost
from app.store.jobs import lock_job, save_ledger
from app.use_cases.clock import Clock
from app.use_cases.operations.runner import BackgroundRunner
from app.use_cases.work.assign import assign_next
from app.use_cases.work.entering import Outcome
from app.use_cases.work.expected_prices import follow_prices
from app.use_cases.work.held_assignments import AssignmentChange, Extend, Return, change_assignments, return_assignments
from app.use_cases.work.ledger import SubmittedAnswer
from app.use_cases.work.record import record_answers

MOST_PER_BATCH = 1000  # answers, requested assignments and changes in one transaction
BUSY_BATCH = 8  # requests: after a batch of this size, more requests come soon ...
PAUSE_SECONDS = 0.002  # ... and this pause collects them, instead of a transaction for the first one alone
SMALL_JOB = 10_000  # answers: the refit of a smaller job is short, and the request that triggers it waits


@dataclass(frozen=True)
class SentAnswers:
    """The answers of one request."""

    submissions: Sequence[SubmittedAnswer]


BatchRequest = WorkRequest | SentAnswers | AssignmentChange


@dataclass(frozen=True)
class _Waiting:
    """A request in the queue of its job, and the future that its sender waits for."""

    request: BatchRequest
    outcome: asyncio.Future[Any]

    @property
    def weight(self) -> int:
        match self.request:
            case SentAnswers(submissions):
                return len(submissions)
            case WorkRequest(count=count):
                return count
        return 1

    def resolve(self, outcome: Any, _: object = None) -> None:  # noqa: ANN401  each kind of request has its own outcome
        if self.outcome.done():
            return  # the sender has disconnected
        if isinstance(outcome, Exception):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


class JobBatcher:
    """One queue of requests per job: those that arrive while a transaction runs are applied together in the next.

    A request that arrives alone is applied at once. A commit costs the same for one request and for a hundred, and no
    job ever holds more than one connection.

    If the answers of a single request trigger a refit of a small job, or move its expected price, the response is sent
    after the items are judged again: a client
    that asks and answers one by one then gets the same decisions every time. No other request waits for a refit.
    """

    def __init__(self, database: AsyncEngine, clock: Clock, runner: BackgroundRunner) -> None:
        self._database, self._clock, self._runner = database, clock, runner
        self._queues: dict[UUID, deque[_Waiting]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def ask(self, job_id: UUID, request: WorkRequest) -> NextWork:
        """Assign items to a worker."""
        found: NextWork = await self._submit(job_id, request)
        return found

    async def answer(self, job_id: UUID, submissions: Sequence[SubmittedAnswer]) -> list[Outcome]:
        """Record answers."""
        outcomes: list[Outcome] = await self._submit(job_id, SentAnswers(submissions))
        return outcomes

    async def change(self, job_id: UUID, change: AssignmentChange) -> HeldAssignment:
        """Extend, release or skip an assignment."""
        held: HeldAssignment = await self._submit(job_id, change)
        return held

    async def close(self) -> None:
        """Wait for the batches that are being applied."""
        await asyncio.gather(*self._running)

    async def _submit(self, job_id: UUID, request: BatchRequest) -> Any:  # noqa: ANN401  as in `_Waiting.resolve`
        waiting = _Waiting(request, asyncio.get_running_loop().create_future())
        if job_id in self._queues:
            self._queues[job_id].append(waiting)
        else:
            self._queues[job_id] = deque([waiting])
            task = asyncio.create_task(self._run(job_id))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        return await waiting.outcome

    async def _run(self, job_id: UUID) -> None:
        """Apply batches until no request waits for this job."""
        batch: list[_Waiting] = []
        try:
            while batch := self._next_batch(job_id):
                await self._apply(job_id, batch)
                if len(batch) >= BUSY_BATCH and len(self._queues[job_id]) < BUSY_BATCH:
                    await asyncio.sleep(PAUSE_SECONDS)
        finally:  # even after an error, no sender may wait for ever
            for waiting in (*batch, *self._queues.pop(job_id)):
                waiting.outcome.cancel()

    def _next_batch(self, job_id: UUID) -> list[_Waiting]:
        """Take the head of the queue, without requests whose sender has disconnected."""
        queue, weight = self._queues[job_id], 0
        batch: list[_Waiting] = []
        while queue and (not batch or weight + queue[0].weight <= MOST_PER_BATCH):
            waiting = queue.popleft()
            if not waiting.outcome.done():
                batch.append(waiting)
                weight += waiting.weight
        return batch

    async def _apply(self, job_id: UUID, batch: Sequence[_Waiting]) -> None:
        refit = None
        try:
            async with self._database.begin() as connection:
                requests = [waiting.request for waiting in batch]
                before, after, outcomes = await apply_batch(connection, job_id, requests, self._clock)
            refit = self._begin_background_work(job_id, before, after, alone=len(batch) == 1)
        except Exception as error:  # noqa: BLE001  any error belongs to the senders, not to this loop
            if len(batch) > 1 and not is_lost(error) and not isinstance(error, SufficeError):
                for waiting in batch:  # one request may be the cause, and the others must not fail because of it
                    await self._apply(job_id, [waiting])
                return
            outcomes = [error] * len(batch)
        for waiting, outcome in zip(batch, outcomes, strict=True):
            if refit is not None and isinstance(waiting.request, SentAnswers):
                refit.add_done_callback(partial(waiting.resolve, outcome))
            else:
                waiting.resolve(outcome)

    def _begin_background_work(
        self, job_id: UUID, before: Job, after: Job, *, alone: bool
    ) -> asyncio.Task[None] | None:
        """Start the work that a batch has made due; returns it, but not a forecast, if the sender should wait."""
        refit = None
        if refit_is_due(after) or after.blocks != before.blocks or after.repriced_to is not None:
            if alone and after.answers <= SMALL_JOB:
                refit = self._runner.begin(job_id)
            else:
                self._runner.begin_if_rested(job_id)
        if has_ended(before, after):  # the runner does nothing if no forecast is due
            if refit is None:
                self._runner.begin(job_id, "forecast")
            else:  # a forecast is about the items as the refit leaves them
                refit.add_done_callback(lambda _: self._runner.begin(job_id, "forecast"))
        return refit


def has_ended(before: Job, after: Job) -> bool:
    """Whether a batch has closed the last open item, or perhaps spent the last money that buys an answer."""
    is_done = after.resolved + after.given_up == after.items
    if is_done or before.spent == after.spent or after.budget is None or after.reserved:
        return is_done and before.resolved + before.given_up < before.items
    return after.budget - after.spent < after.least_cost


def refit_is_due(job: Job) -> bool:
    """Whether enough answers have arrived since the last fit to fit all of them again."""
    return job.refit_at is not None and job.answers >= job.refit_at


async def apply_batch(
    connection: AsyncConnection, job_id: UUID, requests: Sequence[BatchRequest], clock: Clock
) -> tuple[Job, Job, list[Any]]:
    """Lock the job and apply requests to it; returns the job before and after, and the outcome of each request.

    Answers come first, because they free items and money; then changes of assignments; then requests for work.
    """
    before = await lock_job(connection, job_id)
    now = clock()  # after the lock: a lease must not start while its worker waits
    job = before
    if expired := await expire_assignments(connection, job_id, now):
        job = await return_assignments(connection, job, expired)
    outcomes: dict[int, Any] = {}
    if sent := {position: one for position, one in enumerate(requests) if isinstance(one, SentAnswers)}:
        job, recorded = await record_answers(connection, job, [one.submissions for one in sent.values()], now)
        if Uses.PRICE in job.engine.uses:
            job = await follow_prices(connection, job, given=before.answers)
        outcomes |= zip(sent, recorded, strict=True)
    if changes := {position: one for position, one in enumerate(requests) if isinstance(one, Extend | Return)}:
        job, changed = await change_assignments(connection, job, list(changes.values()), now)
        outcomes |= zip(changes, changed, strict=True)
    if asking := {position: one for position, one in enumerate(requests) if isinstance(one, WorkRequest)}:
        job, given = await assign_next(connection, job, list(asking.values()), now)
        outcomes |= zip(asking, given, strict=True)
    if job != before:
        await save_ledger(connection, job)
    return before, job, [outcomes[position] for position in range(len(requests))]
