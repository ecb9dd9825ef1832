"""Add items to a job, all or none of them, in constant memory."""

import asyncio
import json
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import partial
from itertools import compress, pairwise
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.item import NO_OPINIONS, ItemContent, ItemDecision, ItemState, LabelCounts
from app.domain.job import Job
from app.domain.stored_response import KeyedRequest, StoredResponse
from app.errors import FieldError, InvalidInput, ItemConflict, LabelUnknown, SufficeError
from app.policy.answers import AnswerKind, Content, Said
from app.policy.core.decision import Reason
from app.policy.core.policy import Uses
from app.policy.engine import GOLD
from app.policy.quality.item_features import MOST_NUMBERS
from app.store.jobs import load_job, lock_job, save_ledger
from app.store.queue import time_of_head
from app.store.staging import (
    StagedPair,
    StagedTotals,
    clear_staging,
    count_items,
    count_staged,
    different_from_before,
    drop_known,
    empty_staging,
    insert_rows,
    lock_imports,
    new_rows,
    stage,
    staged_between,
    staged_items,
    staged_rows,
)
from app.store.workers import begin_workers
from app.use_cases.jobs.budget_warnings import budget_warnings
from app.use_cases.respond_once import respond_once
from app.use_cases.threads import in_thread, one_ahead
from app.use_cases.work.answer_content import said_as
from app.use_cases.work.judging import ItemFacts, judge_new
from app.use_cases.work.rejudging import rejudge_job

_PRIOR_ROUNDING = 1e-6
_MAX_NAMED = 20  # conflicting items that one error lists


class ItemDraft(NamedTuple):
    """An item as it was sent, with labels by name; `line` is its line in a file."""

    key: str
    payload: Any
    cost: Decimal | None  # None: that of the job
    gold: Content | None
    prior: Mapping[str, float] | None
    features: Sequence[float] | None
    line: int | None = None


@dataclass(frozen=True)
class Added:
    """How many of the items that were sent are new."""

    added: int
    unchanged: int
    warnings: Sequence[Reason]


@dataclass
class _NewItems:
    """What new items add to their job's counters."""

    states: Counter[ItemState] = field(default_factory=Counter)
    progress: float = 0.0
    labels: LabelCounts = field(default_factory=LabelCounts)

    def count(self, decisions: Iterable[ItemDecision], answer: AnswerKind) -> None:
        for decision in decisions:
            self.states[decision.state] += 1
            self.progress += decision.progress
            if decision.label is not None and decision.reason.code != GOLD:
                self.labels = self.labels.after(None, decision, answer)

    @property
    def items(self) -> int:
        return self.states.total()


async def add_items(
    database: AsyncEngine,
    job_id: UUID,
    chunks: Iterator[Sequence[ItemDraft]],
    to_response: Callable[[Added], StoredResponse],
    keyed: KeyedRequest | None = None,
) -> StoredResponse:
    """Add the items whose keys are new; a known key must have the same content. Returns the response of `to_response`.

    The chunks are read in a thread, and at most two are in memory. Requests for work do not wait: an import blocks only
    other imports into the job, and locks the job itself only to update its counters.
    """
    added = 0

    def count_and_respond(done: Added) -> StoredResponse:
        nonlocal added
        added = done.added
        return to_response(done)

    async with database.connect() as connection:
        await empty_staging(connection)
        try:
            async with connection.begin():
                response = await respond_once(
                    connection, keyed, lambda: _add_items(connection, job_id, chunks, count_and_respond)
                )
        except SufficeError:
            await empty_staging(connection)
            raise
        await count_items(connection, added)
    return response


async def _add_items(
    connection: AsyncConnection,
    job_id: UUID,
    chunks: Iterator[Sequence[ItemDraft]],
    to_response: Callable[[Added], StoredResponse],
) -> StoredResponse:
    job = await load_job(connection, job_id)
    ends = await _stage(connection, job, chunks)
    await lock_imports(connection, job_id)
    await _refuse_changes(connection, job_id, ends[-1])
    fresh = await drop_known(connection, job_id)
    if fresh.items:
        await _insert(connection, job_id, fresh, ends)
    warnings = budget_warnings(await load_job(connection, job_id))
    return to_response(Added(added=fresh.items, unchanged=ends[-1] - fresh.items, warnings=warnings))


