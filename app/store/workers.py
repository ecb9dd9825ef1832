"""Workers: what they charge, what their answers have taught about them, and who is shut out."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import array_text, columns_of, fetch


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker of a job; one who is not registered costs what the item costs."""

    skill: Sequence[float] | None = None
    price: Decimal = Decimal(1)
    block: Mapping[str, Any] | None = None  # why, on what evidence, since when; None: not blocked
    decided: int = 0
    agreed: int = 0
    gold_asked: int = 0
    carried: Sequence[float] | None = None  # the skill that was brought from another job
    away: Mapping[str, Any] | None = None  # why a fit has turned the worker away; None: it has not

    @property
    def is_welcome(self) -> bool:
        """Whether there may be new work for this worker."""
        return self.block is None and self.away is None


STRANGER = Worker()


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """What a requester says of a worker; what is None stays as it is."""

    worker: str
    price: Decimal | None = None
    tier: str | None = None
    skill: Sequence[float] | None = None  # that of the tier


_COLUMNS = "worker, skill, price, block, decided, agreed, gold_asked, carried, away"
_LOAD = f"SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND worker = ANY ($2::text[])"
# Conditions stand as in the index, literally.
_MOST_PROMISING = f"""
    SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND registered AND status = 'active' AND worker <> ALL ($2::text[])
    ORDER BY promise DESC, worker LIMIT {{most}}"""
_REPLACE = """
    UPDATE worker w SET skill = sent.skill::double precision[], accuracy = sent.accuracy, copies = sent.copies
    FROM unnest($2::text[], $3::text[], $4::double precision[], $5::double precision[])
         AS sent (worker, skill, accuracy, copies)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_FORGET = "UPDATE worker SET skill = NULL, accuracy = NULL, copies = NULL WHERE job_id = $1 AND skill IS NOT NULL"
_CARRY = """
    INSERT INTO worker (job_id, worker, skill, carried, accuracy, tier)
    SELECT $2, worker, skill, skill, accuracy, tier FROM worker WHERE job_id = $1 AND skill IS NOT NULL"""
_BEGIN = """
    INSERT INTO worker (job_id, worker) SELECT $1, sent.worker FROM unnest($2::text[]) AS sent (worker)
    ON CONFLICT (job_id, worker) DO NOTHING"""
_REGISTER = """
    UPDATE worker w
    SET registered = true, price = coalesce(sent.price, w.price), tier = coalesce(sent.tier, w.tier),
        skill = coalesce(sent.skill::double precision[], w.skill)
    FROM unnest($2::text[], $3::numeric[], $4::text[], $5::text[]) AS sent (worker, price, tier, skill)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_BLOCK = """
    UPDATE worker w SET status = 'blocked', block = sent.block::jsonb, recount = sent.recount
    FROM unnest($2::text[], $3::text[], $4::boolean[]) AS sent (worker, block, recount)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_UNBLOCK = """
    UPDATE worker
    SET status = 'active', block = NULL, away = NULL, pardoned_at = decided, recount = recount OR status = 'blocked'
    WHERE job_id = $1 AND worker = $2 AND (status = 'blocked' OR away IS NOT NULL)"""
_TURN_AWAY = """
    UPDATE worker w
    SET away = CASE
        WHEN w.away IS NULL THEN sent.away::jsonb
        ELSE sent.away::jsonb || jsonb_build_object('since', w.away -> 'since')
    END
    FROM unnest($2::text[], $3::text[]) AS sent (worker, away)
    WHERE w.job_id = $1 AND w.worker = sent.worker AND w.pardoned_at IS NULL
    RETURNING w.worker"""
_WELCOME = "UPDATE worker SET away = NULL WHERE job_id = $1 AND away IS NOT NULL AND worker <> ALL ($2::text[])"
_RECOUNTED = "UPDATE worker SET recount = false WHERE job_id = $1 AND worker = $2"
_PENDING = """
    SELECT worker FROM worker WHERE job_id = $1 AND recount ORDER BY worker"""


async def load_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> dict[str, Worker]:
    """Those of these workers of whom something is known."""
    rows = await fetch(connection, _LOAD, job_id, list(names)) if names else []
    return {row["worker"]: _worker(row) for row in rows}


async def most_promising(
    connection: AsyncConnection, job_id: UUID, *, besides: Collection[str], most: int
) -> dict[str, Worker]:
    """The registered workers who should be asked first, other than these; best first."""
    rows = await fetch(connection, _MOST_PROMISING.format(most=int(most)), job_id, list(besides))
    return {row["worker"]: _worker(row) for row in rows}


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit has found out about a worker."""

    worker: str
    skill: Sequence[float]
    accuracy: float | None
    copies: float | None  # how likely the worker repeats a source


