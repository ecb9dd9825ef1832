"""Replay a job's own answers with other policies, to see what they would have cost."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.operation import Operation
from app.errors import FieldError, InvalidInput, NothingToReplay
from app.policy.core.ballots import NO_LABEL
from app.policy.job_policy import JobPolicy
from app.policy.quality.fitting import FittedCrowd, fit
from app.simulation.named_policies import PolicyUnknown, Workers, policy_of
from app.simulation.policy_replay import group_budgets, replay, runs_sequentially, with_worker_choice
from app.simulation.recorded_crowd import RecordedAnswers
from app.simulation.replay_report import ReplayLine
from app.simulation.selection import Order
from app.store.job_history import History, ballots_of, count_who_answered, read_history
from app.store.jobs import lock_job
from app.store.operations import count_unfinished, first_unfinished, jobs_with_unfinished
from app.use_cases.clock import Clock
from app.use_cases.operations.operation_lifecycle import Outcome, Report, carry_out, create_operation
from app.use_cases.operations.refit_draft import context_of_history
from app.use_cases.operations.worker_process import WorkerProcess

REPLAY = "replay"
OWN_POLICY = "job"  # the name of the job's own policy among the policies to replay
MAX_ANSWERS = 400_000  # bought in all runs of all policies together: about a minute
MAX_PAIRS = 4_000_000  # answers times seeds in memory at once: some hundred megabytes
MAX_CELLS = 10_000_000  # workers times items of a sequential run, which stores every pair
MAX_WAITING = 10  # replays of one job
_SEQUENTIAL = 10  # a sequential run takes this many times as long as a parallel one
_QUICK = 3000  # answers bought in all runs: takes less time than starting a process


@dataclass(frozen=True)
class ReplayRequest:
    """What to replay; stored with the operation until it is done."""

    policies: tuple[str, ...]
    labels_per_item: tuple[float, ...]
    workers: Workers
    order: Order
    seeds: int

    @classmethod
    def of(cls, operation: Operation) -> "ReplayRequest":
        """Read the request that was stored with an unfinished operation."""
        stored: dict[str, Any] = (operation.outcome or {})["asked"]
        lists: dict[str, Sequence[Any]] = {name: tuple(stored[name]) for name in ("policies", "labels_per_item")}
        return cls(**stored | lists)

    def policy_of(self, name: str, own: JobPolicy) -> JobPolicy:
        """Return the policy with this name, which may be the job's own."""
        return own if name == OWN_POLICY else policy_of(name, own.labels, self.workers, own.seed, own.answer)


@dataclass(frozen=True)
class ReplayHandler:
    """Replays answers in the background."""

    clock: Clock
    process: WorkerProcess

    async def due(self, connection: AsyncConnection) -> Sequence[UUID]:
        return await jobs_with_unfinished(connection, REPLAY)

    async def run(self, connection: AsyncConnection, job_id: UUID) -> bool:
        async with connection.begin():
            operation = await first_unfinished(connection, job_id, REPLAY)
        if operation is None:
            return False
        request = ReplayRequest.of(operation)

        async def work(report: Report) -> Outcome:
            return await self._replay(connection, job_id, request, report)

        await carry_out(connection, job_id, operation, work, self.clock)
        return True

    async def _replay(
        self, connection: AsyncConnection, job_id: UUID, request: ReplayRequest, report: Report
    ) -> Outcome:
        history = await read_history(connection, job_id)
        answers = len(history.votes.item)
        crowd = await self.process.run(answers, recorded_answers, history)
        _refuse_too_many_cells(history.job, request, len(crowd.workers), len(crowd.items))  # the job may have grown
        is_quick = answers * request.seeds * len(request.policies) <= _QUICK
        run = asyncio.to_thread if is_quick else self.process.run_in_process
        rows: list[dict[str, Any]] = []
        for done, policy in enumerate(request.policies, start=1):
            rows += await run(replay_policy, crowd, history.job.policy, request, policy)
            await report(done / len(request.policies))
        return asdict(request) | {"answers": answers, "items": len(crowd.items), "replays": rows}


def recorded_answers(history: History) -> RecordedAnswers:
    """Convert the job's counted answers to a recorded crowd.

    The truth of an item is its gold or, without gold, the result that the job's aggregation gives for all answers; a
    tie has no truth. Where answers are numbers, it is the estimate by the job's worker model.
    """
    votes, policy = history.votes, history.job.policy
    truth = _true_results(history) if len(votes.item) else np.empty(0, dtype=np.intp)
    (items, item), (workers, worker) = (np.unique(each, return_inverse=True) for each in (votes.item, votes.worker))
    item_names, worker_names = (tuple(map(str, each.tolist())) for each in (items, workers))
    names = item_names, worker_names, policy.labels
    features = None if history.features is None else history.features[items]
    return RecordedAnswers(*names, item, worker, votes.said, truth[items], policy.answer, features)


