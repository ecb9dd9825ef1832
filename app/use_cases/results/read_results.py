"""Turn answers into labels, page by page, without a connection between the pages."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.item import SETTLED, ItemState
from app.domain.job import Job
from app.errors import InvalidInput
from app.policy.aggregation import AnyAggregation, ByModel, Consensus, Majority
from app.policy.core.belief import NOBODY, Array, Belief, Index, State
from app.store.jobs import load_job
from app.store.result_rows import ResultRow, page_of_result_rows
from app.use_cases.results.fit_answers import Fits
from app.use_cases.work.judging import ItemFacts, context_of, estimates

_DECIMALS = 6  # of a confidence, as on the wire
ROWS = 2000  # per page when all are read: a few milliseconds on the event loop, less than a megabyte

VoteRows: TypeAlias = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Results:
    """Results as columns, which is fast for millions; entry i of every column is item i."""

    items: Sequence[str]
    contents: Sequence[Any]  # a label, a list of labels, or value, low and high, as the answers are; None: no result
    confidences: Sequence[float]
    states: Sequence[str]
    votes: VoteRows  # (items, classes)
    codes: Sequence[str]
    messages: Sequence[str]


@dataclass(frozen=True)
class ResultPage:
    results: Results
    next_after: int | None  # where the next page starts; None on the last page


@dataclass(frozen=True)
class FittedResults:
    """The labels of all items of the job by an aggregation."""

    labels: Index  # (items,)
    chances: Array  # (items, classes); (items,) of the sets where an item is several questions


@dataclass(frozen=True)
class ResultSet:
    """A job's results, for the items that it had when the set was opened.

    Each page shows its items as of the moment when it is read. All pages together are not one snapshot, but a slow
    reader holds no connection and no transaction.
    """

    database: AsyncEngine
    job: Job
    state: ItemState | None
    fitted: FittedResults | None  # None if the label follows from the item's own row
    believed: bool  # use the worker model's belief instead of votes
    keep_decisions: bool  # a resolved item keeps its decided label, which may depend on more than votes

    async def page(self, after: int, most: int) -> ResultPage:
        """Load up to `most` results after `after`."""
        async with self.database.connect() as connection:
            found = await page_of_result_rows(
                connection,
                self.job.job_id,
                state=self.state,
                after=after,
                until=self.job.last_item,
                most=most + 1,
                with_model_state=self.believed,
            )
            if len(found) < min(most, self.job.last_item - after):
                await load_job(connection, self.job.job_id)  # raises if the job was deleted, which ends an export
        return await asyncio.to_thread(self._page, found, most)

    async def pages(self, after: int, most: int | None) -> AsyncIterator[Results]:
        """Yield at most `most` results after `after`; at least one page, which may be empty."""
        left = self.job.items if most is None else most
        following: int | None = after
        while following is not None:
            page = await self.page(following, min(left, ROWS))
            yield page.results
            left -= len(page.results.items)
            following = page.next_after if left > 0 else None

    def _page(self, found: Sequence[ResultRow], most: int) -> ResultPage:
        outcomes = found[:most]
        following = outcomes[-1][0] if len(found) > most and outcomes else None
        return ResultPage(self._labeled(outcomes), following)

    def _labeled(self, outcomes: Sequence[ResultRow]) -> Results:
        if self.job.policy.answer.field == "value":
            return self._estimated(outcomes)
        columns = zip(*outcomes, strict=True) if outcomes else ((),) * len(ResultRow._fields)
        numbers, keys, states, counts, decided, confidences, codes, messages, *_ = columns
        votes = [tuple(row) for row in counts]
        if self.fitted:
            labels, chances = self._by_fit(numbers, votes)
        elif self.believed:
            labels, chances = by_belief(self.job, outcomes)
        else:
            labels, chances = self._by_votes(votes)
        final = decided if self.keep_decisions else _settled(decided, codes)
        rows = list(zip(final, labels, chances, confidences, strict=True))
        labels = [label if kept is None else kept for kept, label, _, _ in rows]
        chances = [chance if kept is None else confidence for kept, _, chance, confidence in rows]
        shown = [round(chance, _DECIMALS) for chance in chances]
        named = [tuple(self.job.policy.answer.votes(row)) for row in votes]
        return Results(keys, self._contents(labels), shown, states, named, codes, messages)

    def _estimated(self, outcomes: Sequence[ResultRow]) -> Results:
        """Value, low and high of each item that has answers or whose number is known."""
        rows = [ResultRow(*columns) for columns in outcomes]
        known = [row for row in rows if any(row.votes) or row.label is not None]
        found = dict(zip([row.item_id for row in known], estimates(self.job.engine, known), strict=True))
        return Results(
            items=[row.key for row in rows],
            contents=[found.get(row.item_id) for row in rows],
            confidences=[round(row.confidence, _DECIMALS) for row in rows],
            states=[row.state for row in rows],
            votes=[()] * len(rows),
            codes=[row.code for row in rows],
            messages=[row.message for row in rows],
        )

    def _contents(self, labels: Sequence[int]) -> list[Any]:
        policy = self.job.policy
        if policy.answer.is_one_label:
            names = (*policy.labels, None)  # NOBODY is the last
            return [names[label] for label in labels]
        sets = {label: policy.answer.content(label, policy.labels) for label in set(labels) - {NOBODY}}
        return [sets.get(label) for label in labels]

    def _by_votes(self, votes: VoteRows) -> tuple[list[int], list[float]]:
        questions = self.job.policy.questions
        if questions is None:
            return by_votes(votes, len(self.job.policy.labels))
        each = np.asarray(votes, dtype=np.float64).reshape(-1, 2)
        belief, answered = Belief.of(each), questions.by_item(each).any(axis=(1, 2))
        ticked = questions.by_item((each[:, 1] > each[:, 0]).astype(np.int64))  # by more than half of the answers
        chances = questions.by_item(belief.certainty).prod(axis=1)
        return np.where(answered, questions.sets(ticked), NOBODY).tolist(), chances.tolist()

    def _by_fit(self, numbers: Sequence[int], votes: VoteRows) -> tuple[list[int], list[float]]:
        assert self.fitted is not None  # noqa: S101  the caller has checked
        rows = np.asarray(numbers, dtype=np.intp) - 1
        labels, chances = self.fitted.labels[rows], self.fitted.chances[rows]
        if chances.ndim == 1:
            return labels.tolist(), chances.tolist()
        return labels.tolist(), _confidences(labels, chances, np.asarray(votes).reshape(chances.shape)).tolist()


def _settled(labels: Sequence[int | None], codes: Sequence[str]) -> list[int | None]:
    """Return the labels that trusted workers gave: they are not a matter of aggregation."""
    return [label if code == SETTLED else None for label, code in zip(labels, codes, strict=True)]


async def open_results(
    database: AsyncEngine,
    fits: Fits,
    job_id: UUID,
    *,
    aggregation: AnyAggregation | None,
    state: ItemState | None,
) -> ResultSet:
    """Open results by the job's own aggregation or another one; a fit of all answers, if needed, happens here."""
    async with database.connect() as connection:
        job = await load_job(connection, job_id)
    if aggregation is not None:
        _refuse_other_answers(job, aggregation)
    chosen = aggregation or job.policy.aggregation
    if isinstance(chosen, Majority | ByModel) or not job.items:
        believed = isinstance(chosen, ByModel)
        return ResultSet(database, job, state, None, believed=believed, keep_decisions=aggregation is None or believed)
    consensus = await fits.consensus(database, job, chosen)
    fitted = await asyncio.to_thread(_fitted, job, consensus)
    return ResultSet(database, job, state, fitted, believed=False, keep_decisions=False)


