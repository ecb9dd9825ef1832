"""Change or delete an item that has no answers, with all counters of its job as if it had always been so."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from itertools import compress
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.item import Item, ItemState
from app.domain.job import Job
from app.errors import ItemAssigned, ItemHasAnswers, ItemUnknown
from app.policy.core.policy import Uses
from app.store.items import change_content, delete_one, find_item, least_cost_of, save_decisions
from app.store.jobs import lock_job, save_forecast, save_ledger
from app.store.staging import lock_imports
from app.store.workers import begin_workers
from app.use_cases.clock import Clock
from app.use_cases.items.add_items import ItemDraft, content_of, refuse_too_many_numbers, with_feature_length
from app.use_cases.work.held_assignments import release_expired
from app.use_cases.work.judging import ItemFacts, judge_new
from app.use_cases.work.rejudging import rejudge_job

_DECISIVE = {"cost", "gold", "prior", "features"}  # what decisions depend on


@dataclass(frozen=True)
class ChangedItem:
    """An item after the change, and its job."""

    job: Job
    item: Item


async def change_item(
    database: AsyncEngine, job_id: UUID, key: str, changes: Mapping[str, Any], clock: Clock
) -> ChangedItem:
    """Change these fields of an item without answers, and decide about the item as if it were new."""
    async with database.begin() as connection:
        job, before = await _untouched(connection, job_id, key, clock())
        job, item, written = _with_changes(job, before, changes)
        await change_content(connection, job_id, item.item_id, written)
        speaks = item.prior is not None, written.get("features") is not None
        if any(speaks):
            await begin_workers(connection, job_id, list(compress(job.policy.sources, speaks)))
        if _DECISIVE & changes.keys():
            job = _counted(_counted(job, before, -1), item, 1)
            (decision,) = judge_new(job.engine, [ItemFacts.of(item)])
            item = replace(item, decision=decision)
            await save_decisions(connection, job_id, [item])
            job = _counted_decision(_counted_decision(job, before, -1), item, 1)
            await _save(connection, replace(job, recounts=job.recounts + 1), bound=min(job.least_cost, item.cost))
            found = await find_item(connection, job_id, key)
            item = item if found is None else found.item  # a new sum of costs may have changed the decision again
        else:
            await save_ledger(connection, job)
        return ChangedItem(job, item)


async def delete_item(database: AsyncEngine, job_id: UUID, key: str, clock: Clock) -> None:
    """Delete an item without answers; its number is not used again. It waits for an import, which may bring some."""
    async with database.begin() as connection:
        await lock_imports(connection, job_id)
        job, item = await _untouched(connection, job_id, key, clock())
        await delete_one(connection, job_id, item.item_id)
        job = _counted_decision(_counted(job, item, -1), item, -1)
        await _save(connection, job, bound=job.least_cost)


async def _untouched(connection: AsyncConnection, job_id: UUID, key: str, now: datetime) -> tuple[Job, Item]:
    """Lock the job and load the item; raises if it has answers or if somebody holds it."""
    job = await release_expired(connection, await lock_job(connection, job_id), now)
    found = None if "\x00" in key else await find_item(connection, job_id, key)
    if found is None:
        raise ItemUnknown(f"The job has no item {key!r}. GET /v1/jobs/{job_id}/items lists its items.")
    item, answers = found.item, found.answers
    if answers:
        how_many = "an answer" if answers == 1 else f"{answers:,} answers"
        raise ItemHasAnswers(f"Item {key!r} has {how_many}. Only an item without answers can be changed or deleted.")
    if item.open_assignments:
        who = "A worker holds" if item.open_assignments == 1 else f"{item.open_assignments:,} workers hold"
        raise ItemAssigned(
            f"{who} item {key!r} at the moment. Try again when the assignment has ended, or release it first."
        )
    return job, item


def _with_changes(job: Job, item: Item, changes: Mapping[str, Any]) -> tuple[Job, Item, dict[str, Any]]:
    """Return job and item with these fields, and the columns to write; null removes what the item had.

    New features say something about the item from the next refit on.
    """
    labels = {label: position for position, label in enumerate(job.policy.labels)}
    draft = ItemDraft(item.key, **dict.fromkeys(("payload", "cost", "gold", "prior", "features")) | dict(changes))
    content = content_of(job, labels, draft, "#")
    written = {name: getattr(content, name) for name in changes}
    if "gold" in changes:
        written["gold_value"] = content.gold_value
    shown = {name: value for name, value in written.items() if name != "features"}
    opinion = None if "features" in changes else item.feature_opinion
    job = with_feature_length(job, content)
    refuse_too_many_numbers(job)
    return job, replace(item, **shown, feature_opinion=opinion), written


def _counted(job: Job, item: Item, sign: int) -> Job:
    """Add an item to the job's counters, or take it out of them, apart from what is decided about it."""
    items = job.items + sign
    inverse_costs = (
        job.inverse_costs + sign / float(item.cost) if items else 0.0
    )  # no rounding error is left of nothing
    return job.reconfigured(
        items=items, inverse_costs=inverse_costs, gold_items=job.gold_items + sign * (item.gold is not None)
    )


def _counted_decision(job: Job, item: Item, sign: int) -> Job:
    """Add the decision about an item without answers to the job's counters, or take it out of them."""
    decision = item.decision
    return replace(
        job,
        resolved=job.resolved + sign * (decision.state is ItemState.RESOLVED),
        given_up=job.given_up + sign * (decision.state is ItemState.GIVEN_UP),
        progress=job.progress + sign * decision.progress if job.items else 0.0,
    )


async def _save(connection: AsyncConnection, job: Job, *, bound: Decimal) -> None:
    """Write the counters; a forecast of other items is dropped, and items are judged again where costs decide."""
    job = replace(job, least_cost=await least_cost_of(connection, job.job_id, bound=bound))
    await save_forecast(connection, job.job_id, None)
    if Uses.BUDGET in job.policy.uses:
        await rejudge_job(connection, job)
    else:
        await save_ledger(connection, job)
