"""A job's whole history as arrays: millions of answers, without an object for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from app.domain.job import Job
from app.policy.aggregation import Ballots
from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.opinions import Opinions
from app.policy.quality.item_features import FEATURES, PRIORS, ItemFeatures
from app.store.driver import copied, fetch
from app.store.jobs import load_job

_ONE_MOMENT = text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
_CROWD = (
    "SELECT worker, skill, carried, stated_accuracy, stated_weight, price FROM worker WHERE job_id = $1 ORDER BY worker"
)
# Workers by their position in `_CROWD`, from 1; 0 is an unnamed worker.
_BALLOTS = """
    SELECT a.item_id, coalesce(w.place, 0)::integer, {said}
    FROM answer a
    LEFT JOIN (SELECT worker, row_number() OVER (ORDER BY worker) AS place FROM worker WHERE job_id = $1) AS w
        ON w.worker = a.worker
    WHERE a.job_id = $1 AND a.answer_id > $2 AND a.answer_id <= $3 AND a.counted AND NOT a.withheld
    ORDER BY a.answer_id"""
_TIERS = """
    SELECT tier FROM answer WHERE job_id = $1 AND answer_id <= $2 AND counted AND NOT withheld ORDER BY answer_id"""
# Gold that the crowd made is left out: a fit that took it as truth would confirm itself.
_GOLD = "SELECT item_id, gold FROM item WHERE job_id = $1 AND gold IS NOT NULL AND NOT promoted"
_GOLD_VALUES = "SELECT item_id, gold_value FROM item WHERE job_id = $1 AND gold_value IS NOT NULL"
# What the latest audit of an item found.
_AUDITED = """
    SELECT DISTINCT ON (item_id) item_id, answer FROM audit_item WHERE job_id = $1 AND answer IS NOT NULL
    ORDER BY item_id, audit_id DESC"""
_FEATURES = """
    SELECT item_id, features FROM item
    WHERE job_id = $1 AND item_id > $2 AND item_id <= $3 AND features IS NOT NULL"""
_NUMBERS_AT_ONCE = 100_000  # of features: more would hold up the event loop
_PRIORS = "SELECT item_id, prior FROM item WHERE job_id = $1 AND prior IS NOT NULL"

# Each unnamed answer counts as a separate worker: two of them may come from different people.
_WHO_ANSWERED = """
    SELECT (
        SELECT count(*) FROM worker w
        WHERE w.job_id = $1 AND EXISTS (SELECT FROM answer a WHERE a.job_id = $1 AND a.worker = w.worker)
    ) + (SELECT count(*) FROM answer WHERE job_id = $1 AND worker IS NULL) AS workers"""

# Postgres's binary COPY format: a header, rows of (number of fields, then length and value of each), two final bytes.
_HEADER, _TRAILER = 19, 2
_ROW = np.dtype(
    [
        ("fields", ">i2"),
        ("_1", ">i4"),
        ("item", ">i8"),
        ("_2", ">i4"),
        ("worker", ">i4"),
        ("_3", ">i4"),
        ("label", ">i8"),
    ]
)
_NUMBERS = np.dtype([*_ROW.descr[:-1], ("label", ">f8")])


@dataclass(frozen=True)
class HistoryVotes:
    """Counted answers in the order of commit."""

    item: Index  # (answers,) position in the job, from 0
    # (answers,) position in the crowd; each answer that is unnamed, or came with a tier, has one of its own after it
    worker: Index
    tiers: Mapping[int, str]  # with which the answers of these positions came
    said: npt.NDArray[Any]  # (answers,) what each says: whole numbers, or floats where answers are numbers


@dataclass(frozen=True)
class History:
    """The input of a fit of all answers, as of one moment.

    Arrays have a row for every item number that the job has used: the row of a deleted item is that of an item without
    answers.
    """

    job: Job
    crowd: Sequence[str]  # names, in the order of their positions
    skills: Sequence[Sequence[float] | None]
    carried: Sequence[Sequence[float] | None]
    stated: Array  # (workers, 2) accuracy and weight as a requester states them, NaN where nothing is stated
    price: Array  # (workers,) in units of the item's cost
    votes: HistoryVotes
    gold: IntArray  # (last item,) -1 where it is not known
    gold_value: Array | None  # (last item,) where answers are numbers; NaN where it is not known
    audited: IntArray  # (last item,) the label that an audit found, -1 where none did
    prior: Array | None  # (last item, classes), NaN for items without a prior; None if no item has one
    features: Array | None  # (last item, features), NaN for items without; None if no item has any, or nobody uses them


def ballots_of(history: History) -> Ballots:
    """Convert the history's answers, and the priors as opinions of their source, to the form that fits take."""
    votes = history.votes
    ballots = history.job.policy.ballots(
        votes.item,
        votes.worker,
        votes.said,
        items=history.job.last_item,
        workers=max(len(history.crowd), int(votes.worker.max(initial=-1)) + 1),
        gold=history.gold,
    )
    source = _counted_source(history, PRIORS)
    if source is None or history.prior is None:
        return ballots
    return ballots.with_opinions(Opinions.of(history.prior, source))


