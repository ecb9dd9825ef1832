"""What would other policies have made of a job's own answers? Found out in the background, one replay at a time."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import FieldError, InvalidInput, JobUnknown
from app.lab.askers import Order
from app.lab.policies import Workers, rules_of
from app.lab.recorded import Recorded
from app.lab.replay import courses, goes_apart, picking, replay
from app.lab.report import Line
from app.policy.rules import Rules
from app.store.database import is_lost
from app.store.history import History, ballots_of, count_who_answered, read_history
from app.store.jobs import Job, lock_job
from app.store.operations import Operation, count_unfinished, first_unfinished, jobs_with_unfinished
from app.use_cases.chores import alone, note, save_shown
from app.use_cases.clock import Clock
from app.use_cases.workshop import Workshop

log = structlog.get_logger()

REPLAY = "replay"
AS_IT_IS = "job"  # the name of the job's own rules among the policies
MOST_ANSWERS = 400_000  # bought in all runs of all policies together: about a minute
MOST_PAIRS = 4_000_000  # answers times seeds that are held at once: some hundred megabytes
MOST_CELLS = 10_000_000  # workers times items of a run that goes apart, which keeps who was asked about what
MOST_WAITING = 10  # replays of one job
_APART = 10  # times as long takes a job whose runs do not go side by side
_QUICK = 3000  # answers bought in all: less than it takes to start a process


@dataclass(frozen=True)
class ReplayAsked:
    """What is to be replayed; kept with the operation until it is done."""

    policies: tuple[str, ...]
    labels_per_item: tuple[float, ...]
    workers: Workers
    order: Order
    seeds: int

    def rules_of(self, policy: str, own: Rules) -> Rules:
        """Of the policy by this name, or of the job itself."""
        return own if policy == AS_IT_IS else rules_of(policy, own.labels, self.workers, own.seed)


class Lab:
    """At most one replay at a time in this process, away from the event loop and from the chores; jobs take turns.

    Whatever is asked for stands in the database, so that a crash forgets nothing: the next look finds it again, and
    an advisory lock sees to it that only one replica is at a job's replays.
    """

    def __init__(self, database: AsyncEngine, clock: Clock) -> None:
        """A connection of `database` is held all the while."""
        self._database, self._clock = database, clock
        self._workshop = Workshop()
        self._task: asyncio.Task[None] | None = None
        self._again = False

    def begin(self) -> None:
        """See to what is asked for, or was left behind by a crash; again when what is under way is done."""
        self._again = True
        if self._task is None:
            self._task = asyncio.create_task(self._see_to_all())

    async def close(self) -> None:
        """Leave everything as it is: it can be taken up again."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._workshop.close()
        await self._database.dispose()

    async def _see_to_all(self) -> None:
        try:
            while self._again:
                self._again = False
                async with self._database.connect() as connection:
                    waiting = await jobs_with_unfinished(connection, REPLAY)
                for job_id in waiting:
                    self._again |= await self._see_to(job_id)
        except Exception as error:
            if is_lost(error):
                log.warning("replay interrupted, will try again", error=str(error))
            else:
                log.exception("replay failed")
        finally:
            self._task = None

    async def _see_to(self, job_id: UUID) -> bool:
        """One replay of the job, that others may have theirs; False where there is none to be made here."""
        async with alone(self._database, job_id, REPLAY) as connection:
            if connection is None or (asked := await _next(connection, job_id)) is None:
                return False
            try:
                await self._carry_out(connection, job_id, asked)
            except JobUnknown:
                return False  # deleted meanwhile
            return True

    async def _carry_out(self, connection: AsyncConnection, job_id: UUID, asked: Operation) -> None:
        shown = replace(asked, state="running", progress=0.0)
        await save_shown(connection, job_id, shown)
        try:
            wanted = _read(asked)
            history = await read_history(connection, job_id)
            answers = len(history.votes.item)
            crowd, found = await self._workshop.do(answers, recorded_of, history), []
            _refuse_too_many_cells(history.job, wanted, len(crowd.workers), len(crowd.items))
            quick = answers * wanted.seeds * len(wanted.policies) <= _QUICK
            for policy in wanted.policies:
                found += await self._replayed(quick, crowd, history.job.rules, wanted, policy)
                shown = replace(shown, progress=len(found) / len(wanted.policies) / len(wanted.labels_per_item))
                await save_shown(connection, job_id, shown)
            told = {"answers": answers, "items": len(crowd.items), "replays": found}
            done = replace(shown, state="done", progress=1.0, outcome=asdict(wanted) | told)
        except InvalidInput as error:  # the job has grown since it was asked for
            done = replace(shown, state="failed", outcome={"error": error.detail})
        except Exception as error:
            if is_lost(error) or isinstance(error, JobUnknown):
                raise
            log.exception("replay failed", job=str(job_id))
            why = {"error": "the replay failed; the log of the service tells why"}
            done = replace(shown, state="failed", outcome=why)
        await save_shown(connection, job_id, replace(done, finished_at=self._clock()))

    async def _replayed(self, quick: bool, *work: Any) -> list[dict[str, Any]]:  # noqa: ANN401, FBT001  what `replayed` takes
        """In a thread if that is quick; else it would fight the event loop for the interpreter."""
        if quick:
            return await asyncio.to_thread(replayed, *work)
        return await self._workshop.apart(replayed, *work)


