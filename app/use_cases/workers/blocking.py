"""Block workers: they get no more work, and their assignments are released with the money reserved for them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Literal

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.policy.core.decision import Reason
from app.store.assignments import release_assignments_of
from app.store.driver import columns_of
from app.store.workers import Score, save_blocks
from app.use_cases.work.held_assignments import return_assignments

BlockedVotes = Literal["remove", "discount", "keep"]  # how the votes of a blocked worker count
Block = dict[str, Any]


def block_of(
    reason: Reason,
    *,
    votes: BlockedVotes,
    since: datetime,
    by: Literal["requester", "test"],
    evidence: Block | None = None,
) -> Block:
    """Build the JSON that is stored about a block."""
    return {
        "reason": reason.as_json(),
        "evidence": evidence,
        "since": since.isoformat(),
        "votes": votes,
        "by": by,
    }


async def block_workers(connection: AsyncConnection, job: Job, blocks: Mapping[str, Block]) -> Job:
    """Block workers of a locked job; returns the job, without the money reserved for them, for the caller to save."""
    await save_blocks(connection, job.job_id, blocks)
    released = await release_assignments_of(connection, job.job_id, blocks.keys())
    return await return_assignments(connection, job, released)


async def block_guessers(connection: AsyncConnection, job: Job, scores: Sequence[Score], now: datetime) -> Job:
    """Block workers whose votes look like guesses, if the job wants this; returns the job for the caller to save.

    Their rows are marked, and their votes are recounted in the background.
    """
    spammers = job.policy.spammers
    suspects = [] if spammers is None else [score for score in scores if _may_be_tested(score, spammers.min_answers)]
    if spammers is None or not suspects:
        return job
    classes = job.policy.classes
    agreed_answers, scored_answers = (
        np.array(column, dtype=np.float64) for column in columns_of(suspects, "agreed_answers", "scored_answers")
    )
    guessing = spammers.guesses(agreed_answers, scored_answers, classes)
    blocks = {
        score.worker: block_of(
            spammers.reason(score.agreed_answers, score.scored_answers, classes),
            votes=spammers.votes,
            since=now,
            by="test",
            evidence=spammers.evidence(score.agreed_answers, score.scored_answers, classes),
        )
        for score, guesses in zip(suspects, guessing.tolist(), strict=True)
        if guesses
    }
    if not blocks:
        return job
    return await block_workers(connection, replace(job, blocks=job.blocks + len(blocks)), blocks)


def _may_be_tested(score: Score, min_answers: int) -> bool:
    """Whether to test the worker; one who was unblocked is tested only after `min_answers` further scored answers."""
    return not score.blocked and (score.pardoned_at is None or score.scored_answers >= score.pardoned_at + min_answers)
