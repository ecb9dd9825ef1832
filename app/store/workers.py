"""Workers: what they charge, what their answers have shown, and who is blocked or gets no new work."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from asyncpg import Record
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.worker import Registration, Worker
from app.store.driver import array_text, columns_of, fetch

_COLUMNS = """
    worker, skill, price, block, scored_answers, agreed_answers, gold_asked, carried, low_information, trusted,
    stated_accuracy, stated_weight"""
_LOAD = f"SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND worker = ANY ($2::text[])"
_STATED = f"SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND stated_accuracy IS NOT NULL"
# The conditions are those of the index, word for word, so that the planner uses it.
_MOST_PROMISING = f"""
    SELECT {_COLUMNS} FROM worker WHERE job_id = $1 AND registered AND status = 'active' AND worker <> ALL ($2::text[])
    ORDER BY ucb_score DESC, worker LIMIT {{most}}"""
_REPLACE_SKILLS = """
    UPDATE worker w
    SET skill = sent.skill::double precision[], accuracy = sent.accuracy,
        copying_probability = sent.copying_probability
    FROM unnest($2::text[], $3::text[], $4::double precision[], $5::double precision[])
         AS sent (worker, skill, accuracy, copying_probability)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_FORGET_SKILLS = """
    UPDATE worker SET skill = NULL, accuracy = NULL, copying_probability = NULL
    WHERE job_id = $1 AND skill IS NOT NULL"""
_CARRY_SKILLS = """
    INSERT INTO worker (job_id, worker, skill, carried, accuracy, tier)
    SELECT $2, worker, skill, skill, accuracy, tier FROM worker WHERE job_id = $1 AND skill IS NOT NULL"""
_INSERT_NEW = """
    INSERT INTO worker (job_id, worker) SELECT $1, sent.worker FROM unnest($2::text[]) AS sent (worker)
    ON CONFLICT (job_id, worker) DO NOTHING"""
