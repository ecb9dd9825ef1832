"""Add items to a job, all or none."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import ItemState
from app.errors import FieldError, InvalidInput, ItemConflict, LabelUnknown
from app.store.items import Content, NewItem, contents_by_key, insert_items
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.standing import Known, first_standings

_PRIOR_ROUNDING = 1e-6
_MOST_NAMED = 20  # conflicting items in one error


@dataclass(frozen=True, kw_only=True)
class ItemDraft:
    """An item as it was sent: labels by name."""

    key: str
    payload: Any
    cost: Decimal
    gold: str | None
    prior: Mapping[str, float] | None
    features: Sequence[float] | None


@dataclass(frozen=True)
class Added:
    added: int
    unchanged: int


async def add_items(database: AsyncEngine, job_id: UUID, drafts: Sequence[ItemDraft]) -> Added:
    """Add the items whose keys are new; a key that is known must have the same content."""
    async with database.begin() as connection:
        job = await lock_job(connection, job_id)
        contents = await asyncio.to_thread(_contents, job, drafts)
        known = await contents_by_key(connection, job_id, contents.keys())
        await asyncio.to_thread(_refuse_changes, job, drafts, contents, known)
        fresh = {key: content for key, content in contents.items() if key not in known}
        if fresh:
            inverse_costs = job.inverse_costs + sum(1 / float(content.cost) for content in fresh.values())
            job = replace(job, inverse_costs=inverse_costs)
            new = await asyncio.to_thread(_new_items, job, fresh)
            await insert_items(connection, job_id, new)
            await save_ledger(connection, _with_items(job, new))
    return Added(added=len(fresh), unchanged=len(drafts) - len(fresh))


def _contents(job: Job, drafts: Sequence[ItemDraft]) -> dict[str, Content]:
    """What was sent, with labels as positions; the first of two drafts with one key stands for both."""
    contents: dict[str, Content] = {}
    for position, draft in enumerate(drafts):
        contents.setdefault(draft.key, _content(job, draft, f"#/{position}"))
    return contents


def _content(job: Job, draft: ItemDraft, pointer: str) -> Content:
    labels = job.rules.labels
    for label in [*(draft.prior or ()), *([] if draft.gold is None else [draft.gold])]:
        if label not in labels:
            field = "gold" if label == draft.gold else "prior"
            choices = ", ".join(repr(known) for known in labels[:20])
            raise LabelUnknown(
                f"{label!r} is not a label of this job",
                errors=(FieldError(f"{pointer}/{field}", f"Must be among {choices}"),),
            )
    prior = None if draft.prior is None else [draft.prior.get(label, 0.0) for label in labels]
    if prior is not None and abs(sum(prior) - 1) > _PRIOR_ROUNDING:
        raise InvalidInput(
            f"The prior of item {draft.key!r} sums to {sum(prior):g}",
            errors=(FieldError(f"{pointer}/prior", "The probabilities must sum to 1"),),
        )
    return Content(
        payload=draft.payload,
        cost=draft.cost,
        gold=None if draft.gold is None else labels.index(draft.gold),
        prior=prior,
        features=None if draft.features is None else list(draft.features),
    )


def _refuse_changes(
    job: Job, drafts: Sequence[ItemDraft], contents: Mapping[str, Content], known: Mapping[str, Content]
) -> None:
    """A key stands for one content: in this request, and in the job."""
    changed = [
        (position, draft.key)
        for position, draft in enumerate(drafts)
        if _differ(known.get(draft.key, contents[draft.key]), _content(job, draft, f"#/{position}"))
    ]
    if changed:
        raise ItemConflict(
            f"{len(changed)} of {len(drafts)} items exist with other content, so none was added; "
            f"the first is {changed[0][1]!r}",
            errors=tuple(
                FieldError(f"#/{position}/key", f"{key!r} exists with other content")
                for position, key in changed[:_MOST_NAMED]
            ),
        )


def _differ(one: Content, other: Content) -> bool:
    """By value, but in JSON `true` is not 1."""
    return one != other or json.dumps(one.payload, sort_keys=True) != json.dumps(other.payload, sort_keys=True)


def _new_items(job: Job, fresh: Mapping[str, Content]) -> list[NewItem]:
    engine = job.engine
    item_ids = np.arange(job.items + 1, job.items + 1 + len(fresh))
    known = [
        Known(int(item_id), content.cost, content.prior)
        for item_id, content in zip(item_ids, fresh.values(), strict=True)
    ]
    parts = zip(known, engine.tie_breaks(item_ids), fresh.items(), first_standings(engine, known), strict=True)
    return [
        NewItem(item_id=row.item_id, key=key, tie_break=int(tie), content=content, standing=standing)
        for row, tie, (key, content), standing in parts
    ]


def _with_items(job: Job, new: Sequence[NewItem]) -> Job:
    """The job's counters with these items; one that is not worth asking about is given up from the start."""
    states = Counter(row.standing.state for row in new)
    return replace(
        job,
        items=job.items + len(new),
        resolved=job.resolved + states[ItemState.RESOLVED],
        given_up=job.given_up + states[ItemState.GIVEN_UP],
        progress=job.progress + sum(row.standing.progress for row in new),
    )
