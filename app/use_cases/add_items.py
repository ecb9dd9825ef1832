"""Add items to a job, all or none, however many there are."""

import asyncio
import json
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain import ItemState
from app.errors import FieldError, InvalidInput, ItemConflict, LabelUnknown, SufficeError
from app.store.items import Content, Standing
from app.store.jobs import Job, load_job, lock_job, save_ledger
from app.store.responses import KeyedRequest, Reply
from app.store.staging import (
    Pair,
    Totals,
    clear_staging,
    count_items,
    count_staged,
    drop_known,
    empty_staging,
    insert_rows,
    lock_imports,
    new_rows,
    stage,
    staged_between,
    staged_items,
    staged_rows,
    unlike_before,
)
from app.use_cases.judge_again import judge_again
from app.use_cases.once import once
from app.use_cases.standing import Known, first_standings
from app.use_cases.threads import in_thread, one_ahead

_PRIOR_ROUNDING = 1e-6
_MOST_NAMED = 20  # conflicting items in one error


class ItemDraft(NamedTuple):
    """An item as it was sent: labels by name; `line` is where it stands in a file of lines."""

    key: str
    payload: Any
    cost: Decimal
    gold: str | None
    prior: Mapping[str, float] | None
    features: Sequence[float] | None
    line: int | None = None


@dataclass(frozen=True)
class Added:
    added: int
    unchanged: int


@dataclass
class _Tally:
    """What new items add to their job's counters."""

    states: Counter[ItemState] = field(default_factory=Counter)
    progress: float = 0.0

    def count(self, standings: Iterable[Standing]) -> None:
        for standing in standings:
            self.states[standing.state] += 1
            self.progress += standing.progress

    @property
    def items(self) -> int:
        return self.states.total()


async def add_items(
    database: AsyncEngine,
    job_id: UUID,
    chunks: Iterator[Sequence[ItemDraft]],
    told: Callable[[Added], Reply],
    keyed: KeyedRequest | None = None,
) -> Reply:
    """Add the items whose keys are new; a key that is known must have the same content. Gives what is `told` of it.

    The chunks are drawn in a thread, and no more than two are in memory. Nobody who works on the job has to wait for
    them: other imports are kept out, and the job itself is locked only to be told of its new items.
    """
    added = 0

    def noted(done: Added) -> Reply:
        nonlocal added
        added = done.added
        return told(done)

    async with database.connect() as connection:
        await empty_staging(connection)
        try:
            async with connection.begin():
                reply = await once(connection, keyed, lambda: _add_items(connection, job_id, chunks, noted))
        except SufficeError:
            await empty_staging(connection)
            raise
        await count_items(connection, added)
    return reply


async def _add_items(
    connection: AsyncConnection,
    job_id: UUID,
    chunks: Iterator[Sequence[ItemDraft]],
    told: Callable[[Added], Reply],
) -> Reply:
    job = await load_job(connection, job_id)
    ends = await _stage(connection, job, chunks)
    await lock_imports(connection, job_id)
    await _refuse_changes(connection, job_id, ends[-1])
    fresh = await drop_known(connection, job_id)
    if fresh.items:
        await _insert(connection, job_id, fresh, ends)
    return told(Added(added=fresh.items, unchanged=ends[-1] - fresh.items))


async def _stage(connection: AsyncConnection, job: Job, chunks: Iterator[Sequence[ItemDraft]]) -> list[int]:
    """Put aside what is sent; gives the positions at which the chunks end, from 0 on."""
    ends = [0]
    async with aclosing(one_ahead(_rows(job, chunks))) as prepared:
        async for items, rows in prepared:
            await stage(connection, rows)
            ends.append(ends[-1] + items)
    await count_staged(connection, ends[-1])
    return ends


def _rows(job: Job, chunks: Iterator[Sequence[ItemDraft]]) -> Iterator[tuple[int, bytes]]:
    positions = {label: position for position, label in enumerate(job.rules.labels)}
    first = 0
    for chunk in chunks:
        contents = ((draft.key, _content(positions, draft, at)) for at, draft in enumerate(chunk, start=first))
        yield len(chunk), staged_rows(first, contents)
        first += len(chunk)


def _content(labels: Mapping[str, int], draft: ItemDraft, position: int) -> Content:
    for name, said in (("prior", draft.prior or ()), ("gold", () if draft.gold is None else (draft.gold,))):
        for label in said:
            if label not in labels:
                raise LabelUnknown(
                    f"{label!r} is not a label of this job", errors=(_not_among(labels, draft, f"#/{position}/{name}"),)
                )
    prior = None if draft.prior is None else [draft.prior.get(label, 0.0) for label in labels]
    if prior is not None and abs(sum(prior) - 1) > _PRIOR_ROUNDING:
        raise InvalidInput(
            f"The prior of item {draft.key!r} sums to {sum(prior):g}",
            errors=(FieldError(f"#/{position}/prior", f"{_at_line(draft)}The probabilities must sum to 1"),),
        )
    return Content(
        payload=draft.payload,
        cost=draft.cost,
        gold=None if draft.gold is None else labels[draft.gold],
        prior=prior,
        features=draft.features,
    )


