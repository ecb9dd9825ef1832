"""The base of worker models that keep the probability of each class: Bayes' rule, answer by answer."""

from abc import abstractmethod
from collections.abc import Callable
from functools import reduce
from typing import ClassVar

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.worker_models.base import PosteriorAfter, WorkerModel
from app.policy.worker_models.inference.repeated_errors import factor_of_answer, log_factor_of_more

_BINARY = 2
IMPOSSIBLE = -1e9  # log of a probability that no number of answers can raise, and still a finite number


MIN_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers


class TrueClassModel(WorkerModel):
    """Models in which every item has one true class. A new one writes `likelihood`.

        P(t) <- P(t) P(answer | t, worker) / sum.

    The state of an item is log P(t), uniform before the first answer; where the truth is known, it is certain. The
    item's prior, `context.prior`, is the likelihood of a first answer: that of its source.
    """

    spread_of_errors: ClassVar[float] = np.inf  # of the wrong answers to one item: `repeated_errors`; inf: independent

    def errors_repeat(self, classes: int) -> bool:
        """Whether wrong answers to one item can differ, and are not independent."""
        return classes > _BINARY and self.spread_of_errors < np.inf

    @abstractmethod
    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:
        """P(label[a] | true class t) of a worker with skill[a], shape (answers, classes)."""

    def share_of_wrong(self, skill: Array, likelihood: Array) -> Array | None:  # noqa: ARG002  even
        """P(label | true class, wrong answer) of a worker with skill[a] where P(label | true class) is likelihood[a].

        Shape (answers, classes); the true class does not matter. None: 1 / (K - 1) each.
        """
        return None

    def skill_gain(self, truth: Array, label: Index) -> Array:  # noqa: ARG002  skills stay
        """What label[a] adds to its worker's skill if item a has each true class with probability truth[a].

        Shape (answers, parameters or 1).
        """
        return np.zeros((len(label), 1))

    def start(self, context: ItemContext, classes: int) -> State:
        log_probability = np.full((len(context.cost), classes), -np.log(classes))
        if context.prior is not None:
            given = ~np.isnan(context.prior).any(axis=1)
            said = log_normalised(np.log(np.maximum(context.prior[given], MIN_PRIOR)))
            log_probability[given] = said
        if context.gold is not None:
            certain = np.where(context.gold[:, None] == np.arange(classes), 0.0, IMPOSSIBLE)
            log_probability = np.where(context.known[:, None], certain, log_probability)
        return State(np.zeros_like(log_probability), log_probability)

    def read(self, state: State, context: ItemContext) -> Belief:
        votes = state.votes
        return Belief(votes, votes, votes.sum(axis=1), votes + 1, context, np.exp(state.model_state))

    def chances(self, belief: Belief, skill: Array) -> Array:
        items, classes = belief.posterior.shape
        each = [self._likelihood_now(skill, np.full(items, c, dtype=np.intp), belief.votes) for c in range(classes)]
        return np.stack([(belief.posterior * of_class).sum(axis=1) for of_class in each], axis=1)

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:  # noqa: ARG002  the prior is in the state
        likelihood = self._likelihood_now(skill, label, state.votes)
        return State(one_more_vote(state.votes, label), log_normalised(state.model_state + np.log(likelihood)))

    def _likelihood_now(self, skill: Array, label: Index, votes: Array) -> Array:
        """`likelihood` where items have these votes already, of which wrong answers are repeated."""
        classes = votes.shape[1]
        likelihood = self.likelihood(skill, label, classes)
        if not self.errors_repeat(classes):
            return likelihood
        share = self.share_of_wrong(skill, likelihood)
        return np.asarray(likelihood * factor_of_answer(votes, label, self.spread_of_errors, share))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        after = self.after_answer(state, context, skill, label)
        return after, skill + self.skill_gain(np.exp(after.model_state), label)

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:  # noqa: ARG002  the prior is in the state
        items, classes = state.votes.shape
        more = np.repeat(np.arange(1.0, times + 1)[:, None], items, axis=1)
        log_after = self._log_after(state, skill, label)(more).swapaxes(-2, -1)
        votes = np.repeat(state.votes[None], times, axis=0)
        votes[:, np.arange(items), label] += more
        return State(votes.reshape(-1, classes), log_normalised(log_after.reshape(-1, classes)))

    def posterior_after(self, state: State, skill: Array, label: Index) -> PosteriorAfter:
        log_after = self._log_after(state, skill, label)

        def after(votes: Array) -> Array:
            further = log_after(votes)
            weight = np.exp(further - further.max(axis=-2, keepdims=True))
            return np.asarray((weight / weight.sum(axis=-2, keepdims=True)).swapaxes(-2, -1))

        return after

    def _log_after(self, state: State, skill: Array, label: Index) -> Callable[[Array], Array]:
        """Log P(class) up to a constant after votes[*, i] more answers label[i], shape (*, classes, items)."""
        now, classes = _items_last(state.model_state), state.votes.shape[1]
        likelihood = self.likelihood(skill, label, classes)
        gained = _items_last(np.log(likelihood))
        share = self.share_of_wrong(skill, likelihood) if self.errors_repeat(classes) else None

        def after(votes: Array) -> Array:
            further = now + votes[..., None, :] * gained
            if not self.errors_repeat(classes):
                return further
            factor = log_factor_of_more(state.votes, label, votes, self.spread_of_errors, share)
            return further + factor.swapaxes(-2, -1)

        return after


def log_normalised(logarithms: Array) -> Array:
    """Logarithms of probabilities that sum to 1 in each row."""
    # Class by class: numpy is several times slower along a short axis.
    shifted = logarithms - reduce(np.maximum, logarithms.T)[:, None]
    return np.asarray(shifted - np.log(reduce(np.add, np.exp(shifted).T))[:, None])


def _items_last(each: Array) -> Array:
    """(items, classes) as (classes, items): fastest for sums over all but the items."""
    return np.ascontiguousarray(each.T)
