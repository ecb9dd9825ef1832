"""Fit the workers of a job in which every item has one true class."""

from abc import abstractmethod
from dataclasses import replace
from typing import ClassVar

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import ItemContext, State
from app.policy.core.tuning import TUNED
from app.policy.worker_models.base import Refitted, with_gold
from app.policy.worker_models.inference.dirichlet_skills import DirichletSkills
from app.policy.worker_models.inference.repeated_errors import factor_of_answer, log_factor
from app.policy.worker_models.inference.source_opinions import GivenOpinions, counts_of_opinions, opinion_likelihood
from app.policy.worker_models.inference.true_class import MIN_PRIOR, TrueClassModel, log_normalised

_MIN_COUNT = 1e-12
_MAX_ITERATIONS = 100
_CONVERGED = 1e-5  # change of a class's probability, on average over the items that have answers
_NEARLY_CONVERGED = 1e-4  # where models are only compared
_STEPS = 3  # between two extrapolations
_MAX_SLOWING = 0.9  # of a step relative to the one before: nine steps ahead


class LatentTruth(TrueClassModel, DirichletSkills):
    """Bayes on the true class (Dawid and Skene 1979), with a distribution over every worker's error rates.

        P(t) <- P(t) E P(answer | t, worker) / sum;    then row t of the worker counts the answer P(t) times.

    A skill holds the parameters of Dirichlet rows. `refit` alternates, starting from the shares of the votes,

        log P_i(t) = log prior_it + sum over answers (i, j, l) of log E P(l | t, j without it) + const,
        rows of j = prior of j + expected counts under P

    until P(t) moves by no more than 1e-5 on average over answered items: collapsed variational Bayes of order zero
    (Asuncion et al., UAI 2009). So the only answer of a worker counts in a refit as it does online. The mean field with
    E log P (Liu, Peng and Ihler, NIPS 2012) is as accurate but overconfident: with three answers per item on RTE (five
    draws) and confusion matrices its log-loss is .368 instead of .345, and one answer of a new worker, who is expected
    to be right with .8, gives .86. After every third step the fit continues from where the last three lead
    (`_extrapolated`), which gives the same result in half as many steps.

    An opinion of a source is one more answer, with the likelihood of `source_opinions`. Classes are equally common; or
    their shares come from Dirichlet((h n + 1) / K, ...) for K classes and n items with an answer, where h is
    `shares_held`. With h = 1 the estimate is half-way between the fit and equal shares, so that a common class says
    less than a new worker does. With h = 0 a biased crowd can move the shares far from the truth: with one answer per
    item nothing limits them.

    With `learns_newcomers` a worker of whom nothing is known beforehand is credited with the accuracy of this crowd's
    workers, instead of .8 in every crowd.
    """

    calibrates: ClassVar[bool] = True
    shares_held: ClassVar[float] = np.inf  # pseudo-items per item that keep the shares of the classes equal
    learns_newcomers: ClassVar[bool] = False  # a fit also learns how accurate a new worker is expected to be
    learns_errors: ClassVar[bool] = False  # and which errors a new worker is expected to make

    @abstractmethod
    def answer_probability(self, rows: Array, worker: Index, label: Index, classes: int) -> Array:
        """P(label[a] | true class) by row worker[a] of `rows`, shaped as `dirichlets`; shape (answers, classes)."""

    @abstractmethod
    def sweep(self, skill: Array, posterior: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        """One step of a fit: the skills by P(t) = `posterior`, and the log-likelihood of each item's answers.

        Each answer is judged by its worker's skill without its own contribution; shape (items, classes). `skill` is
        that of the step before, for models whose answers have more than one explanation.
        """

    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:
        return self.answer_probability(self.rows(skill), np.arange(len(label)), label, classes)

    def repeated(self, votes: Array, newcomer: Array) -> Array:  # noqa: ARG002  errors are spread evenly
        """The log of how much likelier answers are because wrong ones repeat, (items, classes), in a crowd like this.

        The crowd's errors are spread like those of `newcomer`, (parameters,).
        """
        return log_factor(votes, self.spread_of_errors)

    def taught_by_opinions(self, skill: Array, shares: Array, posterior: Array) -> Array:
        """What each opinion says about its source, which has skill[i]; shape (opinions, parameters)."""
        return self.packed(counts_of_opinions(self.rows(skill), shares, posterior))

    def refit(self, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:  # noqa: ARG002  from the prior
        return self._fit(ballots, context, prior, _CONVERGED)

    def _fit(self, ballots: Ballots, context: ItemContext, prior: Array, converged: float) -> Refitted:
        """Skills and items in turns until the items move by no more than `converged`."""
        context = with_gold(context, ballots)
        if ballots.opinions is not None:
            context = replace(context, prior=None)  # opinions are answers
        before = self.start(context, ballots.classes).model_state
        votes, repeat = ballots.votes(), self.errors_repeat(ballots.classes)
        repeated = self.repeated(votes, self.newcomer(ballots.classes)) if repeat else 0.0
        informed = ballots.answered | context.known
        opinions = None if ballots.opinions is None else GivenOpinions.of(ballots.opinions, informed)
        has_prior = None if context.prior is None else np.asarray(~np.isnan(context.prior).any(axis=1))
        skill, log_posterior = prior, log_normalised(before + np.log(ballots.shares() + MIN_PRIOR))
        posterior = np.exp(log_posterior)
        new = (prior == self.newcomer(ballots.classes)).all(axis=1) & ballots.heard & self.learns_newcomers
        iteration, moved, steps = 0, np.inf, list[Array]()
        shares: Array | float = 0.0
        while iteration < _MAX_ITERATIONS and moved > converged:
            if len(steps) == _STEPS:
                weight = np.where(ballots.answered[:, None], posterior, 0.0)
                posterior, steps = np.exp(log_normalised(_extrapolated(steps, weight))), []
            skill, likelihoods = self._step(skill, posterior, prior, ballots, opinions)
            if new.any():
                of_crowd = self.newcomer_of_crowd(skill, posterior, ballots, ~context.known, new)
                prior = np.where(new[:, None], of_crowd, prior)
                if repeat and self.learns_errors:
                    repeated = self.repeated(votes, of_crowd)
            shares = log_shares(posterior, informed, has_prior, self.shares_held)
            log_posterior = log_normalised(before + shares + likelihoods + repeated)
            found = np.exp(log_posterior)
            moved = mean_of(np.abs(found - posterior)[ballots.answered])
            posterior, iteration = found, iteration + 1
            steps.append(log_posterior)
        skill, likelihoods = self._step(skill, posterior, prior, ballots, opinions)
        state = State(votes, log_posterior)
        blind = self._blind(context, state, shares + likelihoods + repeated) if context.known.any() else None
        return Refitted(state, skill, iteration, converged=moved <= converged, blind=blind)

    def _step(
        self, skill: Array, posterior: Array, prior: Array, ballots: Ballots, opinions: GivenOpinions | None
    ) -> tuple[Array, Array]:
        """One `sweep` in which the opinions of sources are answers, too; `skill` is that of the step before."""
        if opinions is None:
            return self.sweep(skill, posterior, prior, ballots)

        def counted(part: GivenOpinions) -> Array:
            """What each opinion says about its source, (opinions, parameters)."""
            return self.taught_by_opinions(skill[part.source], part.shares, posterior[part.item])

        taught = prior.copy()
        for part in opinions.parts(prior.shape[1]):
            part.added_to(taught, counted(part))
        found, likelihoods = self.sweep(skill, posterior, taught, ballots)
        for part in opinions.parts(prior.shape[1]):
            others = self.rows(without(found[part.source], counted(part)))
            likelihoods[part.item] += np.log(np.maximum(opinion_likelihood(others, part.shares), MIN_PRIOR))
        return found, likelihoods

    def newcomer_of_crowd(self, skill: Array, posterior: Array, ballots: Ballots, unknown: Mask, new: Mask) -> Array:  # noqa: ARG002  by the truth alone
        """The skill of a new worker of this crowd, shape (parameters,): as many pseudo-answers, with another accuracy.

            a = (e .8 + sum over workers of R / (T + s)) / (e + sum over workers of T / (T + s))

        for `new` workers who are probably right with R of their T answers, where each is credited with s answers in
        advance: the mean of Beta distributions of strength s, with e workers of .8 in advance. Only answers on items
        with three or more count: on others, agreement says too little. Items of known truth do not count, so that they
        teach nothing about themselves (`_blind`).
        """
        before = TUNED.newcomers
        tells = (ballots.votes().sum(axis=1) >= before.min_answers) & unknown
        compared = tells[ballots.item].astype(np.float64)
        agreed = posterior.ravel()[ballots.cell] * compared
        answers, right = (sum_by(ballots.worker, each, ballots.workers)[new] for each in (compared, agreed))
        credit = sum(self.prior)
        lowest = 1 / ballots.classes + before.least_knowledge * (1 - 1 / ballots.classes)
        found = share_of_crowd(right, answers, before.accuracy, credit)
        accuracy = min(max(found, lowest), before.highest_accuracy)
        of_crowd = self.model_copy(update={"prior": (credit * accuracy, credit * (1 - accuracy))})
        return of_crowd.newcomer(ballots.classes)

    def _blind(self, context: ItemContext, state: State, gained: Array) -> State:
        """The items as if no truth were known: each answer is judged by its worker's skill without that answer.

        So an item of known truth teaches nothing about itself, although it teaches the skills of its workers.
        """
        unknown = self.start(replace(context, gold=None), state.votes.shape[1])
        return State(state.votes, log_normalised(unknown.model_state + gained))

    def heldout_log_likelihood(self, rest: Ballots, out: Ballots, context: ItemContext, prior: Array) -> Array:
        """The log-probability of each answer that is held `out`, given the `rest`; shape (held-out answers,).

        With P(t) and E by the fit of the rest,

            P(answer l of j on i) = sum over t of P(t) E[P(l | t, j)].
        """
        fit = self._fit(rest, context, prior, _NEARLY_CONVERGED)
        probability = self.answer_probability(self.rows(fit.skill), out.worker, out.label, out.classes)
        if self.errors_repeat(rest.classes):
            share = self.share_of_wrong(fit.skill[out.worker], probability)
            factor = factor_of_answer(fit.state.votes[out.item], out.label, self.spread_of_errors, share)
            probability = probability * factor
        return np.asarray(np.log((np.exp(fit.state.model_state[out.item]) * probability).sum(axis=1)))


def _extrapolated(steps: list[Array], weight: Array) -> Array:
    """The limit of three steps on a straight line, each the same share of the one before (Aitken 1926).

        x_3 + s / (1 - s) (x_3 - x_2),    s = sum of w (x_2 - x_1)(x_3 - x_2) / sum of w (x_2 - x_1)^2, at most .9.

    A nearly impossible class moves far in logarithms and matters little, hence the weights.

    >>> line = [np.array([0.0, 1.0]), np.array([1.0, 1.0]), np.array([1.5, 1.0])]
    >>> _extrapolated(line, np.array([0.5, 0.5])).tolist()
    [2.0, 1.0]
    """
    first, second, third = steps
    before, now = second - first, third - second
    length = float(np.vdot(weight * before, before))
    slowing = min(max(float(np.vdot(weight * before, now)) / length, 0.0), _MAX_SLOWING) if length else 0.0
    return third + slowing / (1 - slowing) * now


def log_shares(posterior: Array, informed: Mask, has_prior: Mask | None, held: float) -> Array | float:
    """How common the other items make each class for this one, as logarithms up to a constant, (items, classes).

        E share_c ~ (held n + 1) / K + sum over informed items other than this one of p_c,    n informed items.

    An item with a prior of its own, `has_prior`, shape (items,), neither contributes to the shares nor uses them.

    >>> three = np.array([[1.0, 0.0], [0.8, 0.2], [0.5, 0.5]])
    >>> np.exp(log_shares(three, np.array([True, True, False]), None, held=0)).round(6).tolist()
    [[1.3, 0.7], [1.5, 0.5], [2.3, 0.7]]
    """
    if np.isinf(held):
        return 0.0
    counted = informed if has_prior is None else informed & ~has_prior
    own = np.where(counted[:, None], posterior, 0.0)
    level = (held * counted.sum() + 1) / posterior.shape[1]
    shares = np.log(np.maximum(own.sum(axis=0) - own, 0.0) + level)
    return np.asarray(shares if has_prior is None else np.where(has_prior[:, None], 0.0, shares))


def share_of_crowd(hits: Array, answers: Array, usual: float, credit: float) -> float:
    """The mean of the workers' shares of hits, shape (workers,) each, with a few workers of the usual share in advance.

        (e u + sum over workers of R / (T + s)) / (e + sum over workers of T / (T + s))

    >>> share_of_crowd(np.array([15.0, 0.0]), np.array([15.0, 0.0]), usual=0.8, credit=5.0)
    0.813953488372093
    """
    workers = TUNED.newcomers.workers
    found = workers * usual + (hits / (answers + credit)).sum()
    return float(found / (workers + (answers / (answers + credit)).sum()))


def mean_of(moves: Array) -> float:
    """The mean of these numbers; 0 if there are none."""
    return float(moves.sum()) / max(moves.size, 1)


def without(counts: Array, own: Array) -> Array:
    """The counts less an answer's own contribution: above zero, although rounding may remove all of a tiny prior."""
    return np.maximum(counts - own, _MIN_COUNT)
