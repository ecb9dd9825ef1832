"""What workers have done, counted in the transaction that records it: nobody ever counts rows."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from app.store.driver import array_text, columns_of, fetch

KEPT_SECONDS = 25  # of the latest answers under a lease: enough for a median, few enough to stand in the row


@dataclass(slots=True)
class Tally:
    """What a transaction adds to a worker's row; a skill takes the place of the one before."""

    worker: str
    skill: Sequence[float] | None = None
    accuracy: float | None = None
    answers: int = 0
    gold_asked: int = 0
    gold_right: int = 0
    seconds: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Score:
    """How often a worker's votes were held to a label by now, and how often they said the same."""

    worker: str
    decided: int
    agreed: int
    blocked: bool
    pardoned_at: int | None


_SCORE = "w.worker, w.decided, w.agreed, w.status = 'blocked' AS blocked, w.pardoned_at"
_ADDED = ("answers", "decided", "agreed", "gold_asked", "gold_right")
# In the order of the names: whoever else writes workers of the job waits for its row anyway, and this costs nothing.
_SAVE = f"""
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
# A vote is held to the label of its item only where the label would lead without it, and only once, whatever becomes
# of the item afterwards: `scored` is the last answer that was looked at. Gold was counted when the answer came.
_HOLD_TO_LABELS = f"""
    WITH held AS (
        SELECT a.worker, a.label = i.label AS same
        FROM item i JOIN answer a ON a.job_id = i.job_id AND a.item_id = i.item_id
        WHERE i.job_id = $1 AND i.item_id = ANY ($2::bigint[]) AND a.job_id = $1 AND a.item_id = ANY ($2)
            AND i.state = 'resolved' AND i.gold IS NULL
            AND a.answer_id > i.scored AND a.counted AND NOT a.withheld AND a.worker IS NOT NULL
            AND (a.label <> i.label OR i.votes[i.label + 1] - 1 > coalesce((
                SELECT max(vote) FROM unnest(i.votes) WITH ORDINALITY AS other (vote, place)
                WHERE place <> i.label + 1), 0))
    ), looked_at AS (
        UPDATE item SET scored = $3 WHERE job_id = $1 AND item_id = ANY ($2) AND state = 'resolved'
    )
    UPDATE worker w SET decided = w.decided + score.decided, agreed = w.agreed + score.agreed
    FROM (SELECT worker, count(*) AS decided, count(*) FILTER (WHERE same) AS agreed FROM held
          GROUP BY worker ORDER BY worker) AS score
    WHERE w.job_id = $1 AND w.worker = score.worker
    RETURNING {_SCORE}"""


async def save_tallies(connection: AsyncConnection, job_id: UUID, tallies: Sequence[Tally]) -> list[Score]:
    """Add to the rows of these workers, or begin them; gives those whose score has changed by gold."""
    if not tallies:
        return []
    workers, *numbers = columns_of(tallies, "worker", "accuracy", "answers", "gold_asked", "gold_right")
    skills = [None if tally.skill is None else array_text(tally.skill) for tally in tallies]
    seconds = [array_text(tally.seconds[-KEPT_SECONDS:]) for tally in tallies]
    rows = await fetch(connection, _SAVE, job_id, workers, skills, *numbers, seconds)
    tested = {tally.worker for tally in tallies if tally.gold_asked}
    return [Score(**row) for row in rows if row["worker"] in tested]


async def hold_votes_to_labels(
    connection: AsyncConnection, job_id: UUID, item_ids: Collection[int], *, newest: int
) -> list[Score]:
    """Compare the votes on resolved items with their labels, up to the newest answer; gives whose score has changed."""
    rows = await fetch(connection, _HOLD_TO_LABELS, job_id, list(item_ids), newest) if item_ids else []
    return [Score(**row) for row in rows]
