"""Tell how a running job will end, from a sample of its items and all that their answers have taught."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import numpy as np
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain import ItemState
from app.lab.forecast import (
    LEVEL,
    THOROUGH,
    Forecast,
    Totals,
    bounded_by_answers,
    bounded_by_workers,
    forecast_in,
    most_labels,
    possible_worlds,
    sizes,
    width_of,
)
from app.lab.rehearsal import Standing
from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Facts, IntArray, State
from app.policy.engine import Engine
from app.policy.shares import NOBODY
from app.store.answers import Vote, votes_on_items_since
from app.store.history import hold_still
from app.store.jobs import Job, load_job
from app.store.standings import Place, places_of
from app.store.workers import Worker, load_workers
from app.use_cases.skills import skill_rows
from app.use_cases.standing import Known, facts_of
from app.use_cases.workshop import Workshop

Report = Callable[[float], Awaitable[None]]

_READ, _IMAGINED = 0.1, 0.6  # of the way


@dataclass(frozen=True)
class Sample:
    """A job as it stands at one moment, with some of its items, or all."""

    engine: Engine
    facts: Facts
    standing: Standing
    totals: Totals
    runs: int
    seed: int


async def forecast_job(
    connection: AsyncConnection, workshop: Workshop, job_id: UUID, report: Report
) -> tuple[Forecast, int] | None:
    """The forecast, and the answers that it was made from; None where there is nothing to foretell."""
    async with connection.begin():
        await hold_still(connection)
        sample = await _read(connection, job_id)
    if sample is None:
        return None
    await report(_READ)
    worlds = await workshop.apart(possible_worlds, sample.facts, sample.standing, sample.runs, sample.seed)
    await report(_IMAGINED)
    found = await workshop.apart(
        forecast_in, worlds, sample.engine, sample.facts, sample.standing, sample.totals, sample.seed
    )
    return found, sample.totals.answers


def in_short(forecast: Forecast, at_answers: int, made_at: datetime) -> dict[str, Any]:
    """What is kept with the job: where it ends, without the curve."""
    return {
        "made_at": made_at.isoformat(),
        "at_answers": at_answers,
        "level": LEVEL,
        "items": forecast.items,
        "runs": forecast.runs,
        "sample": forecast.sample,
        "cut_off": forecast.cut_off,
        **asdict(forecast.end),
    }


async def _read(connection: AsyncConnection, job_id: UUID) -> Sample | None:
    job = await load_job(connection, job_id)
    if not job.items:
        return None
    width = width_of(job.engine)
    runs, size = sizes(job.items, THOROUGH, width, most_labels(job.rules))
    drawn = np.random.default_rng([job.rules.seed, job.answers]).choice(job.items, size, replace=False) + 1
    place_of = {place.item_id: place for place in await places_of(connection, job_id, drawn.tolist())}
    answers = np.array([round(sum(place_of[item].standing.votes)) for item in drawn.tolist()])
    runs, size = bounded_by_answers(answers, runs)
    votes = await votes_on_items_since(connection, job_id, drawn[:size].tolist(), 0)
    runs, size = bounded_by_workers(_first_seen(drawn[:size].tolist(), votes), runs, width)
    chosen = np.sort(drawn[:size]).tolist()
    kept = set(chosen)
    places, votes = [place_of[item] for item in chosen], [vote for vote in votes if vote.item_id in kept]
    names = sorted({vote.worker for vote in votes if vote.worker is not None})
    workers = await load_workers(connection, job_id, names)
    return Sample(
        engine=job.engine,
        facts=facts_of(job.engine, [Known.of(place) for place in places]),
        standing=_standing(job, places, votes, [(name, workers[name]) for name in names]),
        totals=Totals(job.items, job.resolved, job.given_up, job.answers, float(job.spent)),
        runs=runs,
        seed=job.answers,
    )


def _first_seen(items: Sequence[int], votes: Sequence[Vote]) -> IntArray:
    """How many workers answered each of these items and none before it, in their order; the unnamed are all new."""
    who: dict[int, list[str | None]] = {item: [] for item in items}
    for vote in votes:
        who[vote.item_id].append(vote.worker)
    seen: set[str] = set()
    counts = []
    for item in items:
        named = {worker for worker in who[item] if worker is not None}
        counts.append(len(named - seen) + who[item].count(None))
        seen |= named
    return np.array(counts)


def _standing(
    job: Job, places: Sequence[Place], votes: Sequence[Vote], workers: Sequence[tuple[str, Worker]]
) -> Standing:
    labels = [place.standing.label for place in places]
    unnamed = sum(vote.worker is None for vote in votes)
    prior = skill_rows(job.engine, [worker.carried for _, worker in workers], len(workers) + unnamed)
    return Standing(
        answers=_ballots(job, places, votes, [name for name, _ in workers], unnamed),
        state=_state(places),
        label=np.array([NOBODY if label is None else label for label in labels]),
        closed=np.array([place.standing.state is not ItemState.OPEN for place in places]),
        skill=skill_rows(job.engine, [worker.skill for _, worker in workers], len(prior), prior),
        prior=prior,
        price=np.array([float(worker.price) for _, worker in workers] + [1.0] * unnamed),
        unwanted=np.array([not worker.is_welcome for _, worker in workers] + [False] * unnamed, dtype=bool),
        given=job.answers,
        refit_at=job.refit_at,
    )


def _ballots(job: Job, places: Sequence[Place], votes: Sequence[Vote], names: Sequence[str], unnamed: int) -> Ballots:
    """Nobody knows whether two unnamed answers are of one person, so each is a worker of its own."""
    row = {place.item_id: number for number, place in enumerate(places)}
    who = {name: number for number, name in enumerate(names)}
    strangers = iter(range(len(names), len(names) + unnamed))
    return Ballots.of(
        [row[vote.item_id] for vote in votes],
        [next(strangers) if vote.worker is None else who[vote.worker] for vote in votes],
        [vote.label for vote in votes],
        items=len(places),
        workers=len(names) + unnamed,
        classes=len(job.rules.labels),
        gold=_gold(places),
    )


def _gold(places: Sequence[Place]) -> IntArray:
    """What the requester knows; what the crowd made gold is not known."""
    return np.array([NOBODY if place.gold is None or place.promoted else place.gold for place in places])


def _state(places: Sequence[Place]) -> State:
    """As wide as the widest, padded with NaN."""
    width = max(len(place.standing.evidence) for place in places)
    evidence: Array = np.full((len(places), width), np.nan)
    for number, place in enumerate(places):
        evidence[number, : len(place.standing.evidence)] = place.standing.evidence
    return State(np.array([place.standing.votes for place in places], dtype=np.float64), evidence)
