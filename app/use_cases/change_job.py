"""Change a running job: its name, its budget, how long leases last, and when an answer is good enough."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TypedDict
from uuid import UUID

from pydantic import ValidationError
from pydantic_core import ErrorDetails
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.errors import BudgetBelowCommitted, FieldError, InvalidInput
from app.policy.requirements import AnyRequirement
from app.policy.rules import Rules
from app.store.jobs import Job, lock_job, save_settings
from app.use_cases.clock import Clock
from app.use_cases.judge_again import judge_again
from app.use_cases.release_expired import release_expired


class Changes(TypedDict, total=False):
    """What is left out stays as it is."""

    name: str | None
    budget: Decimal | None
    lease_duration: timedelta
    requirement: AnyRequirement


async def change_job(database: AsyncEngine, job_id: UUID, changes: Changes, clock: Clock) -> Job:
    """All of the changes, or none; what they mean for the items is settled before anybody else sees them."""
    async with database.begin() as connection:
        before = await lock_job(connection, job_id)
        now = clock()
        before = await release_expired(connection, before, now)
        after = _changed(before, changes)
        await save_settings(connection, after)
        return await _judged(connection, before, after, now)


def _changed(job: Job, changes: Changes) -> Job:
    after = replace(
        job,
        name=changes.get("name", job.name),
        budget=changes.get("budget", job.budget),
        lease_duration=changes.get("lease_duration", job.lease_duration),
        rules=_with_requirement(job.rules, changes["requirement"]) if "requirement" in changes else job.rules,
        forecast=None if {"budget", "requirement"} & changes.keys() else job.forecast,
    )
    if after.remaining is not None and after.remaining < 0:
        raise BudgetBelowCommitted(
            f"A budget of {after.budget:f} would not cover the {job.spent:f} that is spent "
            f"and the {job.reserved:f} that leases reserve",
            errors=(FieldError("#/budget", f"Must be at least {job.spent + job.reserved:f}, or null"),),
        )
    return after


async def _judged(connection: AsyncConnection, before: Job, after: Job, now: datetime) -> Job:
    if after.rules.requirement != before.rules.requirement:
        return await judge_again(connection, after, closed_too=True, now=now)
    if after.budget != before.budget and after.rules.allocation.heeds_budget:
        return await judge_again(connection, after, now=now)
    return after


def _with_requirement(rules: Rules, requirement: AnyRequirement) -> Rules:
    """The same rules with another requirement, if the two go together."""
    values = {name: getattr(rules, name) for name in Rules.model_fields}
    try:
        return Rules(**values | {"requirement": requirement})
    except ValidationError as error:
        fields = tuple(FieldError("#/requirement", _why_not(rules, one)) for one in error.errors())
        raise InvalidInput(f"#/requirement: {fields[0].message}", errors=fields) from None


def _why_not(rules: Rules, error: ErrorDetails) -> str:
    """Where one of the job's own rules is in the way, the message says which."""
    field = str(error["loc"][0])
    if field == "requirement":
        return error["msg"]
    if error["type"] == "no_room":
        return (
            f"No item could do with fewer than {error['ctx']['fewest']} labels, "
            f"and the job's {field} is {getattr(rules, field)}"
        )
    return f"Does not go with the job's {field}: {error['msg']}"