async def _stage(connection: AsyncConnection, job: Job, chunks: Iterator[Sequence[ItemDraft]]) -> list[int]:
    """Copy the items into the staging table; returns 0 and the positions at which the chunks end."""
    ends = [0]
    async with aclosing(one_ahead(_rows(job, chunks))) as prepared:
        async for items, rows in prepared:
            await stage(connection, rows)
            ends.append(ends[-1] + items)
    await count_staged(connection, ends[-1])
    return ends


def _rows(job: Job, chunks: Iterator[Sequence[ItemDraft]]) -> Iterator[tuple[int, bytes]]:
    positions = {label: position for position, label in enumerate(job.policy.labels)}
    first = 0
    for chunk in chunks:
        contents = []
        for at, draft in enumerate(chunk, start=first):
            content = content_of(job, positions, draft, f"#/{at}")
            job = with_feature_length(job, content)
            contents.append((draft.key, content))
        yield len(chunk), staged_rows(first, contents)
        first += len(chunk)


def content_of(job: Job, labels: Mapping[str, int], draft: ItemDraft, pointer: str) -> ItemContent:
    """Return what an item says, with labels by position; raises, with this pointer, if it does not fit the job."""
    gold = None if draft.gold is None else _gold(job, draft, pointer)
    return ItemContent(
        payload=draft.payload,
        cost=job.answer_cost if draft.cost is None else draft.cost,
        gold=0 if isinstance(gold, float) else gold,
        gold_value=gold if isinstance(gold, float) else None,
        prior=None if draft.prior is None else _prior(job, labels, draft, f"{pointer}/prior"),
        features=None if draft.features is None else _features(job, draft, f"{pointer}/features"),
    )


def with_feature_length(job: Job, content: ItemContent) -> Job:
    """Return the job with the number of features that all its items have: that of the first item with features."""
    if content.features is None or job.feature_length is not None:
        return job
    return replace(job, feature_length=len(content.features))


def _gold(job: Job, draft: ItemDraft, pointer: str) -> Said:
    """Return what the right answer of an item says; in tables, sets and numbers are text."""
    kind, gold = job.policy.answer, draft.gold
    assert gold is not None  # noqa: S101  the caller has checked
    if isinstance(gold, str) and not kind.is_one_label:
        gold = kind.from_text(gold)
    try:
        return said_as(job, gold, f"{pointer}/gold")
    except SufficeError as error:
        raise _with_line(error, draft) from error


def _prior(job: Job, labels: Mapping[str, int], draft: ItemDraft, pointer: str) -> list[float]:
    """Return a probability per label. Those of exclusive labels sum to 1."""
    assert draft.prior is not None  # noqa: S101  the caller has checked
    kind = job.policy.answer
    if not labels:
        message = "An item of this job takes no prior, because its answers are numbers."
        raise InvalidInput(message, errors=(FieldError(pointer, f"{_at_line(draft)}Must be left out"),))
    model = job.policy.worker_model
    if len(labels) > model.most_labels_with_priors:
        raise InvalidInput(
            f"An item of this job takes no prior: {model.kind!r} would decide too slowly among {len(labels)} labels.",
            errors=(
                FieldError(
                    pointer,
                    f"{_at_line(draft)}Must be left out: the worker model {model.kind!r} takes priors with at most "
                    f"{model.most_labels_with_priors} labels; 'auto' takes them with any number",
                ),
            ),
        )
    for label in draft.prior:
        if label not in labels:
            choices = ", ".join(repr(known) for known in list(labels)[:20])
            problem = FieldError(pointer, f"{_at_line(draft)}Must be one of {choices}")
            raise LabelUnknown(f"{label!r} is not a label of this job.", errors=(problem,))
    prior = [draft.prior.get(label, 0.0) for label in labels]
    if kind.is_one_label and abs(sum(prior) - 1) > _PRIOR_ROUNDING:
        raise InvalidInput(
            f"The prior of item {draft.key!r} sums to {sum(prior):g}, not to 1.",
            errors=(FieldError(pointer, f"{_at_line(draft)}The probabilities must sum to 1"),),
        )
    return prior


