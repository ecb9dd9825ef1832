"""How much of the truth the runs of a job know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.lab.recorded import UNKNOWN, Recorded
from app.policy.aggregation import Aggregation, ByModel, Majority
from app.policy.aggregation.ballots import Ballots, first_choice
from app.policy.belief import Array, IntArray
from app.policy.shares import NOBODY


class Run(NamedTuple):
    """Where one run stands."""

    labels: int  # bought
    label: IntArray  # (items,) of an item that is resolved; -1 where there is none
    scores: Array  # (items, classes) how much speaks for each class


@dataclass(frozen=True)
class Standing:
    """Where all runs of a policy stand at one budget; every array is (runs,)."""

    labels: Array  # bought
    accuracy: Array  # of all items with known truth: k classes that tie count 1/k, no answer 1/K; nan without truth
    resolved: Array  # items
    resolved_accuracy: Array  # of those; nan where there are none

    @classmethod
    def of(cls, crowd: Recorded, runs: Sequence[Run]) -> "Standing":
        columns = zip(*(_figures(crowd, run) for run in runs), strict=True)
        return cls(*(np.array(column, dtype=np.float64) for column in columns))

    @classmethod
    def joined(cls, parts: Sequence["Standing"]) -> "Standing":
        """The runs of several as the runs of one."""
        columns = zip(*((p.labels, p.accuracy, p.resolved, p.resolved_accuracy) for p in parts), strict=True)
        return cls(*map(np.concatenate, columns))


def _figures(crowd: Recorded, run: Run) -> tuple[float, float, float, float]:
    known, resolved = crowd.truth != UNKNOWN, run.label != NOBODY
    right = np.zeros(len(known))
    right[known] = first_choice(run.scores)[known, crowd.truth[known]]
    return run.labels, _mean(right[known]), resolved.sum(), _mean(right[known & resolved])


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan


def final_scores(
    aggregation: Aggregation,
    votes: Array,
    label: IntArray,
    believed: Callable[[], Array],
    ballots: Callable[[], Ballots],
) -> Array:
    """How much speaks for each class as the service's results see it, shape (items, classes); level without an answer.

    A resolved item keeps the label of its verdict, unless an aggregation is fitted to all answers.
    """
    classes = votes.shape[1]
    if not isinstance(aggregation, Majority | ByModel):
        fitted = aggregation.fit(ballots())
        return np.where(fitted.informed[:, None], fitted.posterior, 1 / classes)
    scores = votes if isinstance(aggregation, Majority) else believed()
    told = np.where((label == NOBODY)[:, None], scores, label[:, None] == np.arange(classes))
    return np.where(votes.any(axis=1, keepdims=True), told, 1 / classes)