async def replace_skills(connection: AsyncConnection, job_id: UUID, found: Sequence[Fitted]) -> None:
    """Write what was found out about workers who are known."""
    names, accuracies, copies = columns_of(found, "worker", "accuracy", "copies")
    await fetch(connection, _REPLACE, job_id, names, [array_text(one.skill) for one in found], accuracies, copies)


async def forget_skills(connection: AsyncConnection, job_id: UUID) -> None:
    """All workers are newcomers again: what the numbers of a skill mean has changed."""
    await fetch(connection, _FORGET, job_id)


async def carry_skills(connection: AsyncConnection, source: UUID, target: UUID) -> None:
    """Let the workers of a job begin another one with the skill and the tier that they have."""
    await fetch(connection, _CARRY, source, target)


async def begin_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> None:
    """Let the job know of these workers, without offering them to it."""
    await fetch(connection, _BEGIN, job_id, list(names))


async def save_registrations(connection: AsyncConnection, job_id: UUID, sent: Sequence[Registration]) -> None:
    """Register workers, each named once."""
    workers, prices, tiers = columns_of(sent, "worker", "price", "tier")
    skills = [None if one.skill is None else array_text(one.skill) for one in sent]
    await begin_workers(connection, job_id, workers)
    await fetch(connection, _REGISTER, job_id, workers, prices, tiers, skills)


async def save_blocks(connection: AsyncConnection, job_id: UUID, blocks: Mapping[str, Mapping[str, Any]]) -> None:
    """Shut out these workers, who must be known; unless their votes are kept, they are to be counted again."""
    recount = [block["votes"] != "keep" for block in blocks.values()]
    await fetch(connection, _BLOCK, job_id, list(blocks), [json.dumps(block) for block in blocks.values()], recount)


async def lift_block(connection: AsyncConnection, job_id: UUID, worker: str) -> None:
    """Let a worker in again, whoever shut it out, and remember how many votes had been held to a label by then."""
    await fetch(connection, _UNBLOCK, job_id, worker)


async def save_turned_away(connection: AsyncConnection, job_id: UUID, away: Mapping[str, Mapping[str, Any]]) -> int:
    """These workers, but for whom a requester has let in again, get nothing new; all others are welcome.

    Since when somebody is away stays as it is. Gives how many are away now.
    """
    await fetch(connection, _WELCOME, job_id, list(away))
    return len(await fetch(connection, _TURN_AWAY, job_id, list(away), [json.dumps(why) for why in away.values()]))


async def mark_recounted(connection: AsyncConnection, job_id: UUID, worker: str) -> None:
    """Nothing is left to be done about the votes of a worker."""
    await fetch(connection, _RECOUNTED, job_id, worker)


async def workers_to_recount(connection: AsyncConnection, job_id: UUID) -> list[str]:
    """Workers who were blocked or let in again, and whose votes have not been dealt with yet."""
    return [row["worker"] for row in await fetch(connection, _PENDING, job_id)]


def _worker(row: Record) -> Worker:
    _, *known = row
    return Worker(*known)
