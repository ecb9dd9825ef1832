"""Belief propagation between items and workers, for comparison: the service's fits are as right and faster."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.aggregation import Aggregation
from app.policy.aggregation.base import MaxIterations, pseudo_answers
from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, Consensus, sum_by


@dataclass(frozen=True)
class Messages:
    """What the workers send to the items."""

    odds: Array  # (answers,) of the answer, in logs
    iterations: int
    converged: bool


class BeliefPropagation(Aggregation):
    """Pass beliefs on the graph of answers, with a distribution over each worker's accuracy (Liu et al., NIPS 2012).

    With p_ij the probability that worker j's answer to item i is right by all other workers of i, x the accuracy of j,
    and y the items of j other than i, the message of j to i is

        E[ x prod_y q_y(x) ]  :  E[ (1 - x)/(K - 1) prod_y q_y(x) ],    q_y(x) = p_yj x + (1 - p_yj) (1 - x)/(K - 1),

    the odds of the answer, over x ~ Beta(a, b). P(i is c) is proportional to the product of the odds of the answers c
    to i. It is exact where the answers form a tree. The expectation is of a polynomial in x, so Gauss' quadrature finds
    what a sum over the number of right answers does. The messages start from p_ij = 1/K: the first round is a majority.
    A worker answers an item once.

    Two workers who agree on their only item, Beta(2, 1): odds of 2 each, 4 : 1 together.

    >>> BeliefPropagation().fit(Ballots.of([0, 0], [0, 1], [1, 1])).posterior.round(6).tolist()
    [[0.2, 0.8]]
    """

    kind: Literal["belief-propagation"] = "belief-propagation"
    prior_right: Annotated[float, Field(gt=0)] = 2.0  # a
    prior_wrong: Annotated[float, Field(gt=0)] = 1.0  # b
    max_iterations: MaxIterations = 100
    tolerance: Annotated[float, Field(ge=0, le=1)] = 1e-6  # of the largest change of a p_ij

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        pseudo = pseudo_answers(ballots, worker_prior)
        prior = pseudo + np.array([self.prior_right, self.prior_wrong])
        messages = self._pass_messages(ballots, prior)
        posterior = ballots.clamped(special.softmax(_evidence(ballots, messages.odds), axis=1))
        return Consensus(
            posterior=posterior,
            informed=ballots.informed,
            right_and_wrong=ballots.right_and_wrong(posterior) + pseudo,
            iterations=messages.iterations,
            converged=messages.converged,
        )

    def _pass_messages(self, ballots: Ballots, prior: Array) -> Messages:
        """Pass messages, all at once in each round, until they converge."""
        answers_of = [each for each in _by_worker(ballots) if len(each)]
        odds = np.zeros(len(ballots.item))
        right = _cavity(ballots, odds)
        for iteration in range(1, self.max_iterations + 1):
            for own in answers_of:
                a, b = prior[ballots.worker[own[0]]].tolist()
                odds[own] = worker_messages(right[own], a, b, ballots.classes)
            before, right = right, _cavity(ballots, odds)
            if np.abs(right - before).max(initial=0.0) <= self.tolerance:
                return Messages(odds, iteration, converged=True)
        return Messages(odds, self.max_iterations, converged=False)


def worker_messages(right: Array, prior_right: float, prior_wrong: float, classes: int = 2) -> Array:
    """The log-odds that a worker sends to each item, shape (answers,), given p of all of the worker's answers.

    A worker with one other answer, certainly right, has Beta(3, 1) from Beta(2, 1): odds of 3.

    >>> np.exp(worker_messages(np.array([0.5, 1.0]), 2.0, 1.0)).round(6).tolist()
    [3.0, 2.0]
    """
    accuracy, log_weight = _quadrature(len(right) // 2 + 1, prior_right, prior_wrong)
    wrong = (1 - accuracy) / max(classes - 1, 1)
    log_chance = np.log(np.outer(right, accuracy) + np.outer(1 - right, wrong))  # (answers, nodes)
    others = log_weight + log_chance.sum(axis=0) - log_chance
    others = np.exp(others - others.max(axis=1, keepdims=True))
    return np.asarray(np.log(others @ accuracy) - np.log(others @ wrong))


@lru_cache(maxsize=4096)
def _quadrature(nodes: int, right: float, wrong: float) -> tuple[Array, Array]:
    """Nodes and log-weights of the mean under Beta(right, wrong), exact up to the power 2 nodes - 1."""
    node, weight = special.roots_jacobi(nodes, wrong - 1, right - 1)
    return (1 + node) / 2, np.log(weight / weight.sum())


def _by_worker(ballots: Ballots) -> list[Index]:
    """The answers of each worker."""
    order = np.argsort(ballots.worker, kind="stable")
    return np.split(order, ballots.given.cumsum()[:-1])


def _evidence(ballots: Ballots, odds: Array) -> Array:
    """The log-odds of all answers, shape (items, classes)."""
    return sum_by(ballots.cell, odds, ballots.items * ballots.classes).reshape(ballots.items, ballots.classes)


def _cavity(ballots: Ballots, odds: Array) -> Array:
    """How likely each answer is right by the other answers to its item, shape (answers,)."""
    without = _evidence(ballots, odds)[ballots.item]
    place = np.arange(len(odds))
    without[place, ballots.label] -= odds
    certain = ballots.clamped(np.full((ballots.items, ballots.classes), np.nan))[ballots.item, ballots.label]
    return np.where(np.isnan(certain), special.softmax(without, axis=1)[place, ballots.label], certain)