_REGISTER = """
    UPDATE worker w
    SET registered = true, price = coalesce(sent.price, w.price), tier = coalesce(sent.tier, w.tier),
        skill = coalesce(sent.skill::double precision[], w.skill), accuracy = coalesce(sent.accuracy, w.accuracy),
        stated_accuracy = coalesce(sent.stated_accuracy, w.stated_accuracy),
        stated_weight = coalesce(sent.stated_weight, w.stated_weight), trusted = coalesce(sent.trusted, w.trusted)
    FROM unnest($2::text[], $3::numeric[], $4::text[], $5::boolean[], $6::double precision[], $7::double precision[],
                $8::double precision[], $9::text[])
         AS sent (worker, price, tier, trusted, accuracy, stated_accuracy, stated_weight, skill)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_BLOCK = """
    UPDATE worker w SET status = 'blocked', block = sent.block::jsonb, recount = sent.recount
    FROM unnest($2::text[], $3::text[], $4::boolean[]) AS sent (worker, block, recount)
    WHERE w.job_id = $1 AND w.worker = sent.worker"""
_UNBLOCK = """
    UPDATE worker
    SET status = 'active', block = NULL, low_information = NULL, pardoned_at = scored_answers,
        recount = recount OR status = 'blocked'
    WHERE job_id = $1 AND worker = $2 AND (status = 'blocked' OR low_information IS NOT NULL)"""
_CLEAR_LOW_INFORMATION = """
    UPDATE worker SET low_information = NULL
    WHERE job_id = $1 AND low_information IS NOT NULL AND worker <> ALL ($2::text[])"""
_SET_LOW_INFORMATION = """
    UPDATE worker w
    SET low_information = CASE
        WHEN w.low_information IS NULL THEN sent.low_information::jsonb
        ELSE sent.low_information::jsonb || jsonb_build_object('since', w.low_information -> 'since')
    END
    FROM unnest($2::text[], $3::text[]) AS sent (worker, low_information)
    WHERE w.job_id = $1 AND w.worker = sent.worker AND w.pardoned_at IS NULL
    RETURNING w.worker"""
# Trusted workers answer what others cannot, so they say nothing about the price of an ordinary answer.
_PRICES = """
    SELECT coalesce(
            percentile_cont(0.5) WITHIN GROUP (ORDER BY price::double precision)
                FILTER (WHERE registered AND status = 'active' AND NOT trusted),
            1) AS registered,
        coalesce(sum(price * answers) FILTER (WHERE NOT trusted), 0)::double precision AS paid,
        coalesce(sum(answers) FILTER (WHERE NOT trusted), 0)::bigint AS answers,
        coalesce(sum(answers), 0)::bigint AS named
    FROM worker WHERE job_id = $1"""
_MARK_RECOUNTED = "UPDATE worker SET recount = false WHERE job_id = $1 AND worker = $2"
_TO_RECOUNT = "SELECT worker FROM worker WHERE job_id = $1 AND recount ORDER BY worker"


async def load_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> dict[str, Worker]:
    """Load these workers; names that the job does not know are left out."""
    rows = await fetch(connection, _LOAD, job_id, list(names)) if names else []
    return {row["worker"]: _worker(row) for row in rows}


async def load_stated_workers(connection: AsyncConnection, job_id: UUID) -> dict[str, Worker]:
    """Load the workers whose accuracy a requester has stated."""
    return {row["worker"]: _worker(row) for row in await fetch(connection, _STATED, job_id)}


async def most_promising(
    connection: AsyncConnection, job_id: UUID, *, besides: Collection[str], most: int
) -> dict[str, Worker]:
    """Load the registered workers to ask first, except those in `besides`; best first."""
    rows = await fetch(connection, _MOST_PROMISING.format(most=int(most)), job_id, list(besides))
    return {row["worker"]: _worker(row) for row in rows}


@dataclass(frozen=True, slots=True)
class FittedSkill:
    """The skill that a refit estimates for a worker."""

    worker: str
    skill: Sequence[float]
    accuracy: float | None
    copying_probability: float | None  # how likely the worker repeats a source


async def replace_skills(connection: AsyncConnection, job_id: UUID, found: Sequence[FittedSkill]) -> None:
    """Write the skills that a refit estimates; names that the job does not know are ignored."""
    names, accuracies, copying_probability = columns_of(found, "worker", "accuracy", "copying_probability")
    skills = [array_text(one.skill) for one in found]
    await fetch(connection, _REPLACE_SKILLS, job_id, names, skills, accuracies, copying_probability)


async def forget_skills(connection: AsyncConnection, job_id: UUID) -> None:
    """Reset the skills of all workers, because the parameters have another meaning now."""
    await fetch(connection, _FORGET_SKILLS, job_id)


async def carry_skills(connection: AsyncConnection, source: UUID, target: UUID) -> None:
    """Copy the skills and tiers of a job's workers to another job."""
    await fetch(connection, _CARRY_SKILLS, source, target)


async def begin_workers(connection: AsyncConnection, job_id: UUID, names: Collection[str]) -> None:
    """Insert the workers among these that are new to the job, unregistered."""
    await fetch(connection, _INSERT_NEW, job_id, list(names))


async def save_registrations(connection: AsyncConnection, job_id: UUID, sent: Sequence[Registration]) -> None:
    """Register workers; no name may occur twice."""
    workers, *plain = columns_of(
        sent, "worker", "price", "tier", "trusted", "accuracy", "stated_accuracy", "stated_weight"
    )
    skills = [None if one.skill is None else array_text(one.skill) for one in sent]
    await begin_workers(connection, job_id, workers)
    await fetch(connection, _REGISTER, job_id, workers, *plain, skills)


