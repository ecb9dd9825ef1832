"""Serve together, in one transaction, the requests that wait for the same job at the same moment."""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import SufficeError
from app.store.assignments import HeldLease
from app.store.database import is_lost
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.answer_ledger import Submission
from app.use_cases.assign_next import Ask, Next, assign_next
from app.use_cases.change_assignment import Change, Extend, Return, change_assignments
from app.use_cases.chores import Chores, calls_for_chores
from app.use_cases.clock import Clock
from app.use_cases.record_answers import Outcome, record_answers
from app.use_cases.release_expired import release_expired

_MOST = 1000  # answers, asks and changes in one transaction
_CROWD = 8  # requests served together: who was just answered will soon be back ...
_SMALL = 10_000  # answers of a job whose refit is so short that who brings it about waits for it: see `Desk`
_BREATH = 0.002  # seconds ... and to wait so long for them saves a transaction for the quickest one alone


@dataclass(frozen=True)
class Sent:
    """Answers of one request."""

    submissions: Sequence[Submission]


Wish = Ask | Sent | Change


@dataclass(frozen=True)
class _Waiting:
    wish: Wish
    outcome: asyncio.Future[Any]

    @property
    def weight(self) -> int:
        match self.wish:
            case Sent(submissions):
                return len(submissions)
            case Ask(count=count):
                return count
        return 1

    def tell(self, outcome: Any, _: object = None) -> None:  # noqa: ANN401  each kind of wish has its own outcome
        if self.outcome.done():
            return  # whoever waited has left
        if isinstance(outcome, Exception):
            self.outcome.set_exception(outcome)
        else:
            self.outcome.set_result(outcome)


class Desk:
    """One queue per job. Who comes alone is served at once; those who come meanwhile are served next, together.

    A commit costs the same for one request and for a hundred, and no job ever holds more than one connection.

    Who comes alone with answers that bring about a refit is told of them once it is done, as long as the job is small:
    who asks and answers one by one then meets the same decisions every time. Nobody else waits for it.
    """

    def __init__(self, database: AsyncEngine, clock: Clock, chores: Chores) -> None:
        self._database, self._clock, self._chores = database, clock, chores
        self._queues: dict[UUID, deque[_Waiting]] = {}
        self._serving: set[asyncio.Task[None]] = set()

    async def ask(self, job_id: UUID, ask: Ask) -> Next:
        found: Next = await self._wait(job_id, ask)
        return found

    async def answer(self, job_id: UUID, submissions: Sequence[Submission]) -> list[Outcome]:
        outcomes: list[Outcome] = await self._wait(job_id, Sent(submissions))
        return outcomes

    async def change(self, job_id: UUID, change: Change) -> HeldLease:
        held: HeldLease = await self._wait(job_id, change)
        return held

    async def close(self) -> None:
        """Let those who are being served finish."""
        await asyncio.gather(*self._serving)

    async def _wait(self, job_id: UUID, wish: Wish) -> Any:  # noqa: ANN401  each kind of wish has its own outcome
        waiting = _Waiting(wish, asyncio.get_running_loop().create_future())
        if job_id in self._queues:
            self._queues[job_id].append(waiting)
        else:
            self._queues[job_id] = deque([waiting])
            task = asyncio.create_task(self._serve(job_id))
            self._serving.add(task)
            task.add_done_callback(self._serving.discard)
        return await waiting.outcome

    async def _serve(self, job_id: UUID) -> None:
        """Until nobody waits for this job any more."""
        together: list[_Waiting] = []
        try:
            while together := self._next_in(job_id):
                await self._serve_together(job_id, together)
                if len(together) >= _CROWD and len(self._queues[job_id]) < _CROWD:
                    await asyncio.sleep(_BREATH)
        finally:  # whatever ended this, nobody shall wait for it
            for waiting in (*together, *self._queues.pop(job_id)):
                waiting.outcome.cancel()

    def _next_in(self, job_id: UUID) -> list[_Waiting]:
        """Those at the head of the queue, without those who have left."""
        queue, weight = self._queues[job_id], 0
        together: list[_Waiting] = []
        while queue and (not together or weight + queue[0].weight <= _MOST):
            waiting = queue.popleft()
            if not waiting.outcome.done():
                together.append(waiting)
                weight += waiting.weight
        return together

    async def _serve_together(self, job_id: UUID, together: Sequence[_Waiting]) -> None:
        chore = None
        try:
            before, after, outcomes = await self._commit(job_id, [waiting.wish for waiting in together])
            chore = self._begin_chores(job_id, before, after, alone=len(together) == 1)
        except Exception as error:  # noqa: BLE001  whatever it is, it belongs to those who wait, not to this loop
            if len(together) > 1 and not is_lost(error) and not isinstance(error, SufficeError):
                for waiting in together:  # one of them may be to blame; the others shall not suffer for it
                    await self._serve_together(job_id, [waiting])
                return
            outcomes = [error] * len(together)
        for waiting, outcome in zip(together, outcomes, strict=True):
            if chore is not None and isinstance(waiting.wish, Sent):
                chore.add_done_callback(partial(waiting.tell, outcome))
            else:
                waiting.tell(outcome)

    def _begin_chores(self, job_id: UUID, before: Job, after: Job, *, alone: bool) -> asyncio.Task[None] | None:
        """See to what a transaction has left to be done; gives what those who brought it about should wait for."""
        if not calls_for_chores(before, after):
            return None
        if alone and after.answers <= _SMALL:
            return self._chores.begin(job_id)
        self._chores.begin_unless_at_rest(job_id)
        return None

    async def _commit(self, job_id: UUID, wishes: Sequence[Wish]) -> tuple[Job, Job, list[Any]]:
        async with self._database.begin() as connection:
            return await _fulfil(connection, job_id, wishes, self._clock)


async def _fulfil(
    connection: AsyncConnection, job_id: UUID, wishes: Sequence[Wish], clock: Clock
) -> tuple[Job, Job, list[Any]]:
    """Answers first, for they free items and money; then what is given back; then who asks for more."""
    before = await lock_job(connection, job_id)
    now = clock()  # after the lock: a lease should not have been running while its worker waited
    job = await release_expired(connection, before, now)
    outcomes: dict[int, Any] = {}
    if sent := {place: wish for place, wish in enumerate(wishes) if isinstance(wish, Sent)}:
        job, recorded = await record_answers(connection, job, [wish.submissions for wish in sent.values()], now)
        outcomes |= zip(sent, recorded, strict=True)
    if changes := {place: wish for place, wish in enumerate(wishes) if isinstance(wish, Extend | Return)}:
        job, changed = await change_assignments(connection, job, list(changes.values()), now)
        outcomes |= zip(changes, changed, strict=True)
    if asks := {place: wish for place, wish in enumerate(wishes) if isinstance(wish, Ask)}:
        job, given = await assign_next(connection, job, list(asks.values()), now)
        outcomes |= zip(asks, given, strict=True)
    if job != before:
        await save_ledger(connection, job)
    return before, job, [outcomes[place] for place in range(len(wishes))]