def _refuse_other_answers(job: Job, aggregation: AnyAggregation) -> None:
    kind, takes = job.policy.answer.kind, aggregation.answer_kinds
    if kind not in takes:
        raise InvalidInput.at(
            "?aggregation",
            f"{aggregation.kind} takes jobs whose answers are {' or '.join(sorted(takes))}, not {kind}",
        )


def _fitted(job: Job, consensus: Consensus) -> FittedResults:
    questions, labels = job.policy.questions, consensus.labels()
    if questions is None:
        return FittedResults(labels, consensus.posterior)
    informed = questions.by_item(consensus.informed).all(axis=1)
    yes = questions.by_item((consensus.posterior[:, 1] > consensus.posterior[:, 0]).astype(np.int64))
    chances = questions.by_item(consensus.posterior.max(axis=1)).prod(axis=1)
    return FittedResults(np.where(informed, questions.sets(yes), NOBODY), chances)


def by_belief(job: Job, outcomes: Sequence[ResultRow]) -> tuple[list[int], list[float]]:
    """Return each item's label, or NOBODY, and its probability by the worker model.

    An item about which neither votes nor opinions say anything has no label.
    """
    labels, chances = [NOBODY] * len(outcomes), [job.policy.chance_of_guess] * len(outcomes)
    rows: defaultdict[int, list[int]] = defaultdict(list)
    outcomes = [ResultRow(*columns) for columns in outcomes]  # the driver's records have no attributes
    for row, outcome in enumerate(outcomes):
        if any(outcome.votes) or outcome.prior is not None or outcome.feature_opinion is not None:
            rows[len(outcome.model_state or ())].append(row)
    for alike in rows.values():  # a model may store something per answer, and an array needs rows of equal length
        belief = _belief(job, [outcomes[row] for row in alike])
        confidence, told = job.engine.confidence(belief), np.asarray(belief.votes.any(axis=1))
        if belief.context.prior is not None:  # opinions of sources that count
            told |= ~np.isnan(belief.context.prior[:, 0])
        for row, label, chance, said in zip(
            alike, belief.winner.tolist(), confidence.tolist(), told.tolist(), strict=True
        ):
            if said:
                labels[row], chances[row] = label, chance
    return labels, chances


