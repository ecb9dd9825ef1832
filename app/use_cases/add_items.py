"""Add items to a job, all or none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.errors import FieldError, InvalidInput, ItemConflict, LabelUnknown
from app.store.items import Content, NewItem, contents_by_key, insert_items
from app.store.jobs import Job, lock_job, save_ledger
from app.use_cases.standing import judge_item

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
        contents = _contents(job, drafts)
        known = await contents_by_key(connection, job_id, contents.keys())
        _refuse_changes(job, drafts, contents, known)
        fresh = {key: content for key, content in contents.items() if key not in known}
        if fresh:
            new = _new_items(job, fresh)
            await insert_items(connection, job_id, new)
            progress = job.progress + sum(row.standing.progress for row in new)
            await save_ledger(connection, replace(job, items=job.items + len(new), progress=progress))
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
        if known.get(draft.key, contents[draft.key]) != _content(job, draft, f"#/{position}")
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


def _new_items(job: Job, fresh: Mapping[str, Content]) -> list[NewItem]:
    engine = job.engine
    item_ids = np.arange(job.items + 1, job.items + 1 + len(fresh))
    tie_breaks = engine.tie_breaks(item_ids)
    no_votes = [0] * len(job.rules.labels)
    # Items of the same cost start alike, so each cost is judged once.
    start = {cost: judge_item(engine, no_votes, cost)[0] for cost in {content.cost for content in fresh.values()}}
    return [
        NewItem(item_id=int(item_id), key=key, tie_break=int(tie), content=content, standing=start[content.cost])
        for item_id, tie, (key, content) in zip(item_ids, tie_breaks, fresh.items(), strict=True)
    ]