async def save_blocks(connection: AsyncConnection, job_id: UUID, blocks: Mapping[str, Mapping[str, Any]]) -> None:
    """Block known workers; unless a block keeps the votes, mark the worker for a recount."""
    recount = [block["votes"] != "keep" for block in blocks.values()]
    await fetch(connection, _BLOCK, job_id, list(blocks), [json.dumps(block) for block in blocks.values()], recount)


async def lift_block(connection: AsyncConnection, job_id: UUID, worker: str) -> None:
    """Unblock a worker, and store how many of its answers were scored by then."""
    await fetch(connection, _UNBLOCK, job_id, worker)


async def save_low_information(
    connection: AsyncConnection, job_id: UUID, low_information: Mapping[str, Mapping[str, Any]]
) -> int:
    """Mark these workers, and no others, as low-information; returns how many were marked.

    A worker whom a requester has unblocked is not marked. A worker who was marked before keeps its `since`.
    """
    await fetch(connection, _CLEAR_LOW_INFORMATION, job_id, list(low_information))
    sent = [json.dumps(one) for one in low_information.values()]
    return len(await fetch(connection, _SET_LOW_INFORMATION, job_id, list(low_information), sent))


@dataclass(frozen=True, slots=True)
class PricesSeen:
    """What the workers of a job charge, trusted ones left out."""

    registered: float  # the median over the registered workers; 1 without any
    paid: float  # the sum over all answers, each at its worker's present price
    answers: int


async def prices_seen(connection: AsyncConnection, job_id: UUID, given: int) -> PricesSeen:
    """Read what workers charge: one row per worker. Of the job's `given` answers, unnamed ones have the price 1."""
    (row,) = await fetch(connection, _PRICES, job_id)
    unnamed = given - row["named"]
    return PricesSeen(row["registered"], row["paid"] + unnamed, row["answers"] + unnamed)


async def mark_recounted(connection: AsyncConnection, job_id: UUID, worker: str) -> None:
    """Store that the worker's votes are recounted."""
    await fetch(connection, _MARK_RECOUNTED, job_id, worker)


async def workers_to_recount(connection: AsyncConnection, job_id: UUID) -> list[str]:
    """List workers who were blocked or unblocked and whose votes are not yet recounted."""
    return [row["worker"] for row in await fetch(connection, _TO_RECOUNT, job_id)]


def _worker(row: Record) -> Worker:
    _, *known = row
    return Worker(*known)


KEPT_SECONDS = 25  # latest answers whose time is kept: enough for a median, few enough to fit into the row


@dataclass(slots=True)
class Tally:
    """What a transaction adds to a worker's row; the skill replaces the old one."""

    worker: str
    skill: Sequence[float] | None = None
    accuracy: float | None = None
    answers: int = 0
    gold_asked: int = 0
    gold_right: int = 0
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Score:
    """How many of a worker's answers were compared with a label so far, and how many agreed."""

    worker: str
    scored_answers: int
    agreed_answers: int
    blocked: bool
    pardoned_at: int | None


_SCORE = "w.worker, w.scored_answers, w.agreed_answers, w.status = 'blocked' AS blocked, w.pardoned_at"
_ADDED = ("answers", "scored_answers", "agreed_answers", "gold_asked", "gold_right")
# Sorted by name, to avoid deadlocks. All writers hold the job's lock anyway, and sorting costs nothing.
_SAVE_TALLIES = f"""
    INSERT INTO worker AS w (job_id, worker, skill, accuracy, {", ".join(_ADDED)}, seconds)
    SELECT $1, sent.worker, sent.skill::double precision[], sent.accuracy, sent.answers,
           sent.gold_asked, sent.gold_right, sent.gold_asked, sent.gold_right, sent.seconds::real[]
    FROM unnest($2::text[], $3::text[], $4::double precision[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])
         AS sent (worker, skill, accuracy, answers, gold_asked, gold_right, seconds)
    ORDER BY sent.worker
    ON CONFLICT (job_id, worker) DO UPDATE
    SET skill = coalesce(excluded.skill, w.skill),
        accuracy = CASE WHEN excluded.skill IS NULL THEN w.accuracy ELSE excluded.accuracy END,
        {", ".join(f"{name} = w.{name} + excluded.{name}" for name in _ADDED)},
        seconds = (w.seconds || excluded.seconds)[
            greatest(cardinality(w.seconds) + cardinality(excluded.seconds) - {KEPT_SECONDS - 1}, 1):]
    RETURNING {_SCORE}"""
