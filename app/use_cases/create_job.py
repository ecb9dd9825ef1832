"""Open a job: from now on items can be added and workers can ask."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.errors import FieldError, InvalidInput, JobUnknown
from app.policy.rules import Rules
from app.store.jobs import Job, insert_job, lock_job
from app.store.workers import carry_skills


async def create_job(  # noqa: PLR0913  a job is what it is made of
    connection: AsyncConnection,
    *,
    job_id: UUID,
    name: str | None,
    rules: Rules,
    budget: Decimal | None,
    lease_duration: timedelta,
    reputation: UUID | None = None,
    plan: dict[str, Any] | None = None,
    now: datetime,
) -> Job:
    """With `reputation`, workers begin with the skill that they have in that job, and its model in the same stage."""
    new = Job(
        job_id=job_id,
        name=name,
        rules=rules,
        budget=budget,
        lease_duration=lease_duration,
        refit_at=rules.first_refit,
        plan=plan,
        created_at=now,
    )
    if reputation is None:
        await insert_job(connection, new)
        return new
    source = await _source(connection, new, reputation)
    new = replace(new, reputation=reputation, stage=source.stage, stage_choice=source.stage_choice)
    await insert_job(connection, new)
    await carry_skills(connection, source.job_id, new.job_id)
    return new


async def _source(connection: AsyncConnection, new: Job, reputation: UUID) -> Job:
    """The job that skills are brought from, if they mean the same here."""
    try:
        source = await lock_job(connection, reputation)  # so that its stage and its skills are of one moment
    except JobUnknown:
        raise _no_reputation(f"There is no job {reputation}", "Must be the id of a job") from None
    if source.rules.labels != new.rules.labels:
        labels = ", ".join(repr(label) for label in source.rules.labels[:20])
        raise _no_reputation(
            "The labels of that job are others", f"Must be a job with the same labels; its are {labels}"
        )
    if source.rules.worker_model != new.rules.worker_model:
        kind = source.rules.worker_model.kind
        raise _no_reputation(
            "The worker model of that job is another", f"Must be a job with the same worker_model; its is {kind!r}"
        )
    return source


def _no_reputation(detail: str, message: str) -> InvalidInput:
    return InvalidInput(f"#/reputation: {detail}", errors=(FieldError("#/reputation", message),))