def _not_among(labels: Iterable[str], draft: ItemDraft, pointer: str) -> FieldError:
    choices = ", ".join(repr(known) for known in list(labels)[:20])
    return FieldError(pointer, f"{_at_line(draft)}Must be among {choices}")


def _at_line(draft: ItemDraft) -> str:
    return "" if draft.line is None else f"Line {draft.line}: "


async def _refuse_changes(connection: AsyncConnection, job_id: UUID, sent: int) -> None:
    """A key stands for one content: in this request, and in the job."""
    changed = 0
    named: list[tuple[int, str]] = []
    async with aclosing(unlike_before(connection, job_id)) as suspects:
        async for pairs in suspects:
            for pair in await asyncio.to_thread(_changed, pairs):
                changed += 1
                insort(named, (pair.position, pair.key))
                del named[_MOST_NAMED:]
    if changed:
        raise ItemConflict(
            f"{changed} of {sent} items exist with other content, so none was added; the first is {named[0][1]!r}",
            errors=tuple(
                FieldError(f"#/{position}/key", f"{key!r} exists with other content") for position, key in named
            ),
        )


def _changed(pairs: Sequence[Pair]) -> list[Pair]:
    return [pair for pair in pairs if _comparable(pair.sent) != _comparable(pair.before)]


def _comparable(content: Content) -> tuple[object, ...]:
    """By value, but in JSON `true` is not 1, nor is 1 the same as 1.0; the order of an object's fields is nothing."""
    payload = None if content.payload is None else json.dumps(json.loads(content.payload), sort_keys=True)
    return payload, content.cost, content.gold, content.prior, content.features


async def _insert(connection: AsyncConnection, job_id: UUID, fresh: Totals, ends: Sequence[int]) -> None:
    """Judge what was put aside and add it; the job is locked last, for as long as it takes to count the new items."""
    job = await load_job(connection, job_id)
    async with connection.begin_nested() as attempt:
        tally = await _insert_judged(connection, job, fresh, ends)
        await clear_staging(connection, ends[-1])
        latest = await lock_job(connection, job_id)
        if (latest.rules, latest.budget) == (job.rules, job.budget):
            await _count(connection, _with_items(latest, tally, fresh))
            return
        await attempt.rollback()
    # The rules have changed meanwhile: the items are judged again, with everybody kept out.
    job = await lock_job(connection, job_id)
    tally = await _insert_judged(connection, job, fresh, ends)
    await _count(connection, _with_items(job, tally, fresh))


async def _count(connection: AsyncConnection, job: Job) -> None:
    """Tell the job of its new items; where these change what the others are worth, all are judged again."""
    if job.rules.allocation.heeds_budget:
        await judge_again(connection, job)
    else:
        await save_ledger(connection, job)


async def _insert_judged(connection: AsyncConnection, job: Job, fresh: Totals, ends: Sequence[int]) -> _Tally:
    job = replace(job, inverse_costs=job.inverse_costs + fresh.inverse_costs)
    tally = _Tally()
    judged = b""
    for first, end in pairwise(ends):
        rows = await staged_between(connection, first, end)
        # One chunk is judged while Postgres takes in the one before.
        work = partial(_judged, job, job.items + 1 + tally.items, rows)
        finished, standings = await in_thread(work, during=insert_rows(connection, judged))
        tally.count(standings)
        judged = finished
    await insert_rows(connection, judged)
    return tally


def _judged(job: Job, first: int, rows: bytes) -> tuple[bytes, list[Standing]]:
    """Rows of new items, numbered from `first` on, and where they stand."""
    engine, staged = job.engine, staged_items(rows)
    item_ids = np.arange(first, first + len(staged))
    known = [
        Known(item_id, row.cost, row.prior, gold=row.gold)
        for item_id, row in zip(item_ids.tolist(), staged, strict=True)
    ]
    standings = first_standings(engine, known) if known else []
    tie_breaks = engine.tie_breaks(item_ids).tolist()
    return new_rows(job.job_id, item_ids.tolist(), tie_breaks, staged, standings), standings


def _with_items(job: Job, new: _Tally, fresh: Totals) -> Job:
    """The job's counters with these items; one that is not worth asking about is given up from the start."""
    return replace(
        job,
        items=job.items + new.items,
        resolved=job.resolved + new.states[ItemState.RESOLVED],
        given_up=job.given_up + new.states[ItemState.GIVEN_UP],
        progress=job.progress + new.progress,
        inverse_costs=job.inverse_costs + fresh.inverse_costs,
        gold_items=job.gold_items + fresh.gold,
        least_cost=fresh.least_cost if not job.items or fresh.least_cost < job.least_cost else job.least_cost,
    )
