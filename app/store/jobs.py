"""The job row: configuration, money and counters, and the lock that every writer of a job takes first."""

import json
from datetime import datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Text,
    and_,
    bindparam,
    cast,
    delete,
    insert,
    literal,
    literal_column,
    not_,
    select,
    tuple_,
    update,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job, JobState, engine_of
from app.domain.opinion_source import OpinionSource, sources_as_json, sources_from_json
from app.errors import JobUnknown
from app.policy.engine import Engine, SourceSkill
from app.policy.job_policy import JobPolicy
from app.policy.quality.calibration import Calibration, CalibrationPrior
from app.store.driver import fetch
from app.store.end_of_money import MONEY_IS_SPENT
from app.store.tables import job

_AS_TEXT = {"policy", "calibration", "sources"}  # parsed once for all jobs and requests that share them
_JOB = [cast(column, Text).label(column.name) if column.name in _AS_TEXT else column for column in job.c]

_LOAD = select(*_JOB).where(job.c.job_id == bindparam("this"))
_LOAD_AND_LOCK = _LOAD.with_for_update(key_share=True)  # unlike FOR UPDATE it lets others insert rows of the job
_LOCK_IF_FREE = _LOAD.with_for_update(key_share=True, skip_locked=True)
_LEDGER = (
    "spent",
    "reserved",
    "items",
    "last_item",
    "resolved",
    "given_up",
    "assignments",
    "answers",
    "imported",
    "progress",
    "inverse_costs",
    "price",
    "repriced_to",
    "least_cost",
    "stage",
    "refit_at",
    "operations",
    "recounts",
    "blocks",
    "gold_items",
    "feature_length",
    "labeled",
    "label_changes",
    "confidence_sum",
    "dissent_sum",
)
_DONE = and_(job.c["items"] > 0, job.c["items"] == job.c.resolved + job.c.given_up)
_SPENT: ColumnElement[bool] = literal_column(MONEY_IS_SPENT)
# The same cases in the same order as `Job.state`.
_IN_STATE = {
    JobState.DONE: _DONE,
    JobState.PAUSED: and_(not_(_DONE), job.c.paused),
    JobState.EXHAUSTED: and_(not_(_DONE), not_(job.c.paused), _SPENT),
    JobState.RUNNING: and_(not_(_DONE), not_(job.c.paused), _SPENT.is_not(literal_column("true"))),
}
_MOST_CONFIGURATIONS = 200  # jobs whose policy and engine are kept
_SAVE_LEDGER = f"""
    UPDATE job SET {", ".join(f"{name} = ${place}" for place, name in enumerate(_LEDGER, start=2))}
    WHERE job_id = $1"""


async def insert_job(connection: AsyncConnection, new: Job) -> None:
    settings = {
        "job_id": new.job_id,
        "name": new.name,
        "policy": new.policy.model_dump(mode="json"),
        "lease_seconds": int(new.lease_duration.total_seconds()),
        "budget": new.budget,
        "answer_cost": new.answer_cost,
        "stage_choice": new.stage_choice,
        "calibration": None if new.calibration is None else new.calibration.as_json(),
        "calibration_prior": None if new.calibration_prior is None else new.calibration_prior._asdict(),
        "sources": sources_as_json(new.sources),
        "reputation": new.reputation,
        "plan": new.plan,
        "created_at": new.created_at,
    }
    await connection.execute(insert(job).values(settings | _ledger(new)))


async def load_job(connection: AsyncConnection, job_id: UUID) -> Job:
    return await _load(connection, job_id, lock=False)


async def lock_job(connection: AsyncConnection, job_id: UUID) -> Job:
    """Load the job and lock out all its other writers until this transaction ends."""
    return await _load(connection, job_id, lock=True)


async def lock_job_if_free(connection: AsyncConnection, job_id: UUID) -> Job | None:
    """Lock the job like `lock_job`; None if it was deleted or another transaction has locked it."""
    found = (await connection.execute(_LOCK_IF_FREE, {"this": job_id})).mappings().one_or_none()
    return None if found is None else _job(found)


async def save_ledger(connection: AsyncConnection, changed: Job) -> None:
    """Write the money and the counters of a job that this transaction has locked."""
    await fetch(connection, _SAVE_LEDGER, changed.job_id, *_ledger(changed).values())