def _belief(job: Job, outcomes: Sequence[ResultRow]) -> Belief:
    state = State(
        np.array([outcome.votes for outcome in outcomes], dtype=np.float64),
        np.array([outcome.model_state for outcome in outcomes], dtype=np.float64),
    )
    known = [ItemFacts(outcome.item_id, Decimal(1), (outcome.prior, outcome.feature_opinion)) for outcome in outcomes]
    return job.engine.lookahead(state, context_of(job.engine, known)).now


def by_votes(votes: VoteRows, classes: int) -> tuple[list[int], list[float]]:
    """Return each item's label, or NOBODY, and its probability by votes; equal votes are computed once.

    >>> by_votes([(3, 0), (1, 1), (3, 0), (0, 0)], 2)
    ([0, -1, 0, -1], [0.9375, 0.5, 0.9375, 0.5])
    """
    if not votes:
        return [], []
    position = {row: number for number, row in enumerate(dict.fromkeys(votes))}
    belief = Belief.of(np.array(list(position)).reshape(-1, classes))
    labels = Majority().labels(belief)
    confidences = _confidences(labels, belief.posterior, belief.votes)
    rows = [position[row] for row in votes]
    return labels[rows].tolist(), confidences[rows].tolist()


def _confidences(labels: Index, chances: Array, votes: npt.NDArray[np.generic]) -> Array:
    """Return the probability of each label; without votes, that of a guess."""
    of_label = np.take_along_axis(chances, labels[:, None], axis=1)[:, 0]
    of_no_label = np.where(votes.any(axis=1), chances.max(axis=1), 1 / chances.shape[1])
    return np.where(labels == NOBODY, of_no_label, of_label)
