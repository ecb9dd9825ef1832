"""Turn answers into labels, page by page, with no connection held between the pages."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain import ItemState
from app.policy.aggregation import AnyAggregation, ByModel, Majority
from app.policy.belief import Array, Belief, State
from app.policy.shares import NOBODY, Index
from app.store.jobs import Job, load_job
from app.store.outcomes import Outcome, page_of_outcomes
from app.use_cases.fit_answers import Fits
from app.use_cases.standing import Known, facts_of

ROWS = 2000  # at a time, where all are wanted: a few milliseconds of the event loop, less than a megabyte

Votes: TypeAlias = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Results:
    """Results column by column, for a million of them pass through; entry i of every column is item i."""

    items: Sequence[str]
    labels: Sequence[str | None]
    confidences: Sequence[float]
    states: Sequence[str]
    votes: Votes  # (items, classes)
    codes: Sequence[str]
    messages: Sequence[str]


@dataclass(frozen=True)
class Page:
    results: Results
    next_after: int | None  # where the next page starts; None on the last one


@dataclass(frozen=True)
class Fitted:
    """What an aggregation says of every item of the job."""

    labels: Index  # (items,)
    chances: Array  # (items, classes)


@dataclass(frozen=True)
class ResultSet:
    """A job's results, cut at the items that it had when the reading began.

    Pages are read one by one, each as the items then stand: together they are no snapshot, but a reader may take
    as long as it likes and hold nothing of the database.
    """

    database: AsyncEngine
    job: Job
    state: ItemState | None
    fitted: Fitted | None  # None: the item itself tells all that its label needs
    believed: bool  # by what the worker model believes, not by the votes
    as_told: bool  # a resolved item keeps the label that its verdict gave, which may know more than the votes

    async def page(self, after: int, most: int) -> Page:
        async with self.database.connect() as connection:
            found = await page_of_outcomes(
                connection,
                self.job.job_id,
                state=self.state,
                after=after,
                until=self.job.items,
                most=most + 1,
                with_evidence=self.believed,
            )
            if len(found) < min(most, self.job.items - after):
                await load_job(connection, self.job.job_id)  # the set of a job that is gone did not end, it broke off
        return await asyncio.to_thread(self._page, found, most)

    async def pages(self, after: int, most: int | None) -> AsyncIterator[Results]:
        """All results behind `after`, or the first so many of them: at least one page, be it empty."""
        left = self.job.items if most is None else most
        following: int | None = after
        while following is not None:
            page = await self.page(following, min(left, ROWS))
            yield page.results
            left -= len(page.results.items)
            following = page.next_after if left > 0 else None

    def _page(self, found: Sequence[Outcome], most: int) -> Page:
        outcomes = found[:most]
        following = outcomes[-1][0] if len(found) > most and outcomes else None
        return Page(self._labeled(outcomes), following)

    def _labeled(self, outcomes: Sequence[Outcome]) -> Results:
        columns = zip(*outcomes, strict=True) if outcomes else ((),) * len(Outcome._fields)
        numbers, keys, states, counts, verdicts, confidences, codes, messages, _, _ = columns
        votes = [tuple(row) for row in counts]
        if self.fitted:
            labels, chances = self._by_fit(numbers, votes)
        elif self.believed:
            labels, chances = by_belief(self.job, outcomes)
        else:
            labels, chances = by_votes(votes, len(self.job.rules.labels))
        if self.as_told:
            pairs = list(zip(verdicts, labels, chances, confidences, strict=True))
            labels = [label if verdict is None else verdict for verdict, label, _, _ in pairs]
            chances = [chance if verdict is None else told for verdict, _, chance, told in pairs]
        names = (*self.job.rules.labels, None)  # NOBODY is the last
        return Results(keys, [names[label] for label in labels], chances, states, votes, codes, messages)

    def _by_fit(self, numbers: Sequence[int], votes: Votes) -> tuple[list[int], list[float]]:
        assert self.fitted is not None  # noqa: S101  as the caller knows
        rows = np.asarray(numbers, dtype=np.intp) - 1
        labels, chances = self.fitted.labels[rows], self.fitted.chances[rows]
        return labels.tolist(), _confidences(labels, chances, np.asarray(votes).reshape(chances.shape)).tolist()


async def open_results(
    database: AsyncEngine,
    fits: Fits,
    job_id: UUID,
    *,
    aggregation: AnyAggregation | None,
    state: ItemState | None,
) -> ResultSet:
    """Results by the job's own aggregation unless another is asked for; what needs a fit is fitted here, once."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
    chosen = aggregation or job.rules.aggregation
    if isinstance(chosen, Majority | ByModel) or not job.items:
        believed = isinstance(chosen, ByModel)
        return ResultSet(database, job, state, None, believed=believed, as_told=aggregation is None or believed)
    consensus = await fits.consensus(database, job, chosen)
    labels = await asyncio.to_thread(consensus.labels)
    return ResultSet(database, job, state, Fitted(labels, consensus.posterior), believed=False, as_told=False)


def by_belief(job: Job, outcomes: Sequence[Outcome]) -> tuple[list[int], list[float]]:
    """The label of each item, or NOBODY, and how likely it is, as the worker model sees it; nothing without votes."""
    labels, chances = [NOBODY] * len(outcomes), [1 / len(job.rules.labels)] * len(outcomes)
    rows: defaultdict[int, list[int]] = defaultdict(list)
    outcomes = [Outcome(*columns) for columns in outcomes]  # the driver's records know positions only
    for row, outcome in enumerate(outcomes):
        if any(outcome.votes):
            rows[len(outcome.evidence or ())].append(row)
    for alike in rows.values():  # a model may keep so much per answer, and only rows of one length make an array
        belief = _belief(job, [outcomes[row] for row in alike])
        for row, label, chance in zip(alike, belief.winner.tolist(), belief.certainty.tolist(), strict=True):
            labels[row], chances[row] = label, chance
    return labels, chances


def _belief(job: Job, outcomes: Sequence[Outcome]) -> Belief:
    state = State(
        np.array([outcome.votes for outcome in outcomes], dtype=np.float64),
        np.array([outcome.evidence for outcome in outcomes], dtype=np.float64),
    )
    known = [Known(outcome.item_id, Decimal(1), outcome.prior) for outcome in outcomes]
    return job.engine.prospect(state, facts_of(job.engine, known)).now


def by_votes(votes: Votes, classes: int) -> tuple[list[int], list[float]]:
    """The label of each item, or NOBODY, and how likely it is; of equal votes, and most are equal, once.

    >>> by_votes([(3, 0), (1, 1), (3, 0), (0, 0)], 2)
    ([0, -1, 0, -1], [0.9375, 0.5, 0.9375, 0.5])
    """
    if not votes:
        return [], []
    place = {row: number for number, row in enumerate(dict.fromkeys(votes))}
    belief = Belief.of(np.array(list(place)).reshape(-1, classes))
    labels = Majority().labels(belief)
    confidences = _confidences(labels, belief.posterior, belief.votes)
    rows = [place[row] for row in votes]
    return labels[rows].tolist(), confidences[rows].tolist()


def _confidences(labels: Index, chances: Array, votes: npt.NDArray[np.generic]) -> Array:
    """How likely each label is right; without any vote, no better than a guess."""
    of_label = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
    of_nobody = np.where(votes.any(axis=1), chances.max(axis=1), 1 / chances.shape[1])
    return np.where(labels == NOBODY, of_nobody, of_label)
