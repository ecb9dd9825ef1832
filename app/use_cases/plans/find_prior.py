"""Find the prior (how hard the questions are) from a distribution, a pilot, or a job's answers."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncEngine

from app.errors import InvalidInput, JobUnknown, shortened
from app.policy.planning.cost_sensitive import Prior
from app.policy.planning.difficulty import (
    Difficulty,
    DifficultyVotes,
    NoBetterThanGuessing,
    TooFewVotes,
    estimated,
)
from app.use_cases.plans.plan_threads import in_plan_thread
from app.use_cases.plans.read_difficulty import read_votes

PilotVote = tuple[str, str | None, str]  # item, worker, label


@dataclass(frozen=True)
class BetaSource:
    """A distribution that the caller knows."""

    a: float
    b: float


@dataclass(frozen=True)
class PilotSource:
    """A pilot: the votes per item and class, or the answers one by one."""

    votes: Sequence[Sequence[int]] | None
    answers: Sequence[PilotVote] | None


@dataclass(frozen=True)
class JobSource:
    """The answers of a job."""

    job_id: UUID


PriorSource = BetaSource | PilotSource | JobSource


@dataclass(frozen=True)
class FoundPrior:
    """A prior, and the estimate behind it unless the caller gave the prior."""

    prior: Prior
    source: Literal["beta", "pilot", "job"]
    estimate: Difficulty | None = None


async def find_prior(database: AsyncEngine, source: PriorSource, at: str = "#/prior") -> FoundPrior:
    """Return the given prior, or estimate it from answers; `at` is its JSON pointer in the request, for messages."""
    if isinstance(source, BetaSource):
        return FoundPrior(Prior(source.a, source.b), "beta")
    if isinstance(source, JobSource):
        where = f"{at}/job"
        return await _estimate(await _votes_of_job(database, source.job_id, where), where, "job")
    if source.votes is not None:
        return await _estimate(await in_plan_thread(_votes_of, source.votes), f"{at}/votes", "pilot")
    where = f"{at}/answers"
    return await _estimate(await in_plan_thread(_votes_of_answers, source.answers or [], where), where, "pilot")


async def _estimate(votes: DifficultyVotes, where: str, source: Literal["pilot", "job"]) -> FoundPrior:
    try:
        found = await in_plan_thread(estimated, votes)
    except TooFewVotes as error:
        raise InvalidInput.at(where, f"Too few answers to estimate how hard the questions are. {error}") from None
    except NoBetterThanGuessing as error:
        raise InvalidInput.at(where, f"These votes look like guesses, so no prior can be estimated. {error}") from None
    return FoundPrior(found.prior, source, found)


async def _votes_of_job(database: AsyncEngine, job_id: UUID, where: str) -> DifficultyVotes:
    try:
        return await read_votes(database, job_id)
    except JobUnknown:
        raise InvalidInput.at(where, f"There is no job {job_id}. GET /v1/jobs lists all jobs") from None


def _votes_of(items: Iterable[Sequence[int]]) -> DifficultyVotes:
    two = [sorted(votes, reverse=True)[:2] for votes in items]
    first, second = np.array([[*votes, 0][:2] for votes in two], dtype=np.int64).reshape(-1, 2).T
    return DifficultyVotes.of(first, second)


def _votes_of_answers(answers: Sequence[PilotVote], where: str) -> DifficultyVotes:
    return _votes_of(_counted(answers, where))


def _counted(answers: Sequence[PilotVote], where: str) -> list[list[int]]:
    """Count the votes per item and label; raises if a worker answers an item twice."""
    seen: set[tuple[str, str]] = set()
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place, (item, worker, label) in enumerate(answers):
        if worker is not None:
            if (item, worker) in seen:
                message = f"{shortened(worker)} has already answered {shortened(item)}; only one answer is allowed"
                raise InvalidInput.at(f"{where}/{place}", message)
            seen.add((item, worker))
        votes[item][label] += 1
    return [list(labels.values()) for labels in votes.values()]
