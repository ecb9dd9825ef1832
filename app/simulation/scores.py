"""Score runs of a job against the truth."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from app.policy.aggregation import ByModel, Majority
from app.policy.core.ballots import Ballots
from app.policy.core.belief import NOBODY, Array, Belief, IntArray
from app.policy.job_policy import JobPolicy
from app.simulation.recorded_crowd import RecordedAnswers


class RunState(NamedTuple):
    """One run at one moment."""

    labels: int  # bought
    label: IntArray  # (items,) of resolved items; -1: there is none
    scores: Array  # how strongly the answers support each result; see `final_scores`


@dataclass(frozen=True)
class Scores:
    """What all runs of a policy have reached at one budget; every array is (runs,)."""

    labels: Array  # bought
    accuracy: Array  # of all items with known truth: k classes that tie count 1/k, no answer 1/K; nan without truth
    resolved: Array  # items
    resolved_accuracy: Array  # of resolved items; nan if there are none
    errors: Mapping[str, Array] = field(default_factory=dict)  # what else the kind of the answers measures, by name

    @classmethod
    def of(cls, crowd: RecordedAnswers, runs: Sequence[RunState]) -> "Scores":
        found = [_figures(crowd, run) for run in runs]
        labels, accuracy, resolved, of_resolved = np.array([figures for figures, _ in found], dtype=np.float64).T
        return cls(labels, accuracy, resolved, of_resolved, _by_name([errors for _, errors in found]))

    @classmethod
    def joined(cls, parts: Sequence["Scores"]) -> "Scores":
        """The runs of several crowds as runs of one."""
        columns = zip(*((p.labels, p.accuracy, p.resolved, p.resolved_accuracy) for p in parts), strict=True)
        labels, accuracy, resolved, of_resolved = map(np.concatenate, columns)
        return cls(labels, accuracy, resolved, of_resolved, _by_name([part.errors for part in parts]))


def _by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, Array]:
    return {name: np.hstack([row[name] for row in rows]) for name in rows[0]}


def _figures(crowd: RecordedAnswers, run: RunState) -> tuple[tuple[float, ...], dict[str, float]]:
    known, resolved = crowd.known, run.label != NOBODY
    if not known.any():
        return (run.labels, np.nan, resolved.sum(), np.nan), {}
    questions, sides = len(run.scores) // len(known), run.scores.shape[1]
    scores, truth = run.scores.reshape(-1, questions, sides)[known].reshape(-1, sides), crowd.truth[known]
    right = crowd.answer.right(scores, truth)
    figures = run.labels, _mean(right), resolved.sum(), _mean(right[resolved[known]])
    return figures, crowd.answer.errors(scores, truth)


def _mean(values: Array) -> float:
    return float(values.mean()) if len(values) else np.nan


def final_scores(
    policy: JobPolicy,
    votes: Array,
    label: IntArray,
    belief: Callable[[], Belief],
    ballots: Callable[[], Ballots],
    opinions: Array | None = None,
) -> Array:
    """How strongly the answers support each result, as in the service's results.

    Shape (items, classes); where items are several questions, (questions, 2); where answers are numbers, the estimates,
    (items, 1). An item without answers supports all classes equally, unless `opinions`, (items, classes), say
    something: rows of NaN say nothing. By votes alone they never do. A resolved item has the label of its decision,
    unless the aggregation is fitted to all answers.
    """
    if policy.answer.field == "value":
        return policy.answer.scores(belief())
    aggregation, questions, classes = policy.aggregation, policy.questions, policy.classes
    if questions is not None:
        votes, label = votes.reshape(-1, classes), questions.known(label)
    if not isinstance(aggregation, Majority | ByModel):
        fitted = aggregation.fit(policy.on_questions(ballots()))
        return np.where(fitted.informed[:, None], fitted.posterior, 1 / classes)
    scores = votes if isinstance(aggregation, Majority) else policy.answer.scores(belief())
    supported = np.where((label == NOBODY)[:, None], scores, label[:, None] == np.arange(classes))
    told = np.asarray(votes.any(axis=1))
    if opinions is not None and isinstance(aggregation, ByModel):
        given = ~np.isnan(opinions[:, 0])
        told |= given if questions is None else questions.of(given)
    return np.where(told[:, None], supported, 1 / classes)
