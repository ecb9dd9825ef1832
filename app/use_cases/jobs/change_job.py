"""Change a job: its name, its budget, how long leases last, and its requirement."""

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypedDict
from uuid import UUID

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.job import Job
from app.domain.money import amount_text, plain_amount
from app.errors import BudgetBelowCommitted, FieldError, InvalidInput
from app.policy.core.policy import Uses
from app.policy.job_policy import JobPolicy, check_limits
from app.policy.requirements import AnyRequirement
from app.store.end_of_money import with_end_of_money
from app.store.jobs import lock_job, save_settings
from app.use_cases.clock import Clock
from app.use_cases.work.expected_prices import at_expected_price
from app.use_cases.work.held_assignments import release_expired
from app.use_cases.work.rejudging import rejudge_job


class Changes(TypedDict, total=False):
    """The fields to change; a field that is left out stays unchanged."""

    name: str | None
    budget: Decimal | None
    lease_duration: timedelta
    requirement: AnyRequirement


async def change_job(database: AsyncEngine, job_id: UUID, changes: Changes, clock: Clock) -> Job:
    """Make all changes or none, and judge the items again in the same transaction."""
    async with database.begin() as connection:
        before = await lock_job(connection, job_id)
        now = clock()
        before = await release_expired(connection, before, now)
        after = await asyncio.to_thread(_apply, before, changes)  # it checks the limits, which takes up to 50 ms
        await save_settings(connection, after)
        return await with_end_of_money(connection, await _judged(connection, before, after, now))


def _apply(job: Job, changes: Changes) -> Job:
    after = job.reconfigured(
        name=changes.get("name", job.name),
        budget=changes.get("budget", job.budget),
        lease_duration=changes.get("lease_duration", job.lease_duration),
        policy=_with_requirement(job.policy, changes["requirement"]) if "requirement" in changes else job.policy,
        forecast=None if {"budget", "requirement"} & changes.keys() else job.forecast,
    )
    if after.budget is not None and after.budget < job.spent + job.reserved:
        raise BudgetBelowCommitted(
            f"A budget of {amount_text(after.budget)} does not cover the {amount_text(job.spent)} that the job has "
            f"spent and the {amount_text(job.reserved)} that is reserved for open assignments.",
            errors=(FieldError("#/budget", f"Must be at least {plain_amount(job.spent + job.reserved)}, or null"),),
        )
    return after


async def _judged(connection: AsyncConnection, before: Job, after: Job, now: datetime) -> Job:
    if after.policy.requirement != before.policy.requirement:
        after = await at_expected_price(connection, after)  # the former requirement may not have followed prices
        return await rejudge_job(connection, after, closed_too=True, now=now)
    if after.budget != before.budget and Uses.BUDGET in after.policy.uses:
        return await rejudge_job(connection, after, now=now)
    return after


def _with_requirement(policy: JobPolicy, requirement: AnyRequirement) -> JobPolicy:
    """Return the job's policy with another requirement; raises if the two do not fit together."""
    values = {name: getattr(policy, name) for name in JobPolicy.model_fields}
    try:
        changed = JobPolicy(**values | {"requirement": requirement})
        check_limits(changed)
    except ValidationError as error:
        fields = tuple(FieldError("#/requirement", _why_not(policy, one)) for one in error.errors())
        raise InvalidInput(f"#/requirement: {fields[0].message}", errors=fields) from None
    return changed


def _why_not(policy: JobPolicy, error: ErrorDetails) -> str:
    """Say which field of the job does not fit the new requirement."""
    field = str(error["loc"][0])
    if field == "requirement":
        return error["msg"]
    if error["type"] == "no_room":
        return (
            f"It needs at least {error['ctx']['fewest']} labels per item, "
            f"but the job's {field} is {getattr(policy, field)}"
        )
    return f"Does not fit the job's {field}: {error['msg']}"
