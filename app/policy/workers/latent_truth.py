"""Every item has one true class, and workers name it or err: what models of that kind share."""

from abc import abstractmethod
from functools import cache, reduce
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from app.policy.aggregation.ballots import Ballots
from app.policy.belief import Array, Belief, Facts, Mask, State
from app.policy.shares import Index
from app.policy.workers.base import Foresight, Refitted, one_more_vote, with_gold
from app.policy.workers.clarity import ALL_CLEAR, Clarity
from app.policy.workers.skill_rows import SkillRows, expected

_LEAST_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers
_LEAST_COUNT = 1e-12
_MOST_CLASSES = 20  # of items that may be unclear: some hundred numbers per item
_MOST_ITERATIONS = 100
_STANDSTILL = 1e-5  # of a class's probability, on average over the items that have answers
_NEARLY_STILL = 1e-4  # where models are only compared
_STEPS = 3  # after which a fit looks where they lead
_FARTHEST = 0.9  # of a step in the one before: nine steps ahead


class LatentTruth(SkillRows):
    """Bayes on the true class (Dawid and Skene 1979), with a distribution over every worker's rates of error.

        P(t, g) <- P(t, g) E P(answer | t, g, worker) / sum;    then row t of the worker counts the answer as often as
        it came of knowledge of t.

    The class is t, and g the degree to which the item is clear: 1 for all, unless a model says otherwise (`Clarity`).
    The evidence is log P(t, g), from the item's own prior or uniform; where the truth is known, certainty. A skill
    holds the parameters of Dirichlet rows. `refit` alternates, from the shares of the votes on,

        log P_i(t, g) = log prior_it P(g) + sum over answers (i, j, l) of log E P(l | t, g, j without it) + const,
        rows of j = prior of j + expected counts under P

    until p moves by no more than 1e-5 on average over answered items: collapsed variational Bayes of order zero
    (Asuncion et al., UAI 2009). So the only answer of a worker tells in a fit what it tells online. The mean field with
    E log P (Liu, Peng and Ihler, NIPS 2012) is as accurate but surer than it should be: with three answers per item on
    RTE (five draws) and confusion matrices its log-loss is .368 for .345, and one answer of a newcomer, who is expected
    to be right with .8, gives .86. After every third time a fit goes on from where the last three lead (`_ahead`),
    which comes to the same and takes half as many.

    Classes are equally common but for the items' own priors; or their shares come from Dirichlet((h n + 1) / K, ...)
    for K classes and n items with an answer, h being `shares_held`. With h = 1 the estimate is half-way between the fit
    and level, so a class that is common tells less than a newcomer does. With h = 0 shares run away with a biased
    crowd: with one answer per item nothing holds them.
    """

    fits_skills: ClassVar[bool] = True
    shares_held: ClassVar[float] = np.inf  # pseudo-items per item that hold the shares of classes level
    clarity: ClassVar[Clarity] = ALL_CLEAR

    def clarity_of(self, classes: int) -> Clarity:
        """How clear items may be; with many classes every item is taken to be clear, or too much were kept of it."""
        return self.clarity if classes <= _MOST_CLASSES else ALL_CLEAR

    @abstractmethod
    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:
        """The `chance`, shaped as `dirichlets`, of label[a] by worker[a] under each true class; (answers, classes)."""

    @abstractmethod
    def counted(self, heeding: Array, label: Index) -> Array:
        """What label[i] adds to its worker's skill if it came of knowledge of each class so likely; (items, *)."""

    @abstractmethod
    def swept(self, skill: Array, joint: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        """Skills by what all answers count, and the log-chance of each item's answers, (degrees, items, classes).

        An answer counts as far as it came of knowledge, by P(t, g) = `joint` and by the `skill` so far. Each answer is
        then judged by its worker's new skill without what it has itself contributed.
        """

    def start(self, facts: Facts, classes: int) -> State:
        probability = np.full((len(facts.cost), classes), 1 / classes)
        if facts.prior is not None:
            probability = np.where(np.isnan(facts.prior), probability, np.maximum(facts.prior, _LEAST_PRIOR))
        clarity = self.clarity_of(classes)
        joint = clarity.joint(normalised(np.log(probability)), classes)
        if facts.gold is not None:
            joint = np.where(facts.known[:, None], clarity.of_known(facts.gold, classes), joint)
        return State(np.zeros_like(probability), clarity.rows(joint))

    def read(self, state: State, facts: Facts) -> Belief:
        votes, clarity = state.votes, self.clarity_of(state.votes.shape[1])
        joint = np.exp(clarity.joint(state.evidence, votes.shape[1]))
        probability, clear = joint.sum(axis=0), clarity.clear(joint)
        return Belief(votes, votes, votes.sum(axis=1), votes + 1, facts, probability, clear)

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:  # noqa: ARG002  the prior is in the evidence
        classes = state.votes.shape[1]
        clarity = self.clarity_of(classes)
        told = self._told_by(self._fitting(state, skill, label))
        _, joint = _shared_out(clarity.joint(state.evidence, classes) + told)
        return State(one_more_vote(state.votes, label), clarity.rows(joint))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        after, classes = self.answered(state, facts, skill, label), state.votes.shape[1]
        clarity = self.clarity_of(classes)
        joint = np.exp(clarity.joint(after.evidence, classes))
        heeding = clarity.heeding(joint, self._fitting(state, skill, label), classes)
        return after, skill + self.counted(heeding, label)

    def foresight(self, state: State, skill: Array) -> Foresight:
        classes = state.votes.shape[1]
        now = _items_last(self.clarity_of(classes).joint(state.evidence, classes))

        @cache  # the same class is looked at with one number of votes after the other
        def told_by(c: int) -> Array:
            return _items_last(self._told_by(self._fitting(state, skill, np.full(len(skill), c, dtype=np.intp))))

        def after(c: int, votes: Array) -> Array:
            further = now + votes[..., None, None, :] * told_by(c)
            weight = np.exp(further - further.max(axis=(-3, -2), keepdims=True)).sum(axis=-2)
            return np.asarray((weight / weight.sum(axis=-2, keepdims=True)).swapaxes(-2, -1))

        return after

    def refit(self, ballots: Ballots, facts: Facts, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  fits anew
        return self._settled(ballots, facts, prior, _STANDSTILL)

    def _settled(self, ballots: Ballots, facts: Facts, prior: Array, standstill: float) -> Refitted:
        """Skills and items in turns until the items move by no more than that."""
        facts = with_gold(facts, ballots)
        clarity = self.clarity_of(ballots.classes)
        before = clarity.joint(self.start(facts, ballots.classes).evidence, ballots.classes)
        informed = ballots.answered | facts.known
        told = None if facts.prior is None else np.asarray(~np.isnan(facts.prior).any(axis=1))
        joint, _ = _shared_out(before + np.log(ballots.shares() + _LEAST_PRIOR))
        skill, posterior = prior, joint.sum(axis=0)
        iteration, moved, trail = 0, np.inf, list[Array]()
        while iteration < _MOST_ITERATIONS and moved > standstill:
            if len(trail) == _STEPS:
                joint, _ = _shared_out(_ahead(trail, np.where(ballots.answered[:, None], joint, 0.0)))
                posterior, trail = joint.sum(axis=0), []
            skill, likelihoods = self.swept(skill, joint, prior, ballots)
            shares = log_shares(posterior, informed, told, self.shares_held)
            joint, evidence = _shared_out(before + shares + likelihoods)
            found = joint.sum(axis=0)
            moved = mean_of(np.abs(found - posterior)[ballots.answered])
            posterior, iteration = found, iteration + 1
            trail.append(evidence)
        skill, _ = self.swept(skill, joint, prior, ballots)
        state = State(ballots.votes(), clarity.rows(evidence))
        return Refitted(state, skill, iteration, converged=moved <= standstill)

    def foretold(self, rest: Ballots, out: Ballots, facts: Facts, prior: Array) -> Array:
        """The log-probability of each answer that is held `out`, given the `rest`; shape (held-out answers,).

        With P(t, g) and E by the fit of the rest,

            P(answer l of j on i) = sum over t, g of P(t, g) E[P(l | t, g, j)].
        """
        fit = self._settled(rest, facts, prior, _NEARLY_STILL)
        fitting = self.fitting(expected(self.dirichlets(fit.skill)), out.worker, out.label, out.classes)
        clarity = self.clarity_of(out.classes)
        joint = np.exp(clarity.joint(fit.state.evidence[out.item], out.classes))
        return np.asarray(np.log((joint * clarity.chances(fitting, out.classes)).sum(axis=(0, 2))))

    def _fitting(self, state: State, skill: Array, label: npt.NDArray[np.intp]) -> Array:
        return self.fitting(expected(self.dirichlets(skill)), np.arange(len(label)), label, state.votes.shape[1])

    def _told_by(self, fitting: Array) -> Array:
        """What answers that are so likely add to log P(t, g), but for a constant, shape (degrees, items, classes)."""
        classes = fitting.shape[1]
        return np.log(self.clarity_of(classes).chances(fitting, classes))


def _ahead(trail: list[Array], weight: Array) -> Array:
    """Where three steps on a straight line, each the same share of the one before, come to rest (Aitken 1926).

        x_3 + s / (1 - s) (x_3 - x_2),    s = sum of w (x_3 - x_2) (x_2 - x_1) / sum of w (x_2 - x_1)^2, at most .9.

    What is nearly impossible moves far in logarithms and matters little, hence the weights.

    >>> line = [np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([1.5, 1.0])]
    >>> _ahead(line, np.array([0.5, 0.5])).tolist()
    [2.0, 1.0]
    """
    first, second, third = trail
    before, now = second - first, third - second
    length = float(np.vdot(weight * before, before))
    slowing = min(max(float(np.vdot(weight * before, now)) / length, 0.0), _FARTHEST) if length else 0.0
    return third + slowing / (1 - slowing) * now


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
    return np.asarray(shares if told is None else np.where(told[:, None], 0.0, shares))


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


def _items_last(joint: Array) -> Array:
    """(degrees, items, classes) as (classes, degrees, items): what sums over all but the items is fastest so."""
    return np.ascontiguousarray(joint.transpose(2, 0, 1))


def _shared_out(logarithms: Array) -> tuple[Array, Array]:
    """Probabilities that sum to 1 over degrees and classes, and their logarithms; each (degrees, items, classes)."""
    shifted = logarithms - reduce(np.maximum, logarithms.max(axis=0).T)[:, None]
    weight = np.exp(shifted)
    total = reduce(np.add, weight.sum(axis=0).T)[:, None]
    return weight / total, shifted - np.log(total)
