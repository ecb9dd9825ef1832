"""What a requirement leads to when workers' accuracy is known as a distribution: labels, items resolved, accuracy."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.belief import NOBODY, ItemContext, State
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior
from app.policy.requirements import AnyRequirement
from app.policy.worker_models import Anonymous


class StoppingOutcome(NamedTuple):
    """What to expect of an item."""

    labels: float  # that it gets
    resolved: float  # how likely it gets an answer that is good enough
    accuracy: float  # how likely that answer is right; 0 where no item is resolved

    @property
    def answers_per_resolved_item(self) -> float:
        """Labels for each item that is resolved."""
        return self.labels / self.resolved if self.resolved else np.inf


@dataclass(frozen=True)
class Limits:
    """When an item is given up, and how many labels it gets at least. One of the two limits must be set."""

    min_labels: int = 1
    max_labels: int | None = None
    max_votes_per_label: int | None = 14

    @property
    def most_votes(self) -> int:
        """The most votes that one label of an item may have."""
        return min(each for each in (self.max_labels, self.max_votes_per_label) if each is not None)

    @property
    def most_labels(self) -> int:
        """The most labels that an item may have, with two classes."""
        by_votes = np.inf if self.max_votes_per_label is None else 2 * self.max_votes_per_label - 1
        return int(min(by_votes, np.inf if self.max_labels is None else self.max_labels))

    def engine(self, requirement: AnyRequirement) -> Engine:
        """The service's decisions under these limits; the limits are not checked."""
        policy = JobPolicy.model_construct(
            labels=("a", "b"),
            requirement=requirement,
            worker_model=Anonymous(),
            min_labels=self.min_labels,
            max_labels=self.max_labels,
            max_votes_per_label=self.max_votes_per_label,
        )
        return Engine(policy)

    @cached_property
    def vote_counts(self) -> IntArray:
        """All votes (first, second), first >= second, that an item may have, shape (vote counts, 2)."""
        first, second = np.indices((self.most_votes + 1, self.most_votes + 1)).reshape(2, -1)
        possible = (first >= second) & (first + second <= self.most_labels)
        return np.stack([first[possible], second[possible]], axis=1).astype(np.int64)


def stopping_outcomes(
    requirements: Sequence[AnyRequirement], limits: Limits, prior: Prior, cost: float = 1.0
) -> list[StoppingOutcome]:
    """The exact outcome of each requirement where an answer costs `cost`, by the Markov chain of an item's votes.

    From x right and y wrong answers the next is right with (a + x) / (a + b + x + y), under the prior Beta(a, b) of how
    often workers are right on an item (Gao et al., SIGMOD 2013, section 4). The engine says where the
    chain ends, so that the plan and the service agree. It covers two classes and votes without names.

    >>> from app.policy.requirements import Count
    >>> found = stopping_outcomes([Count(labels=1), Count(labels=2)], Limits(), Prior(6, 2))
    >>> [(each.labels, round(each.resolved, 4), each.accuracy) for each in found]
    [(1.0, 1.0, 0.75), (2.0, 0.6667, 0.875)]
    """
    closed, good = _endings(requirements, limits, cost)
    right, wrong, labels = np.zeros((3, len(requirements)))
    chance = np.ones((len(requirements), 1))  # of 0 .. total right answers
    for total in range(limits.most_labels + 1):
        x = np.arange(total + 1)
        seen = np.maximum(x, total - x) <= limits.most_votes  # beyond, nothing is reached
        first, second = np.maximum(x, total - x)[seen], np.minimum(x, total - x)[seen]
        ended, resolved = np.zeros((2, *chance.shape), dtype=bool)
        ended[:, seen], resolved[:, seen] = closed[:, first, second], good[:, first, second]
        labels += total * (chance * ended).sum(axis=1)
        right += (chance * resolved)[:, 2 * x > total].sum(axis=1)
        wrong += (chance * resolved)[:, 2 * x < total].sum(axis=1)
        going_on = np.where(ended, 0.0, chance)
        next_right = (prior.a + x) / (prior.a + prior.b + total)
        chance = np.pad(going_on * next_right, ((0, 0), (1, 0))) + np.pad(going_on * (1 - next_right), ((0, 0), (0, 1)))
    accuracy = np.divide(right, right + wrong, out=np.zeros_like(right), where=right + wrong > 0)
    return [StoppingOutcome(*map(float, each)) for each in zip(labels, right + wrong, accuracy, strict=True)]


def _endings(requirements: Sequence[AnyRequirement], limits: Limits, cost: float) -> tuple[Mask, Mask]:
    """Where an item closes, and where it does so with an answer, by requirement and votes, first >= second."""
    vote_counts = limits.vote_counts
    context = replace(ItemContext.plain(len(vote_counts)), cost=np.full(len(vote_counts), cost))
    state = State(vote_counts.astype(np.float64), np.empty((len(vote_counts), 0)))
    closed, good = np.zeros((2, len(requirements), limits.most_votes + 1, limits.most_votes + 1), dtype=bool)
    for number, requirement in enumerate(requirements):
        engine = limits.engine(requirement)
        ending = engine.ending(engine.lookahead(state, context))
        closed[(number, *vote_counts.T)] = ending.closed
        good[(number, *vote_counts.T)] = ending.winner != NOBODY
    return closed, good


def label_curve(found: Sequence[StoppingOutcome]) -> Array:
    """Labels per item and accuracy of the outcomes that no other beats in both, ordered by labels; (points, 2)."""
    best: list[tuple[float, float]] = []
    for each in sorted(found, key=lambda outcome: (outcome.labels, -outcome.accuracy)):
        if not best or each.accuracy > best[-1][1]:
            best.append((each.labels, each.accuracy))
    return np.array(best).reshape(-1, 2)
