"""Shut workers out: they get nothing more, what they hold is released, and its money returns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import Reason
from app.store.assignments import release_leases_of
from app.store.driver import columns_of
from app.store.jobs import Job
from app.store.worker_counts import Score
from app.store.workers import save_blocks
from app.use_cases.copies_out import change_copies_out

Votes = Literal["remove", "discount", "keep"]
Block = dict[str, Any]


def block_of(
    reason: Reason, *, votes: Votes, since: datetime, by: Literal["requester", "test"], evidence: Block | None = None
) -> Block:
    """What is kept of a block."""
    return {
        "reason": reason.as_json(),
        "evidence": evidence,
        "since": since.isoformat(),
        "votes": votes,
        "by": by,
    }


async def shut_out(connection: AsyncConnection, job: Job, blocks: Mapping[str, Block]) -> Job:
    """Block workers of a locked job; gives the job with the money of their leases returned, yet to be saved."""
    await save_blocks(connection, job.job_id, blocks)
    released = await release_leases_of(connection, job.job_id, blocks.keys())
    copies = Counter(item_id for item_id, _ in released)
    await change_copies_out(connection, job, {item_id: -count for item_id, count in copies.items()})
    return replace(job, reserved=job.reserved - sum((cost for _, cost in released), Decimal(0)))


async def block_guessers(connection: AsyncConnection, job: Job, scores: Sequence[Score], now: datetime) -> Job:
    """Block those whose votes cannot be told from guesses, where the job asks for it; gives the job, yet to be saved.

    Their votes are dealt with later: their rows say that this is to be done.
    """
    spammers = job.rules.spammers
    suspects = [] if spammers is None else [score for score in scores if _may_be_tested(score, spammers.min_answers)]
    if spammers is None or not suspects:
        return job
    classes = len(job.rules.labels)
    agreed, decided = (np.array(column, dtype=np.float64) for column in columns_of(suspects, "agreed", "decided"))
    guessing = spammers.guesses(agreed, decided, classes)
    blocks = {
        score.worker: block_of(
            spammers.reason(score.agreed, score.decided, classes),
            votes=spammers.votes,
            since=now,
            by="test",
            evidence=spammers.evidence(score.agreed, score.decided, classes),
        )
        for score, guesses in zip(suspects, guessing.tolist(), strict=True)
        if guesses
    }
    if not blocks:
        return job
    return await shut_out(connection, replace(job, blocks=job.blocks + len(blocks)), blocks)


def _may_be_tested(score: Score, min_answers: int) -> bool:
    """Who was pardoned is left alone until there are as many further votes to go by."""
    return not score.blocked and (score.pardoned_at is None or score.decided >= score.pardoned_at + min_answers)