def _features(job: Job, draft: ItemDraft, pointer: str) -> Sequence[float]:
    """Return the features of an item, as many as the job's other items have."""
    features, length = draft.features, job.feature_length
    assert features is not None  # noqa: S101  the caller has checked
    if job.policy.features is None:
        raise InvalidInput(
            "The items of this job take no features, because nothing would use them.",
            errors=(
                FieldError(
                    pointer,
                    f"{_at_line(draft)}Must be left out, or create the job with "
                    '`"features": {"kind": "logistic"}`, so that a model learns from them',
                ),
            ),
        )
    if length is not None and len(features) != length:
        raise InvalidInput(
            f"Item {draft.key!r} has {len(features):,} features, and other items of the job have {length:,}.",
            errors=(FieldError(pointer, f"{_at_line(draft)}Must be {length:,} numbers, in the same order, or null"),),
        )
    return features


def refuse_too_many_numbers(job: Job) -> None:
    """Raise if the features of the job's items are more numbers than a refit can hold."""
    if job.feature_length is None or job.last_item * job.feature_length <= MOST_NUMBERS:
        return
    raise InvalidInput(
        f"{job.last_item:,} items with {job.feature_length:,} features each are more than {MOST_NUMBERS:,} numbers, "
        "which is the most that a job can learn from. Send fewer features per item (the first principal components, "
        "for example), or divide the items among several jobs."
    )


def _with_line(error: SufficeError, draft: ItemDraft) -> SufficeError:
    """The same error with the line of the file in what it says about the field."""
    errors = tuple(FieldError(one.pointer, f"{_at_line(draft)}{one.message}") for one in error.errors)
    return type(error)(str(error), errors=errors)


def _at_line(draft: ItemDraft) -> str:
    return "" if draft.line is None else f"Line {draft.line}: "


async def _refuse_changes(connection: AsyncConnection, job_id: UUID, sent: int) -> None:
    """Refuse the import if a key has two contents, in this request or in the job."""
    changed = 0
    named: list[tuple[int, str]] = []
    async with aclosing(different_from_before(connection, job_id)) as suspects:
        async for pairs in suspects:
            for pair in await asyncio.to_thread(_different, pairs):
                changed += 1
                insort(named, (pair.position, pair.key))
                del named[_MAX_NAMED:]
    if changed:
        raise ItemConflict(
            f"{changed:,} of {sent:,} items exist with other content, so none was added. The first is {named[0][1]!r}. "
            "Leave these items out, or give them new keys.",
            errors=tuple(
                FieldError(f"#/{position}/key", f"{key!r} exists with other content") for position, key in named
            ),
        )


def _different(pairs: Sequence[StagedPair]) -> list[StagedPair]:
    return [pair for pair in pairs if _comparable(pair.sent) != _comparable(pair.before)]


def _comparable(content: ItemContent) -> tuple[object, ...]:
    """Make contents comparable as JSON: `true` differs from 1 and 1 from 1.0; the order of fields does not matter."""
    payload = None if content.payload is None else json.dumps(json.loads(content.payload), sort_keys=True)
    return payload, content.cost, content.gold, content.gold_value, content.prior, content.features