async def save_settings(connection: AsyncConnection, changed: Job) -> None:
    """Write the settings that a requester may change, and the ledger: the database checks the budget against both."""
    values = {
        "name": changed.name,
        "policy": changed.policy.model_dump(mode="json"),
        "lease_seconds": int(changed.lease_duration.total_seconds()),
        "budget": changed.budget,
        "forecast": changed.forecast,
    }
    await connection.execute(update(job).where(job.c.job_id == changed.job_id).values(values | _ledger(changed)))


async def save_fit(connection: AsyncConnection, changed: Job) -> None:
    """Write what a fit has found about the job: the reason of the stage, the calibration, the sources of opinions."""
    calibration = None if changed.calibration is None else changed.calibration.as_json()
    sources = sources_as_json(changed.sources)
    values = {"stage_choice": changed.stage_choice, "calibration": calibration, "sources": sources}
    await connection.execute(update(job).where(job.c.job_id == changed.job_id).values(values))


async def save_sources(connection: AsyncConnection, changed: Job) -> None:
    """Write how the job takes the opinions about its items."""
    values = {"sources": sources_as_json(changed.sources)}
    await connection.execute(update(job).where(job.c.job_id == changed.job_id).values(values))


async def save_forecast(connection: AsyncConnection, job_id: UUID, forecast: dict[str, Any] | None) -> None:
    await connection.execute(update(job).where(job.c.job_id == job_id).values(forecast=forecast))


async def set_paused(connection: AsyncConnection, job_id: UUID, *, paused: bool) -> None:
    await connection.execute(update(job).where(job.c.job_id == job_id).values(paused=paused))


async def delete_job(connection: AsyncConnection, job_id: UUID) -> None:
    """Delete the job and everything that belongs to it."""
    await connection.execute(delete(job).where(job.c.job_id == job_id))


async def page_of_jobs(
    connection: AsyncConnection,
    *,
    after: tuple[datetime, UUID] | None,
    most: int,
    state: JobState | None = None,
    name: str | None = None,
) -> list[Job]:
    """Load the jobs after `after`, newest first: all, or those in this state or with this name."""
    query = select(*_JOB).order_by(job.c.created_at.desc(), job.c.job_id.desc()).limit(most)
    if state is not None:
        query = query.where(_IN_STATE[state])
    if name is not None:
        query = query.where(job.c.name == name)
    if after is not None:
        query = query.where(tuple_(job.c.created_at, job.c.job_id) < tuple_(*map(literal, after)))
    return [_job(row) for row in (await connection.execute(query)).mappings()]


async def _load(connection: AsyncConnection, job_id: UUID, *, lock: bool) -> Job:
    query = _LOAD_AND_LOCK if lock else _LOAD
    found = (await connection.execute(query, {"this": job_id})).mappings().one_or_none()
    if found is None:
        raise JobUnknown(f"There is no job {job_id}. GET /v1/jobs lists all jobs.")
    return _job(found)


@lru_cache(maxsize=_MOST_CONFIGURATIONS)
def _policy(text: str) -> JobPolicy:
    """Parse a policy, cached: parsing takes longer than a transaction, and policies rarely change."""
    return JobPolicy.model_validate_json(text)


@lru_cache(maxsize=_MOST_CONFIGURATIONS)
def _engine(
    policy: str,
    budget: Decimal | None,
    inverse_costs: float,
    stage: int,
    calibration: str | None,
    sources: tuple[SourceSkill, ...],
    price: float,
) -> Engine:
    """Return the engine of this configuration, cached: it remembers its tables and earlier verdicts."""
    learned = None if calibration is None else Calibration.from_json(json.loads(calibration))
    return engine_of(_policy(policy), budget, inverse_costs, stage, learned, sources, price)


@lru_cache(maxsize=_MOST_CONFIGURATIONS)
def _sources(text: str | None) -> tuple[OpinionSource, ...]:
    return sources_from_json(None if text is None else json.loads(text))


def _job(row: RowMapping) -> Job:
    values: dict[str, Any] = dict(row)
    configuration = values.pop("policy"), values["budget"], values["inverse_costs"], values["stage"]
    values["sources"] = _sources(values["sources"])
    if values["calibration_prior"] is not None:
        values["calibration_prior"] = CalibrationPrior(**values["calibration_prior"])
    skills = tuple(source.skill for source in values["sources"])
    engine = _engine(*configuration, values.pop("calibration"), skills, values["price"])
    lease_duration = timedelta(seconds=values.pop("lease_seconds"))
    return Job(
        policy=engine.policy, engine=engine, calibration=engine.calibration, lease_duration=lease_duration, **values
    )


def _ledger(saved: Job) -> dict[str, Any]:
    return {name: getattr(saved, name) for name in _LEDGER}