# Each vote is scored at most once against its item's final label, and only if the label would win without it, unless $4
# is true. `scored` is the last answer of the item that was scored. Answers on gold items were scored when they arrived.
# `+ 0` hides the answers' numbers from the planner: without statistics it took their index, and so read all answers of
# the job for each item (168 ms instead of 12 for 207 items of a job with 12,000 answers).
# The scores go through arrays, because the planner expects several rows of `unnest`: else it may compute all scores for
# each worker.
_SCORE_VOTES = f"""
    WITH compared AS MATERIALIZED (
        SELECT a.worker, a.label = i.label AS same
        FROM item i JOIN answer a ON a.job_id = i.job_id AND a.item_id = i.item_id
        WHERE i.job_id = $1 AND i.item_id = ANY ($2::bigint[]) AND a.job_id = $1 AND a.item_id = ANY ($2)
            AND i.state = 'resolved' AND i.gold IS NULL
            AND a.answer_id + 0 > i.scored AND a.counted AND NOT a.withheld AND a.worker IS NOT NULL
            AND (a.label <> i.label OR $4::boolean OR i.votes[i.label + 1] - 1 > coalesce((
                SELECT max(vote) FROM unnest(i.votes) WITH ORDINALITY AS other (vote, place)
                WHERE place <> i.label + 1), 0))
    ), scores AS MATERIALIZED (
        SELECT array_agg(worker ORDER BY worker) AS workers, array_agg(scored ORDER BY worker) AS scored,
               array_agg(agreed ORDER BY worker) AS agreed
        FROM (SELECT worker, count(*) AS scored, count(*) FILTER (WHERE same) AS agreed
              FROM compared GROUP BY worker) AS each
    ), marked AS (
        UPDATE item SET scored = $3 WHERE job_id = $1 AND item_id = ANY ($2) AND state = 'resolved'
    )
    UPDATE worker w
    SET scored_answers = w.scored_answers + score.scored, agreed_answers = w.agreed_answers + score.agreed
    FROM scores, unnest(scores.workers, scores.scored, scores.agreed) AS score (worker, scored, agreed)
    WHERE w.job_id = $1 AND w.worker = score.worker
    RETURNING {_SCORE}"""


async def save_tallies(connection: AsyncConnection, job_id: UUID, tallies: Sequence[Tally]) -> list[Score]:
    """Update or insert the rows of these workers; returns the scores that gold answers have changed."""
    if not tallies:
        return []
    workers, *numbers = columns_of(tallies, "worker", "accuracy", "answers", "gold_asked", "gold_right")
    skills = [None if tally.skill is None else array_text(tally.skill) for tally in tallies]
    seconds = [array_text(tally.seconds[-KEPT_SECONDS:]) for tally in tallies]
    rows = await fetch(connection, _SAVE_TALLIES, job_id, workers, skills, *numbers, seconds)
    tested = {tally.worker for tally in tallies if tally.gold_asked}
    return [Score(**row) for row in rows if row["worker"] in tested]


async def score_votes(
    connection: AsyncConnection, job_id: UUID, item_ids: Collection[int], *, newest: int, own_votes: bool
) -> list[Score]:
    """Score the votes on resolved items, up to the newest answer; returns the scores that have changed.

    A vote without which its item would have another label is scored only with `own_votes`.
    """
    rows = await fetch(connection, _SCORE_VOTES, job_id, list(item_ids), newest, own_votes) if item_ids else []
    return [Score(**row) for row in rows]