async def _insert(connection: AsyncConnection, job_id: UUID, fresh: StagedTotals, ends: Sequence[int]) -> None:
    """Judge the staged items and insert them; the job is locked last, only while its counters are updated."""
    job = await load_job(connection, job_id)
    async with connection.begin_nested() as attempt:
        tally = await _insert_judged(connection, job, fresh, ends)
        await clear_staging(connection, ends[-1])
        latest = await lock_job(connection, job_id)
        await _begin_sources(connection, latest, fresh)
        if (latest.policy, latest.budget, latest.sources) == (job.policy, job.budget, job.sources):
            await _count(connection, _with_items(latest, tally, fresh))
            return
        await attempt.rollback()
    # The policy, the budget or the belief in a source has changed meanwhile: judge the items again, under the job's
    # lock.
    job = await lock_job(connection, job_id)
    await _begin_sources(connection, job, fresh)
    tally = await _insert_judged(connection, job, fresh, ends)
    await _count(connection, _with_items(job, tally, fresh))


async def _begin_sources(connection: AsyncConnection, job: Job, fresh: StagedTotals) -> None:
    """Make the sources of opinions about these items workers of the job."""
    speaks = fresh.priors > 0, fresh.feature_length is not None
    names = list(compress(job.policy.sources, speaks))
    if names:
        await begin_workers(connection, job.job_id, names)


async def _count(connection: AsyncConnection, job: Job) -> None:
    """Save the job's counters; if new items change the value of the others, judge all items again."""
    refuse_too_many_numbers(job)
    if Uses.BUDGET in job.policy.uses:
        await rejudge_job(connection, job)
    else:
        await save_ledger(connection, job)


async def _insert_judged(connection: AsyncConnection, job: Job, fresh: StagedTotals, ends: Sequence[int]) -> _NewItems:
    job = job.reconfigured(inverse_costs=job.inverse_costs + fresh.inverse_costs)
    tally = _NewItems()
    joined = await time_of_head(connection, job.job_id) if job.engine.allocation.has_clock else 0.0
    judged = b""
    for first, end in pairwise(ends):
        rows = await staged_between(connection, first, end)
        # One chunk is judged while Postgres inserts the previous one.
        work = partial(_judged, job, job.last_item + 1 + tally.items, joined, rows)
        finished, decisions = await in_thread(work, during=insert_rows(connection, judged))
        tally.count(decisions, job.policy.answer)
        judged = finished
    await insert_rows(connection, judged)
    return tally


def _judged(job: Job, first: int, joined: float, rows: bytes) -> tuple[bytes, list[ItemDecision]]:
    """Judge new items, numbered from `first` on; returns their rows and decisions."""
    engine, staged = job.engine, staged_items(rows)
    item_ids = np.arange(first, first + len(staged))
    known = [
        ItemFacts(
            item_id,
            row.cost,
            NO_OPINIONS if row.prior is None else (row.prior,),
            gold=row.gold,
            gold_value=row.gold_value,
            joined=joined,
        )
        for item_id, row in zip(item_ids.tolist(), staged, strict=True)
    ]
    decisions = judge_new(engine, known) if known else []
    tie_breaks = engine.tie_breaks(item_ids).tolist()
    return new_rows(job.job_id, item_ids.tolist(), tie_breaks, joined, staged, decisions), decisions


def _with_items(job: Job, new: _NewItems, fresh: StagedTotals) -> Job:
    """Return the job with these items in its counters; some items may be given up at once, because no answer pays."""
    return job.reconfigured(
        items=job.items + new.items,
        last_item=job.last_item + new.items,
        resolved=job.resolved + new.states[ItemState.RESOLVED],
        given_up=job.given_up + new.states[ItemState.GIVEN_UP],
        progress=job.progress + new.progress,
        labeled=job.labeled + new.labels.labeled,
        label_changes=job.label_changes + new.labels.label_changes,
        confidence_sum=job.confidence_sum + new.labels.confidence_sum,
        dissent_sum=job.dissent_sum + new.labels.dissent_sum,
        inverse_costs=job.inverse_costs + fresh.inverse_costs,
        gold_items=job.gold_items + fresh.gold,
        feature_length=job.feature_length or fresh.feature_length,
        least_cost=fresh.least_cost if not job.items or fresh.least_cost < job.least_cost else job.least_cost,
    )
