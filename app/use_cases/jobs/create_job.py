"""Create a job."""

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job, engine_of
from app.domain.opinion_source import OpinionSource
from app.domain.worker import UNKNOWN_WORKER
from app.errors import FieldError, InvalidInput, JobUnknown
from app.policy.job_policy import JobPolicy
from app.policy.quality.earlier_jobs import prior_from, starting_map
from app.store.jobs import insert_job, lock_job, save_sources
from app.store.workers import carry_skills, load_workers
from app.use_cases.jobs.limits import refuse_impossible_limits
from app.use_cases.workers.skills import skill_rows


async def create_job(  # noqa: PLR0913  the fields of a job
    connection: AsyncConnection,
    *,
    job_id: UUID,
    name: str | None,
    policy: JobPolicy,
    budget: Decimal | None,
    answer_cost: Decimal = Decimal(1),
    lease_duration: timedelta,
    reputation: UUID | None = None,
    plan: dict[str, Any] | None = None,
    now: datetime,
) -> Job:
    """Insert a job. With `reputation`, it starts with the skills, the stage and the calibration of that job."""
    await asyncio.to_thread(refuse_impossible_limits, policy)  # it takes up to 50 ms, too long for the event loop
    new = Job(
        job_id=job_id,
        name=name,
        policy=policy,
        budget=budget,
        answer_cost=answer_cost,
        engine=engine_of(policy, budget),
        lease_duration=lease_duration,
        refit_at=policy.first_refit,
        plan=plan,
        created_at=now,
    )
    if reputation is None:
        await insert_job(connection, new)
        return new
    source = await _source(connection, new, reputation)
    new = new.reconfigured(reputation=reputation, stage=source.stage, stage_choice=source.stage_choice)
    if source.calibration is not None:
        prior = prior_from(source.calibration)
        new = new.reconfigured(calibration_prior=prior, calibration=starting_map(prior))
    await insert_job(connection, new)
    await carry_skills(connection, source.job_id, new.job_id)
    known = await load_workers(connection, new.job_id, policy.sources)
    if not known:
        return new
    for place, worker in enumerate(policy.sources):
        skill = known.get(worker, UNKNOWN_WORKER).skill
        if skill is not None:
            new = new.with_source(place, OpinionSource(tuple(skill_rows(new.engine, [skill], 1)[0].tolist())))
    await save_sources(connection, new)
    return new


async def _source(connection: AsyncConnection, new: Job, reputation: UUID) -> Job:
    """Load the job that skills are copied from; raises if they would have another meaning in the new job."""
    try:
        source = await lock_job(connection, reputation)  # so that its stage and its skills match
    except JobUnknown:
        raise _refused(f"There is no job {reputation}.", "Must be the id of an existing job") from None
    if source.policy.answer != new.policy.answer:
        answer = source.policy.answer.kind
        raise _refused("That job has other answers.", f"Must be a job with the same `answer`; that job has {answer!r}")
    if source.policy.labels != new.policy.labels:
        labels = ", ".join(repr(label) for label in source.policy.labels[:20])
        raise _refused("That job has other labels.", f"Must be a job with the same labels; that job has {labels}")
    if source.policy.worker_model != new.policy.worker_model:
        kind = source.policy.worker_model.kind
        raise _refused(
            "That job has another worker model.", f"Must be a job with the same worker_model; that job has {kind!r}"
        )
    return source


def _refused(detail: str, message: str) -> InvalidInput:
    return InvalidInput(f"#/reputation: {detail}", errors=(FieldError("#/reputation", message),))
