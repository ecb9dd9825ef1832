"""Score runs of a job against the truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.policy.aggregation import Aggregation, ByModel, Majority
from app.policy.core.ballots import Ballots, first_choice
from app.policy.core.belief import NOBODY, Array, IntArray
from app.simulation.recorded_crowd import UNKNOWN, RecordedAnswers


class RunState(NamedTuple):
    """One run at one moment."""

    labels: int  # bought
    label: IntArray  # (items,) of resolved items; -1: there is none
    scores: Array  # (items, classes) how strongly the answers support each class


@dataclass(frozen=True)
class Scores:
    """What all runs of a policy have reached at one budget; every array is (runs,)."""

    labels: Array  # bought
    accuracy: Array  # of all items with known truth: k classes that tie count 1/k, no answer 1/K; nan without truth
    resolved: Array  # items
    resolved_accuracy: Array  # of resolved items; nan if there are none

    @classmethod
    def of(cls, crowd: RecordedAnswers, runs: Sequence[RunState]) -> "Scores":
        columns = zip(*(_figures(crowd, run) for run in runs), strict=True)
        return cls(*(np.array(column, dtype=np.float64) for column in columns))

    @classmethod
    def joined(cls, parts: Sequence["Scores"]) -> "Scores":
        """The runs of several crowds as runs of one."""
        columns = zip(*((p.labels, p.accuracy, p.resolved, p.resolved_accuracy) for p in parts), strict=True)
        return cls(*map(np.concatenate, columns))


def _figures(crowd: RecordedAnswers, run: RunState) -> tuple[float, float, float, float]:
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
    posterior: Callable[[], Array],
    ballots: Callable[[], Ballots],
) -> Array:
    """How strongly the answers support each class, as in the service's results; shape (items, classes).

    An item without answers supports all classes equally. A resolved item has the label of its decision, unless the
    aggregation is fitted to all answers.
    """
    classes = votes.shape[1]
    if not isinstance(aggregation, Majority | ByModel):
        fitted = aggregation.fit(ballots())
        return np.where(fitted.informed[:, None], fitted.posterior, 1 / classes)
    scores = votes if isinstance(aggregation, Majority) else posterior()
    supported = np.where((label == NOBODY)[:, None], scores, label[:, None] == np.arange(classes))
    return np.where(votes.any(axis=1, keepdims=True), supported, 1 / classes)
