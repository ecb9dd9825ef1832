"""Every item has one true class, and workers name it or err: what models of that kind share."""

from abc import abstractmethod
from functools import reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from app.policy.aggregation.ballots import UNKNOWN, Ballots
from app.policy.belief import Array, Belief, Facts, Mask, State
from app.policy.shares import Index
from app.policy.workers.base import Refitted, one_more_vote, with_gold
from app.policy.workers.skill_rows import SkillRows, expected

_LEAST_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers
_IMPOSSIBLE = -1e9  # the logarithm of a chance that no number of answers ever lifts, and still a finite number
_LEAST_COUNT = 1e-12
_MOST_ITERATIONS = 100
_STANDSTILL = 1e-5  # of a class's probability, on average over the items that have answers


class LatentTruth(SkillRows):
    """Bayes on the true class (Dawid and Skene 1979), with a distribution over every worker's rates of error.

        p_c <- p_c E P(answer | truth c, worker) / sum;    then each row c of the worker counts the answer p_c times.

    The evidence is log p, from the item's own prior or uniform; where the truth is known, certainty. A skill holds the
    parameters of Dirichlet rows. `refit` alternates, from the shares of the votes on,

        log p_ic = log prior_ic + sum over answers (i, j, l) of log E P(l | c, j without this answer) + const,
        rows of j = prior of j + expected counts under p

    until p moves by no more than 1e-5 on average over answered items: collapsed variational Bayes of order zero
    (Asuncion et al., UAI 2009). So the only answer of a worker tells in a fit what it tells online. The mean field with
    E log P (Liu, Peng and Ihler, NIPS 2012) is as accurate but surer than it should be: with three answers per item on
    RTE (five draws) and confusion matrices its log-loss is .368 for .345, and one answer of a newcomer, who is expected
    to be right with .8, gives .86.

    Classes are equally common but for the items' own priors; or their shares come from Dirichlet((h n + 1) / K, ...)
    for K classes and n items with an answer, h being `shares_held`. With h = 1 the estimate is half-way between the fit
    and level, so a class that is common tells less than a newcomer does. With h = 0 shares run away with a biased
    crowd: with one answer per item nothing holds them.
    """

    fits_skills: ClassVar[bool] = True
    shares_held: ClassVar[float] = np.inf  # pseudo-items per item that hold the shares of classes level

    @abstractmethod
    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:
        """The `chance`, shaped as `dirichlets`, of label[a] by worker[a] under each true class; (answers, classes)."""

    @abstractmethod
    def counted(self, probability: Array, label: Index) -> Array:
        """What label[i] adds to its worker's skill where the true class has this probability; (items, parameters)."""

    @abstractmethod
    def log_likelihoods(self, skill: Array, posterior: Array, ballots: Ballots) -> Array:
        """The log-chance of each item's answers under each class, shape (items, classes).

        Each answer is judged by its worker's skill, shape (workers, parameters), without what it has itself
        contributed to it under this posterior.
        """

    @abstractmethod
    def expected_counts(self, posterior: Array, ballots: Ballots) -> Array:
        """What all answers add to their workers' skills under this posterior, shape (workers, parameters)."""

    def start(self, facts: Facts, classes: int) -> State:
        probability = np.full((len(facts.cost), classes), 1 / classes)
        if facts.prior is not None:
            probability = np.where(np.isnan(facts.prior), probability, np.maximum(facts.prior, _LEAST_PRIOR))
        evidence = normalised(np.log(probability))
        if facts.gold is not None:
            certain = np.where(facts.gold[:, None] == np.arange(classes), 0.0, _IMPOSSIBLE)
            evidence = np.where((facts.gold == UNKNOWN)[:, None], evidence, certain)
        return State(np.zeros_like(probability), evidence)

    def read(self, state: State, facts: Facts) -> Belief:
        votes = state.votes
        return Belief(votes, votes, votes.sum(axis=1), votes + 1, facts, np.exp(state.evidence))

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:  # noqa: ARG002  the prior is in the evidence
        fitting = self.fitting(expected(self.dirichlets(skill)), np.arange(len(label)), label, state.votes.shape[1])
        return State(one_more_vote(state.votes, label), normalised(state.evidence + np.log(fitting)))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        after = self.answered(state, facts, skill, label)
        return after, skill + self.counted(np.exp(after.evidence), label)

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:
        facts = with_gold(facts, ballots)
        before, informed = self.start(facts, ballots.classes).evidence, ballots.answered | facts.known
        told = None if facts.prior is None else np.asarray(~np.isnan(facts.prior).any(axis=1))
        evidence = normalised(before + np.log(ballots.shares() + _LEAST_PRIOR))
        iteration, moved = 0, np.inf
        while iteration < _MOST_ITERATIONS and moved > _STANDSTILL:
            posterior = np.exp(evidence)
            skill = prior + self.expected_counts(posterior, ballots)
            likelihoods = self.log_likelihoods(skill, posterior, ballots)
            shares = log_shares(posterior, informed, told, self.shares_held)
            evidence = normalised(before + shares + likelihoods)
            moved = mean_of(np.abs(np.exp(evidence) - posterior)[ballots.answered])
            iteration += 1
        skill = prior + self.expected_counts(np.exp(evidence), ballots)
        return Refitted(State(ballots.votes(), evidence), skill, iteration, converged=moved <= _STANDSTILL)

    def foretold(self, rest: Ballots, out: Ballots, facts: Facts, prior: Array) -> Array:
        """The log-probability of each answer that is held `out`, given the `rest`; shape (held-out answers,).

        With p and E by the fit of the rest,

            P(answer l of j on i) = sum_c p_ic E[P(l | c, j)].
        """
        fit = self.refit(rest, facts, prior, prior)
        fitting = self.fitting(expected(self.dirichlets(fit.skill)), out.worker, out.label, out.classes)
        return np.asarray(np.log((np.exp(fit.state.evidence[out.item]) * fitting).sum(axis=1)))