def _true_results(history: History) -> npt.NDArray[Any]:
    """What all answers of the job say about each item, shape (last item,); -1 for a tie."""
    policy, ballots = history.job.policy, ballots_of(history)
    if policy.answer.field == "value":
        engine, context = history.job.engine, context_of_history(history)
        new = np.tile(engine.newcomer(), (ballots.workers, 1))
        found = fit(policy.worker_model, history.job.stage, ballots, context, FittedCrowd(new, new))
        return policy.answer.scores(engine.model.read(found.refitted.state, context))[:, 0]
    labels = policy.aggregation.fit(policy.on_questions(ballots)).labels()
    if policy.questions is None:
        return labels
    sides = policy.questions.by_item(labels)
    return np.where((sides == NO_LABEL).any(axis=1), NO_LABEL, policy.questions.sets(np.maximum(sides, 0)))


def replay_policy(crowd: RecordedAnswers, own: JobPolicy, request: ReplayRequest, policy: str) -> list[dict[str, Any]]:
    """Replay one policy; returns a row for each budget."""
    if not len(crowd.label):
        return []
    scores = replay(
        crowd,
        request.policy_of(policy, own),
        request.labels_per_item,
        runs=request.seeds,
        workers=request.workers,
        order=request.order,
    )
    pairs = zip(request.labels_per_item, scores, strict=True)
    return [ReplayLine.of(policy, budget, score).as_json() for budget, score in pairs]


async def request_replay(database: AsyncEngine, job_id: UUID, request: ReplayRequest, now: datetime) -> Operation:
    """Request a replay; raises if it would take too long, or if too many are waiting."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        if not job.answers:
            raise NothingToReplay("The job has no answers yet. Request a replay when it has some.")
        if await count_unfinished(connection, job_id, REPLAY) >= MAX_WAITING:
            raise InvalidInput(
                f"{MAX_WAITING} replays of this job are already waiting, which is the limit. "
                "Try again when one of them is done."
            )
        _refuse_other_kinds(job, request)
        _refuse_what_takes_too_long(job, request)
        items = min(job.items, job.answers)
        if items * job.answers > MAX_CELLS:  # otherwise there cannot be too many workers
            _refuse_too_many_cells(job, request, await count_who_answered(connection, job_id), items)
        return await create_operation(connection, job, REPLAY, now, {"asked": asdict(request)})


def _refuse_other_kinds(job: Job, request: ReplayRequest) -> None:
    """Refuse policies that do not decide about answers of the job's kind."""
    for position, name in enumerate(request.policies):
        try:
            with_worker_choice(request.policy_of(name, job.policy), request.workers)
        except ValidationError as error:
            detail = f"{name} cannot be replayed on this job: {error.errors()[0]['msg']}"
            raise InvalidInput.at(f"#/policies/{position}", detail) from error
        except PolicyUnknown as error:
            raise InvalidInput.at("#/workers", str(error)) from error


def _refuse_what_takes_too_long(job: Job, request: ReplayRequest) -> None:
    effort = sum(_effort(job, request, policy) for policy in request.policies)
    most = min(MAX_ANSWERS // max(effort, 1), MAX_PAIRS // job.answers)
    if request.seeds <= most:
        return
    if most == 0:
        detail = f"The job has {job.answers:,} answers, too many to replay these policies even with one seed."
        advice = "Even one seed takes too long; request fewer policies or fewer labels per item"
    else:
        detail = f"The job has {job.answers:,} answers, so these policies can be replayed with at most {most} seeds."
        advice = f"Must be at most {most}"
    raise InvalidInput(detail, errors=(FieldError("#/seeds", advice),))


def _effort(job: Job, request: ReplayRequest, name: str) -> int:
    """Return the answers that one run of the policy buys, weighted by time: a sequential run takes longer."""
    policy = request.policy_of(name, job.policy)
    bought = [min(int(each * job.items), job.answers) for each in request.labels_per_item]
    answers = sum(alike[-1] for alike in group_budgets(with_worker_choice(policy, request.workers), bought, job.items))
    return answers * (_SEQUENTIAL if runs_sequentially(policy, request.workers) else 1)


def _refuse_too_many_cells(job: Job, request: ReplayRequest, workers: int, items: int) -> None:
    if workers * items <= MAX_CELLS:
        return
    for position, policy in enumerate(request.policies):
        if runs_sequentially(request.policy_of(policy, job.policy), request.workers):
            detail = (
                f"{policy!r} can be replayed with at most {MAX_CELLS:,} pairs of worker and item. "
                f"The job has {workers:,} workers (each unnamed answer counts as one) times {items:,} items."
            )
            advice = "The job is too large for this policy; leave it out"
            raise InvalidInput(detail, errors=(FieldError(f"#/policies/{position}", advice),))
