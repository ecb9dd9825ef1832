"""Every item has one true class, and workers name it or err: what models of that kind share."""

from abc import abstractmethod
from dataclasses import replace
from functools import reduce

import numpy as np
import numpy.typing as npt
from scipy import special

from app.policy.aggregation.ascent import climb, posterior_and_evidence
from app.policy.aggregation.ballots import UNKNOWN, Ballots
from app.policy.aggregation.incidence import Incidence
from app.policy.belief import Array, Belief, Facts, State
from app.policy.shares import Index
from app.policy.workers.base import Refitted, SkillPrior, one_more_vote, with_gold
from app.policy.workers.skill_rows import SkillRows, expected

_LEAST_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers
_IMPOSSIBLE = -1e9  # the logarithm of a chance that no number of answers ever lifts, and still a finite number
_MOST_ITERATIONS = 100
_SMALLEST_GAIN = 1e-6  # of the bound, per answer


class LatentTruth(SkillRows):
    """Bayes on the true class (Dawid and Skene 1979), with a distribution over every worker's rates of error.

        p_c <- p_c E P(answer | truth c, worker) / sum;    then each row c of the worker counts the answer p_c times.

    The evidence is log p, from the item's own prior or uniform; where the truth is known, certainty. A skill holds the
    parameters of Dirichlet rows. `refit` is the mean field of the same model (Liu, Peng and Ihler, NIPS 2012; Kim and
    Ghahramani, AISTATS 2012): it alternates

        log p_ic = log prior_ic + sum over answers (i, j, l) of E log P(l | c, j) + const,
        rows of j = prior of j + expected counts under p,

    from the shares of the votes on until the lower bound of the answers' log-likelihood stands still. Classes are taken
    to be equally common but for the items' own priors: estimated shares run away with a biased crowd.
    """

    prior: SkillPrior = (4.0, 1.0)

    @abstractmethod
    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:
        """The `chance`, shaped as `dirichlets`, of label[a] by worker[a] under each true class; (answers, classes)."""

    @abstractmethod
    def counted(self, probability: Array, label: Index) -> Array:
        """What label[i] adds to its worker's skill where the true class has this probability; (items, parameters)."""

    @abstractmethod
    def incidence(self, ballots: Ballots) -> Incidence:
        """The answers as the matrix that the two sums below need."""

    @abstractmethod
    def log_likelihoods(self, given: Incidence, log_chance: Array, ballots: Ballots) -> Array:
        """The sum of log_chance, shaped as `dirichlets`, over the answers of each item; shape (items, classes)."""

    @abstractmethod
    def expected_counts(self, given: Incidence, posterior: Array, ballots: Ballots) -> Array:
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

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  answers decide
        facts = with_gold(facts, ballots)
        given, before = self.incidence(ballots), self.start(facts, ballots.classes).evidence
        known = replace(ballots, gold=facts.gold)

        def joint(skill: Array) -> Array:
            return before + self.log_likelihoods(given, expected_log(self.dirichlets(skill)), ballots)

        def e_step(skill: Array) -> tuple[Array, float]:
            posterior, evidence = posterior_and_evidence(joint(skill), known)
            return posterior, evidence - divergence(self.dirichlets(skill), self.dirichlets(prior))

        def m_step(posterior: Array, _: Array) -> Array:
            return prior + self.expected_counts(given, posterior, ballots)

        summit = climb(
            m_step(np.exp(normalised(before + np.log(known.shares() + _LEAST_PRIOR))), prior),
            e_step,
            m_step,
            max_iterations=_MOST_ITERATIONS,
            smallest_gain=_SMALLEST_GAIN * len(ballots.item),
        )
        state = State(ballots.votes(), normalised(joint(summit.parameters)))
        return Refitted(state, summit.parameters, summit.iterations, summit.converged)


def expected_log(dirichlets: Array) -> Array:
    """E log of each share: digamma(a_k) - digamma(sum a), which punishes what is little known.

    >>> expected_log(np.array([4.0, 1.0])).round(4).tolist()  # -1/4, and -(1 + 1/2 + 1/3 + 1/4)
    [-0.25, -2.0833]
    """
    return np.asarray(special.digamma(dirichlets) - special.digamma(dirichlets.sum(axis=-1, keepdims=True)))


def divergence(found: Array, prior: Array) -> float:
    """The sum of KL(Dirichlet(found) || Dirichlet(prior)) over all rows; 0 where nothing was learned.

    >>> round(divergence(np.array([2.0, 1.0]), np.array([1.0, 1.0])), 4)  # E log 2x under Beta(2, 1): log 2 - 1/2
    0.1931
    """
    size = special.gammaln(found.sum(axis=-1)) - special.gammaln(prior.sum(axis=-1))
    shares = special.gammaln(prior) - special.gammaln(found) + (found - prior) * expected_log(found)
    return float(size.sum() + shares.sum())


def normalised(logarithms: Array) -> Array:
    """Logarithms of probabilities that sum to 1 in each row."""
    # Class by class: numpy is several times slower along a short axis.
    shifted = logarithms - reduce(np.maximum, logarithms.T)[:, None]
    return np.asarray(shifted - np.log(reduce(np.add, np.exp(shifted).T))[:, None])
