"""Audits: the sample that was drawn, the truth about it, and what it shows."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.audit_sample import Audit, AuditItem, measured
from app.domain.item import Item
from app.policy.quality.audit import AuditState
from app.store.driver import fetch
from app.store.items import COLUMNS, item_from

# The labels that the crowd made: without those of the requester, and without those that a trusted worker gave.
_POPULATION = """
    i.job_id = $1 AND i.state = 'resolved' AND (i.gold IS NULL OR i.promoted)
    AND i.reason ->> 'code' <> 'settled-by-trusted'"""
# The lines `item,label`, sorted by their bytes, so that anyone can compute the digest from an export.
_DIGEST = f"""
    SELECT count(*) AS population, encode(sha256(convert_to(coalesce(
        string_agg(line, E'\\n' ORDER BY line COLLATE "C"), ''), 'UTF8')), 'hex') AS digest
    FROM (SELECT i.key || ',' || ($2::text[])[i.label + 1] AS line FROM item i WHERE {_POPULATION}) AS every"""
# Keyed by seed and audit, an item's hash is its place in a random order that nobody can predict from its key.
_DRAW = f"""
    INSERT INTO audit_item (job_id, audit_id, position, item_id, label)
    SELECT $1, $2, row_number() OVER (ORDER BY drawn.place, drawn.item_id), drawn.item_id, drawn.label FROM (
        SELECT i.item_id, i.label, sha256(convert_to($3::text || ':' || i.item_id::text, 'UTF8')) AS place
        FROM item i WHERE {_POPULATION} ORDER BY place, i.item_id LIMIT $4) AS drawn"""
_NAMES = (
    "audit_id, state, min_accuracy, confidence, max_items, population, digest, label_changes, checked, correct, "
    "accuracy, created_at, finished_at"
)
_INSERT = f"""
    INSERT INTO audit (job_id, {_NAMES})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, 0, NULL, $10, NULL)"""
_SAVE = """
    UPDATE audit SET state = $3, checked = $4, correct = $5, accuracy = $6::text::jsonb, finished_at = $7
    WHERE job_id = $1 AND audit_id = $2"""
_SAVE_SUMMARY = "UPDATE job SET audits = $2, audit = $3::text::jsonb WHERE job_id = $1"
_ONE = f"SELECT {_NAMES} FROM audit WHERE job_id = $1 AND audit_id = $2"
_RUNNING = f"SELECT {_NAMES} FROM audit WHERE job_id = $1 AND state = 'running'"
_PROVEN = f"SELECT {_NAMES} FROM audit WHERE job_id = $1 AND state = 'proven' ORDER BY audit_id DESC LIMIT 1"
_PAGE = f"SELECT {_NAMES} FROM audit WHERE job_id = $1 AND audit_id < $2 ORDER BY audit_id DESC LIMIT $3"
_ITEMS = """
    SELECT s.position, s.item_id, i.key, i.payload, s.label, s.answer, s.worker, s.answered_at
    FROM audit_item s JOIN item i ON i.job_id = s.job_id AND i.item_id = s.item_id
    WHERE s.job_id = $1 AND s.audit_id = $2"""
_ITEM_PAGE = f"""{_ITEMS} AND s.position > $3 AND (s.answer IS NOT NULL) = $4 ORDER BY s.position LIMIT $5"""
_ITEMS_BY_KEY = f"{_ITEMS} AND i.key = ANY ($3::text[])"
_ITEMS_BY_NUMBER = f"{_ITEMS} AND s.item_id = ANY ($3::bigint[])"
_CHECKS = "SELECT answer = label AS correct FROM audit_item WHERE job_id = $1 AND audit_id = $2 ORDER BY position"
_ANSWER = """
    UPDATE audit_item s SET answer = sent.answer, worker = sent.worker, answered_at = $6
    FROM unnest($3::bigint[], $4::bigint[], $5::text[]) AS sent (item_id, answer, worker)
    WHERE s.job_id = $1 AND s.audit_id = $2 AND s.item_id = sent.item_id AND s.answer IS NULL"""
_FREE = f"""
    SELECT {COLUMNS} FROM audit_item s JOIN item i ON i.job_id = s.job_id AND i.item_id = s.item_id
    WHERE s.job_id = $1 AND s.audit_id = $2 AND s.answer IS NULL AND s.item_id <> ALL ($3::bigint[])
        AND NOT EXISTS (SELECT FROM assignment a WHERE a.job_id = $1 AND a.item_id = s.item_id
                        AND a.audit_id = $2 AND a.state = 'live')
        AND NOT EXISTS (SELECT FROM assignment a WHERE a.job_id = $1 AND a.item_id = s.item_id
                        AND a.worker = $4 AND a.state IN ('live', 'skipped'))
        AND NOT EXISTS (SELECT FROM answer a WHERE a.job_id = $1 AND a.item_id = s.item_id AND a.worker = $4)
        AND ($5::numeric IS NULL OR i.cost * $6::numeric <= $5::numeric)
    ORDER BY s.position LIMIT 1"""
_OPEN_FOR = """
    SELECT asking.worker FROM unnest($3::text[]) AS asking (worker)
    WHERE EXISTS (
        SELECT FROM audit_item s WHERE s.job_id = $1 AND s.audit_id = $2 AND s.answer IS NULL
            AND NOT EXISTS (SELECT FROM assignment a WHERE a.job_id = $1 AND a.item_id = s.item_id
                            AND a.worker = asking.worker AND a.state = 'skipped')
            AND NOT EXISTS (SELECT FROM answer a WHERE a.job_id = $1 AND a.item_id = s.item_id
                            AND a.worker = asking.worker))"""


async def population_of(connection: AsyncConnection, job_id: UUID, labels: Sequence[str]) -> tuple[int, str]:
    """Return how many labels the crowd has made, and their digest."""
    row = (await fetch(connection, _DIGEST, job_id, list(labels)))[0]
    return row["population"], row["digest"]


async def insert_audit(
    connection: AsyncConnection, job_id: UUID, new: Audit, *, seed: int, summary: Mapping[str, Any]
) -> None:
    """Store an audit and draw its sample from the items that are resolved now."""
    await fetch(
        connection,
        _INSERT,
        job_id,
        new.audit_id,
        new.state,
        new.min_accuracy,
        new.confidence,
        new.max_items,
        new.population,
        new.digest,
        new.label_changes,
        new.created_at,
    )
    await fetch(connection, _DRAW, job_id, new.audit_id, f"{seed}:{new.audit_id}", new.sample)
    await save_summary(connection, job_id, new, summary)


async def save_audit(connection: AsyncConnection, job_id: UUID, changed: Audit, summary: Mapping[str, Any]) -> None:
    """Write what the checks show now, also on the job row."""
    accuracy = None if changed.accuracy is None else json.dumps(asdict(changed.accuracy))
    counts = (changed.checked, changed.correct)
    await fetch(connection, _SAVE, job_id, changed.audit_id, changed.state, *counts, accuracy, changed.finished_at)
    await save_summary(connection, job_id, changed, summary)


async def save_summary(connection: AsyncConnection, job_id: UUID, latest: Audit, summary: Mapping[str, Any]) -> None:
    await fetch(connection, _SAVE_SUMMARY, job_id, latest.audit_id, json.dumps(summary))


async def find_audit(connection: AsyncConnection, job_id: UUID, audit_id: int) -> Audit | None:
    return _one(await fetch(connection, _ONE, job_id, audit_id))


async def running_audit(connection: AsyncConnection, job_id: UUID) -> Audit | None:
    return _one(await fetch(connection, _RUNNING, job_id))


async def latest_proven(connection: AsyncConnection, job_id: UUID) -> Audit | None:
    return _one(await fetch(connection, _PROVEN, job_id))


async def page_of_audits(connection: AsyncConnection, job_id: UUID, *, before: int, most: int) -> list[Audit]:
    """Load audits before the number `before`, newest first."""
    return [_audit(row) for row in await fetch(connection, _PAGE, job_id, before, most)]


async def page_of_audit_items(
    connection: AsyncConnection, job_id: UUID, audit_id: int, *, checked: bool, after: int, most: int
) -> list[AuditItem]:
    """Load items of the sample after the position `after`, in the random order."""
    return [_item(row) for row in await fetch(connection, _ITEM_PAGE, job_id, audit_id, after, checked, most)]


async def audit_items_by_key(
    connection: AsyncConnection, job_id: UUID, audit_id: int, keys: Collection[str]
) -> dict[str, AuditItem]:
    rows = await fetch(connection, _ITEMS_BY_KEY, job_id, audit_id, list(keys))
    return {row["key"]: _item(row) for row in rows}


async def audit_items_by_number(
    connection: AsyncConnection, job_id: UUID, audit_id: int, item_ids: Collection[int]
) -> dict[int, AuditItem]:
    rows = await fetch(connection, _ITEMS_BY_NUMBER, job_id, audit_id, list(item_ids))
    return {row["item_id"]: _item(row) for row in rows}


async def checks_of(connection: AsyncConnection, job_id: UUID, audit_id: int) -> list[bool | None]:
    """Return for each item of the sample, in its order, whether the label is right; None if it is not checked."""
    return [row["correct"] for row in await fetch(connection, _CHECKS, job_id, audit_id)]


async def save_audit_answers(
    connection: AsyncConnection,
    job_id: UUID,
    audit_id: int,
    answers: Sequence[tuple[int, int, str | None]],
    now: datetime,
) -> None:
    """Store the truth about items, each with the worker who said it; None if it was sent by hand."""
    columns = [list(column) for column in zip(*answers, strict=True)]
    await fetch(connection, _ANSWER, job_id, audit_id, *columns, now)


async def free_audit_item(
    connection: AsyncConnection,
    job_id: UUID,
    audit_id: int,
    *,
    worker: str,
    price: Decimal,
    affordable: Decimal | None,
    besides: Collection[int],
) -> Item | None:
    """Load the first item of the sample that nobody checks yet and that is new to the worker."""
    rows = await fetch(connection, _FREE, job_id, audit_id, list(besides), worker, affordable, price)
    return item_from(rows[0]) if rows else None


async def who_may_audit(connection: AsyncConnection, job_id: UUID, audit_id: int, workers: Collection[str]) -> set[str]:
    """Return the workers who may still get an item of the sample, even if others hold all of them now."""
    return {row["worker"] for row in await fetch(connection, _OPEN_FOR, job_id, audit_id, list(workers))}


def _one(rows: Sequence[Record]) -> Audit | None:
    return _audit(rows[0]) if rows else None


def _audit(row: Record) -> Audit:
    values = dict(row)
    return Audit(**values | {"state": AuditState(row["state"]), "accuracy": measured(row["accuracy"])})


def _item(row: Record) -> AuditItem:
    return AuditItem(**dict(row))