def features_of(history: History) -> ItemFeatures | None:
    """The features of the items and their source; None if there are none, or if they do not count."""
    source = _counted_source(history, FEATURES)
    return None if source is None or history.features is None else ItemFeatures(history.features, source)


def _counted_source(history: History, place: int) -> int | None:
    """The position of this source of opinions in the crowd; None if it is not there, or if it does not count."""
    sources, crowd = history.job.policy.sources, history.crowd
    if place >= len(sources) or history.job.source(place).blocked or sources[place] not in crowd:
        return None
    return crowd.index(sources[place])


async def use_one_snapshot(connection: AsyncConnection) -> None:
    """Make the transaction read-only, with one snapshot for all its statements."""
    await connection.execute(_ONE_MOMENT)


async def read_history(connection: AsyncConnection, job_id: UUID) -> History:
    """Read all counted answers of a job, with its workers, gold and priors, in one transaction."""
    async with connection.begin():
        await use_one_snapshot(connection)
        job = await load_job(connection, job_id)
        crowd = await fetch(connection, _CROWD, job_id)
        return History(
            job=job,
            crowd=[row["worker"] for row in crowd],
            skills=[row["skill"] for row in crowd],
            carried=[row["carried"] for row in crowd],
            stated=stated_rows([(row["stated_accuracy"], row["stated_weight"]) for row in crowd]),
            price=np.array([float(row["price"]) for row in crowd]),
            votes=await _votes(connection, job, len(crowd)),
            gold=await _known_labels(connection, job, _GOLD),
            gold_value=await _known_values(connection, job) if job.policy.answer.field == "value" else None,
            audited=await _known_labels(connection, job, _AUDITED),
            prior=await _priors(connection, job),
            features=await _features(connection, job),
        )


def stated_rows(stated: Sequence[tuple[float | None, float | None]]) -> Array:
    """What a requester states about each worker, (workers, 2): accuracy and weight, NaN where nothing is stated."""
    return np.array(stated, dtype=np.float64).reshape(-1, 2)


async def count_who_answered(connection: AsyncConnection, job_id: UUID) -> int:
    """Count the workers who answered; each unnamed answer counts as one worker."""
    found: int = (await fetch(connection, _WHO_ANSWERED, job_id))[0]["workers"]
    return found


async def _votes(connection: AsyncConnection, job: Job, crowd: int) -> HistoryVotes:
    are_numbers = job.policy.answer.field == "value"
    query = _BALLOTS.format(said="a.value" if are_numbers else "a.label")
    ballots = memoryview(await copied(connection, query, job.job_id, 0, job.answers, layout="binary"))
    rows = np.frombuffer(ballots[_HEADER:-_TRAILER], dtype=_NUMBERS if are_numbers else _ROW)
    worker = rows["worker"].astype(np.intp) - 1
    tier = await _tiers(connection, job)
    alone = worker < 0 if tier is None else (worker < 0) | (tier != None)  # noqa: E711  an array
    unnamed = np.flatnonzero(alone)
    worker[unnamed] = crowd + np.arange(len(unnamed))
    tiers = {} if tier is None else {int(worker[row]): tier[row] for row in unnamed if tier[row] is not None}
    said = rows["label"].astype(np.float64 if are_numbers else np.intp)
    return HistoryVotes(rows["item"].astype(np.intp) - 1, worker, tiers, said)


async def _tiers(connection: AsyncConnection, job: Job) -> npt.NDArray[Any] | None:
    """Return with which tier each counted answer came, None where with none; None for a job without tiers."""
    if not job.policy.worker_model.tier_names:
        return None
    found = await fetch(connection, _TIERS, job.job_id, job.answers)
    tiers = np.empty(len(found), dtype=object)
    tiers[:] = [row["tier"] for row in found]
    return tiers


async def _known_labels(connection: AsyncConnection, job: Job, query: str) -> IntArray:
    """Return the labels that the query finds, by item number; -1 where it finds none."""
    known = np.full(job.last_item, -1, dtype=np.int64)
    for item_id, label in await fetch(connection, query, job.job_id):
        known[item_id - 1] = label
    return known


async def _known_values(connection: AsyncConnection, job: Job) -> Array:
    known = np.full(job.last_item, np.nan)
    for item_id, value in await fetch(connection, _GOLD_VALUES, job.job_id):
        known[item_id - 1] = value
    return known


async def _priors(connection: AsyncConnection, job: Job) -> Array | None:
    found = await fetch(connection, _PRIORS, job.job_id)
    if not found:
        return None
    prior = np.full((job.last_item, len(job.policy.labels)), np.nan)
    for row in found:
        prior[row["item_id"] - 1] = row["prior"]
    return prior


async def _features(connection: AsyncConnection, job: Job) -> Array | None:
    if job.policy.features is None or job.feature_length is None:
        return None
    features = np.full((job.last_item, job.feature_length), np.nan)
    step = max(_NUMBERS_AT_ONCE // job.feature_length, 1)
    for start in range(0, job.last_item, step):
        for row in await fetch(connection, _FEATURES, job.job_id, start, start + step):
            features[row["item_id"] - 1] = row["features"]
    return features