def recorded_of(history: History) -> Recorded:
    """The answers that count, and in place of the truth what is gold or what all of them say by the job's aggregation.

    An item on which they tie has no truth.
    """
    votes, job = history.votes, history.job
    truth = job.rules.aggregation.fit(ballots_of(history)).labels() if len(votes.item) else np.empty(0, dtype=np.intp)
    (items, item), (workers, worker) = (np.unique(each, return_inverse=True) for each in (votes.item, votes.worker))
    names, people = (tuple(map(str, each.tolist())) for each in (items, workers))
    return Recorded(names, people, job.rules.labels, item, worker, votes.label, truth[items])


def replayed(crowd: Recorded, own: Rules, asked: ReplayAsked, policy: str) -> list[dict[str, Any]]:
    """What a policy comes to at each budget."""
    if not len(crowd.label):
        return []
    found = replay(
        crowd,
        asked.rules_of(policy, own),
        asked.labels_per_item,
        runs=asked.seeds,
        workers=asked.workers,
        order=asked.order,
    )
    pairs = zip(asked.labels_per_item, found, strict=True)
    return [Line.of(policy, budget, standing).as_json() for budget, standing in pairs]


async def ask_for_replay(database: AsyncEngine, job_id: UUID, asked: ReplayAsked, now: datetime) -> Operation:
    """Write down that a replay is wanted, unless it would take too long or others wait."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        if await count_unfinished(connection, job_id, REPLAY) >= MOST_WAITING:
            raise InvalidInput(f"{MOST_WAITING} replays of the job wait already: ask again when one of them is done")
        _refuse_what_takes_too_long(job, asked)
        items = min(job.items, job.answers)
        if items * job.answers > MOST_CELLS:  # else there cannot be too many workers
            _refuse_too_many_cells(job, asked, await count_who_answered(connection, job_id), items)
        return await note(connection, job, REPLAY, now, {"asked": asdict(asked)})


def _refuse_what_takes_too_long(job: Job, asked: ReplayAsked) -> None:
    effort = sum(_effort(job, asked, policy) for policy in asked.policies)
    most = min(MOST_ANSWERS // max(effort, 1), MOST_PAIRS // max(job.answers, 1))
    if asked.seeds > most:
        why = f"The job has {job.answers} answers: these policies can be replayed with {most} seeds at most"
        fewer = "Ask for fewer policies or labels per item" if most == 0 else f"Must be at most {most} here"
        raise InvalidInput(why, errors=(FieldError("#/seeds", fewer),))


def _effort(job: Job, asked: ReplayAsked, policy: str) -> int:
    """Answers that a run of the policy buys, as many as take as long side by side."""
    rules = asked.rules_of(policy, job.rules)
    bought = [min(int(each * job.items), job.answers) for each in asked.labels_per_item]
    once = sum(alike[-1] for alike in courses(picking(rules, asked.workers), bought, job.items))
    return once * (_APART if goes_apart(rules, asked.workers) else 1)


def _refuse_too_many_cells(job: Job, asked: ReplayAsked, workers: int, items: int) -> None:
    if workers * items <= MOST_CELLS:
        return
    for place, policy in enumerate(asked.policies):
        if goes_apart(asked.rules_of(policy, job.rules), asked.workers):
            why = (
                f"{workers} workers (each unnamed answer counts as one) times {items} items are more than the "
                f"{MOST_CELLS} pairs with which {policy!r} can be replayed"
            )
            raise InvalidInput(why, errors=(FieldError(f"#/policies/{place}", "Leave it out: the job is too large"),))


async def _next(connection: AsyncConnection, job_id: UUID) -> Operation | None:
    async with connection.begin():
        return await first_unfinished(connection, job_id, REPLAY)


def _read(operation: Operation) -> ReplayAsked:
    asked: dict[str, Any] = (operation.outcome or {})["asked"]
    lists: dict[str, Sequence[Any]] = {name: tuple(asked[name]) for name in ("policies", "labels_per_item")}
    return ReplayAsked(**asked | lists)