def log_shares(posterior: Array, informed: Mask, told: Mask | None, held: float) -> Array | float:
    """How common the other items make each class for this one, as logarithms but for a constant, (items, classes).

        E share_c ~ (held n + 1) / K + sum over informed items other than this one of p_c,    n informed items.

    An item that was `told` how likely each class is, shape (items,), neither takes part nor needs it.

    >>> three = np.array([[1.0, 0.0], [0.8, 0.2], [0.5, 0.5]])
    >>> np.exp(log_shares(three, np.array([True, True, False]), None, held=0)).round(6).tolist()
    [[1.3, 0.7], [1.5, 0.5], [2.3, 0.7]]
    """
    if np.isinf(held):
        return 0.0
    counted = informed if told is None else informed & ~told
    own = np.where(counted[:, None], posterior, 0.0)
    level = (held * counted.sum() + 1) / posterior.shape[1]
    shares = np.log(np.maximum(own.sum(axis=0) - own, 0.0) + level)
    return shares if told is None else np.where(told[:, None], 0.0, shares)


def mean_of(moves: Array) -> float:
    """The mean of how far numbers have moved; 0 where there are none."""
    return float(moves.sum()) / max(moves.size, 1)


def without(counts: Array, own: Array) -> Array:
    """The counts less an answer's own contribution: above zero, although rounding may take all of a tiny prior."""
    return np.maximum(counts - own, _LEAST_COUNT)


def normalised(logarithms: Array) -> Array:
    """Logarithms of probabilities that sum to 1 in each row."""
    # Class by class: numpy is several times slower along a short axis.
    shifted = logarithms - reduce(np.maximum, logarithms.T)[:, None]
    return np.asarray(shifted - np.log(reduce(np.add, np.exp(shifted).T))[:, None])
