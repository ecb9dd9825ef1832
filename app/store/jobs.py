"""The job row: rules, money and counters, and the lock that every writer of a job takes first."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import RowMapping, Text, bindparam, cast, delete, insert, literal, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import JobState
from app.errors import JobUnknown
from app.policy.engine import Engine
from app.policy.rules import Rules
from app.store.driver import fetch
from app.store.tables import job


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    job_id: UUID
    name: str | None
    rules: Rules
    lease_duration: timedelta
    paused: bool = False
    budget: Decimal | None
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    items: int = 0
    resolved: int = 0
    given_up: int = 0
    leases: int = 0
    answers: int = 0
    progress: float = 0.0
    inverse_costs: float = 0.0
    least_cost: Decimal = Decimal(0)
    stage: int = 0
    stage_choice: dict[str, Any] | None = None
    refit_at: int | None = None
    operations: int = 0
    gold_items: int = 0
    recounts: int = 0
    blocks: int = 0
    reputation: UUID | None = None
    plan: dict[str, Any] | None = None
    forecast: dict[str, Any] | None = None
    created_at: datetime

    @property
    def engine(self) -> Engine:
        budget = None if self.budget is None else float(self.budget)
        return Engine(self.rules, budget, self.inverse_costs, self.stage)

    @property
    def remaining(self) -> Decimal | None:
        """What may still be promised to workers; None is unlimited."""
        return None if self.budget is None else self.budget - self.spent - self.reserved

    def affords(self, cost: Decimal) -> bool:
        return self.remaining is None or cost <= self.remaining

    @property
    def open(self) -> int:
        return self.items - self.resolved - self.given_up

    @property
    def state(self) -> JobState:
        if self.items and not self.open:
            return JobState.DONE
        return JobState.PAUSED if self.paused else JobState.RUNNING

    @property
    def completeness(self) -> float:
        return min(max(self.progress / self.items, 0.0), 1.0) if self.items else 0.0


_JOB = [cast(column, Text).label("rules") if column is job.c.rules else column for column in job.c]

_LOAD = select(*_JOB).where(job.c.job_id == bindparam("this"))
_LOAD_AND_LOCK = _LOAD.with_for_update(key_share=True)  # weaker than FOR UPDATE: foreign keys to the job need not wait
_LOCK_IF_FREE = _LOAD.with_for_update(key_share=True, skip_locked=True)
_LEDGER = (
    *("spent", "reserved", "items", "resolved", "given_up"),
    *(
        "leases",
        "answers",
        "progress",
        "inverse_costs",
        "least_cost",
        "stage",
        "refit_at",
        "operations",
        "recounts",
        "blocks",
        "gold_items",
    ),
)
_SAVE_LEDGER = f"""
    UPDATE job SET {", ".join(f"{name} = ${place}" for place, name in enumerate(_LEDGER, start=2))}
    WHERE job_id = $1"""


async def insert_job(connection: AsyncConnection, new: Job) -> None:
    settings = {
        "job_id": new.job_id,
        "name": new.name,
        "rules": new.rules.model_dump(mode="json"),
        "lease_seconds": int(new.lease_duration.total_seconds()),
        "budget": new.budget,
        "stage_choice": new.stage_choice,
        "reputation": new.reputation,
        "plan": new.plan,
        "created_at": new.created_at,
    }
    await connection.execute(insert(job).values(settings | _ledger(new)))


async def load_job(connection: AsyncConnection, job_id: UUID) -> Job:
    return await _load(connection, job_id, lock=False)


async def lock_job(connection: AsyncConnection, job_id: UUID) -> Job:
    """Load the job and keep every other writer of it out until this transaction ends."""
    return await _load(connection, job_id, lock=True)


async def lock_job_if_free(connection: AsyncConnection, job_id: UUID) -> Job | None:
    """The same, but None where it is gone or somebody else has it."""
    found = (await connection.execute(_LOCK_IF_FREE, {"this": job_id})).mappings().one_or_none()
    return None if found is None else _job(found)


async def save_ledger(connection: AsyncConnection, changed: Job) -> None:
    """Write back the money and the counters of a job that this transaction has locked."""
    await fetch(connection, _SAVE_LEDGER, changed.job_id, *_ledger(changed).values())


async def save_settings(connection: AsyncConnection, changed: Job) -> None:
    """Write back what a requester may change, and the ledger with it: a budget is checked against what it covers."""
    values = {
        "name": changed.name,
        "rules": changed.rules.model_dump(mode="json"),
        "lease_seconds": int(changed.lease_duration.total_seconds()),
        "budget": changed.budget,
        "forecast": changed.forecast,
    }
    await connection.execute(update(job).where(job.c.job_id == changed.job_id).values(values | _ledger(changed)))


async def save_stage(connection: AsyncConnection, changed: Job) -> None:
    """Write back why the job's worker model is in the stage that its ledger says."""
    await connection.execute(
        update(job).where(job.c.job_id == changed.job_id).values(stage_choice=changed.stage_choice)
    )


async def save_forecast(connection: AsyncConnection, job_id: UUID, forecast: dict[str, Any]) -> None:
    await connection.execute(update(job).where(job.c.job_id == job_id).values(forecast=forecast))


async def set_paused(connection: AsyncConnection, job_id: UUID, *, paused: bool) -> None:
    await connection.execute(update(job).where(job.c.job_id == job_id).values(paused=paused))


async def delete_job(connection: AsyncConnection, job_id: UUID) -> None:
    """With all that belongs to it."""
    await connection.execute(delete(job).where(job.c.job_id == job_id))


async def page_of_jobs(connection: AsyncConnection, *, after: tuple[datetime, UUID] | None, most: int) -> list[Job]:
    """Jobs, newest first, from behind `after`."""
    query = select(*_JOB).order_by(job.c.created_at.desc(), job.c.job_id.desc()).limit(most)
    if after is not None:
        query = query.where(tuple_(job.c.created_at, job.c.job_id) < tuple_(*map(literal, after)))
    return [_job(row) for row in (await connection.execute(query)).mappings()]


async def _load(connection: AsyncConnection, job_id: UUID, *, lock: bool) -> Job:
    query = _LOAD_AND_LOCK if lock else _LOAD
    found = (await connection.execute(query, {"this": job_id})).mappings().one_or_none()
    if found is None:
        raise JobUnknown(f"There is no job {job_id}")
    return _job(found)


@lru_cache(maxsize=200)
def _rules(text: str) -> Rules:
    """Checking a job's rules takes longer than its transaction, and they hardly ever change."""
    return Rules.model_validate_json(text)


def _job(row: RowMapping) -> Job:
    values: dict[str, Any] = dict(row)
    return Job(
        rules=_rules(values.pop("rules")),
        lease_duration=timedelta(seconds=values.pop("lease_seconds")),
        **values,
    )


def _ledger(saved: Job) -> dict[str, Any]:
    return {name: getattr(saved, name) for name in _LEDGER}
