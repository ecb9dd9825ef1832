"""The base of worker models that keep the probability of each class: Bayes' rule, answer by answer."""

from abc import abstractmethod
from dataclasses import dataclass
from functools import cache, reduce
from typing import ClassVar

import numpy as np
from propcache.api import cached_property

from app.policy.core.arrays import Array, Index, IntArray
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.worker_models.base import PosteriorAfter, WorkerModel

IMPOSSIBLE = -1e9  # log of a probability that no number of answers can raise, and still a finite number


@dataclass(frozen=True)
class Clarity:
    """How clear items may be, and how common each degree is before any answer.

        P(answer l | truth t, degree g, worker) = g P(l | t, worker) + (1 - g) / K.

    On an item of degree 1 workers answer as well as they can, on one of degree 0 everybody guesses. The state of an
    item is log P(t, g), class by class, all degrees of a class together; or log P(t) alone, K numbers, while nothing is
    known of its degree. Rows of both kinds may be in one array, the short ones padded with NaN.
    """

    degrees: tuple[float, ...]
    shares: tuple[float, ...]

    @cached_property
    def _degrees(self) -> Array:
        return np.array(self.degrees)

    @cached_property
    def _all_clear(self) -> bool:
        return self.degrees == (1.0,)

    def _as_first_axis(self, likelihood: Array) -> Array:
        """The degrees as a first axis before those of `likelihood`."""
        return self._degrees.reshape(-1, *(1,) * likelihood.ndim)

    def joint(self, model_state: Array, classes: int) -> Array:
        """The logarithm of P(t, g), shape (degrees, items, classes): numpy is several times slower along a short axis.

        >>> Clarity((1.0, 0.0), (0.75, 0.25)).joint(np.log([[0.8, 0.2]]), 2).round(2).tolist()
        [[[-0.51, -1.9]], [[-1.61, -3.0]]]
        """
        if model_state.shape[1] == classes:
            return self._before(model_state)
        known = np.ascontiguousarray(
            model_state.reshape(len(model_state), classes, len(self.degrees)).transpose(2, 0, 1)
        )
        short = np.isnan(model_state[:, classes])
        return np.where(short[:, None], self._before(model_state[:, :classes]), known) if short.any() else known

    def rows(self, joint: Array) -> Array:
        """The state whose `joint` this is.

        >>> few = Clarity((1.0, 0.0), (0.75, 0.25))
        >>> few.rows(few.joint(np.log([[0.8, 0.2]]), 2)).round(2).tolist()
        [[-0.51, -1.61, -1.9, -3.0]]
        """
        degrees, items, classes = joint.shape
        return joint.transpose(1, 2, 0).reshape(items, classes * degrees)

    def _before(self, model_state: Array) -> Array:
        return np.asarray(model_state + np.log(self.shares)[:, None, None])

    def of_known(self, truth: IntArray, classes: int) -> Array:
        """The joint where the class is known: certain, and clear, so that a wrong answer is the worker's fault."""
        right = truth[:, None] == np.arange(classes)
        return np.where(right & (self._as_first_axis(right) == 1), 0.0, IMPOSSIBLE)

    def blurred(self, likelihood: Array, classes: int) -> Array:
        """P(answer) on an item of each degree, given `likelihood` on a clear one; degrees are the first axis."""
        if self._all_clear:
            return likelihood[None]
        each = self._as_first_axis(likelihood)
        found = likelihood * each
        found += (1 - each) / classes  # in place: new memory costs as much as the sum
        return np.asarray(found)

    def knowledge(self, joint: Array, likelihood: Array, classes: int) -> Array:
        """P(t, and the answer came from knowledge, not from a guess), shape as `likelihood`, its probability if clear.

        `joint` is P(t, g) given that answer, with the degrees as its first axis.

        >>> Clarity((1.0, 0.5), (0.5, 0.5)).knowledge(np.array([[0.6], [0.4]]), np.array([0.5]), 2).tolist()
        [0.8]
        """
        if self._all_clear:
            return np.asarray(joint[0])
        share = likelihood * self._as_first_axis(likelihood)
        share /= self.blurred(likelihood, classes)
        return np.asarray(np.einsum("g...,g...->...", joint, share))

    def clear(self, joint: Array) -> Array:
        """P(t, and the next answer will come from knowledge), shape (items, classes)."""
        return np.asarray((joint * self._as_first_axis(joint[0])).sum(axis=0))


ALL_CLEAR = Clarity((1.0,), (1.0,))
OF_CROWDS = Clarity((1.0, 0.75, 0.5, 0.25, 0.0), (0.7, 0.12, 0.08, 0.06, 0.04))


MIN_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers
_MOST_CLASSES = 20  # of items that may be unclear: about a hundred numbers per item


class TrueClassModel(WorkerModel):
    """Models in which every item has one true class. A new one writes `likelihood`.

        P(t, g) <- P(t, g) P(answer | t, g, worker) / sum.

    t is the class and g the degree to which the item is clear: 1 for all items unless `clarity` says otherwise. The
    state of an item is log P(t, g), uniform before the first answer; where the truth is known, it is certain. The
    item's prior, `context.prior`, is the likelihood of a first answer: that of its source.
    """

    clarity: ClassVar[Clarity] = ALL_CLEAR

    @abstractmethod
    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:
        """P(label[a] | true class t) of a worker with skill[a] on a clear item, shape (answers, classes)."""

    def skill_gain(self, knowledge: Array, label: Index) -> Array:  # noqa: ARG002  skills stay
        """What label[a] adds to its worker's skill, shape (answers, parameters or 1).

        `knowledge`, (answers, classes), is the probability that the answer came from knowledge of each class.
        """
        return np.zeros((len(label), 1))

    def clarity_of(self, classes: int) -> Clarity:
        """How clear items may be. With many classes all items count as clear, since their states would be too large."""
        return self.clarity if classes <= _MOST_CLASSES else ALL_CLEAR

    def start(self, context: ItemContext, classes: int) -> State:
        probability = np.full((len(context.cost), classes), 1 / classes)
        clarity = self.clarity_of(classes)
        joint = clarity.joint(log_normalised(np.log(probability)), classes)
        if context.prior is not None:
            given = np.asarray(~np.isnan(context.prior).any(axis=1))[:, None]
            said = np.where(given, np.maximum(context.prior, MIN_PRIOR), probability)
            joint = np.where(given, normalise_joint(joint + self._log_likelihood(said))[1], joint)
        if context.gold is not None:
            joint = np.where(context.known[:, None], clarity.of_known(context.gold, classes), joint)
        return State(np.zeros_like(probability), clarity.rows(joint))

    def read(self, state: State, context: ItemContext) -> Belief:
        votes, clarity = state.votes, self.clarity_of(state.votes.shape[1])
        joint = np.exp(clarity.joint(state.model_state, votes.shape[1]))
        probability, clear = joint.sum(axis=0), clarity.clear(joint)
        return Belief(votes, votes, votes.sum(axis=1), votes + 1, context, probability, clear)

    def chances(self, belief: Belief, skill: Array) -> Array:
        clear = belief.posterior if belief.clear is None else belief.clear
        items, classes = clear.shape
        each = [self.likelihood(skill, np.full(items, c, dtype=np.intp), classes) for c in range(classes)]
        known = np.stack([(clear * of_class).sum(axis=1) for of_class in each], axis=1)
        return np.asarray(known + (1 - clear.sum(axis=1, keepdims=True)) / classes)

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:  # noqa: ARG002  the prior is in the state
        classes = state.votes.shape[1]
        clarity = self.clarity_of(classes)
        gained = self._log_likelihood(self.likelihood(skill, label, classes))
        _, joint = normalise_joint(clarity.joint(state.model_state, classes) + gained)
        return State(one_more_vote(state.votes, label), clarity.rows(joint))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        after, classes = self.after_answer(state, context, skill, label), state.votes.shape[1]
        clarity = self.clarity_of(classes)
        joint = np.exp(clarity.joint(after.model_state, classes))
        knowledge = clarity.knowledge(joint, self.likelihood(skill, label, classes), classes)
        return after, skill + self.skill_gain(knowledge, label)

    def posterior_after(self, state: State, skill: Array) -> PosteriorAfter:
        classes = state.votes.shape[1]
        now = _items_last(self.clarity_of(classes).joint(state.model_state, classes))

        @cache  # the same class is looked at with one number of votes after the other
        def gained_by(c: int) -> Array:
            label = np.full(len(skill), c, dtype=np.intp)
            return _items_last(self._log_likelihood(self.likelihood(skill, label, classes)))

        def after(c: int, votes: Array) -> Array:
            further = now + votes[..., None, None, :] * gained_by(c)
            weight = np.exp(further - further.max(axis=(-3, -2), keepdims=True)).sum(axis=-2)
            return np.asarray((weight / weight.sum(axis=-2, keepdims=True)).swapaxes(-2, -1))

        return after

    def _log_likelihood(self, likelihood: Array) -> Array:
        """What answers of this likelihood add to log P(t, g), up to a constant, shape (degrees, items, classes)."""
        classes = likelihood.shape[1]
        return np.log(self.clarity_of(classes).blurred(likelihood, classes))


def log_normalised(logarithms: Array) -> Array:
    """Logarithms of probabilities that sum to 1 in each row."""
    # Class by class: numpy is several times slower along a short axis.
    shifted = logarithms - reduce(np.maximum, logarithms.T)[:, None]
    return np.asarray(shifted - np.log(reduce(np.add, np.exp(shifted).T))[:, None])


def normalise_joint(logarithms: Array) -> tuple[Array, Array]:
    """Probabilities that sum to 1 over degrees and classes, and their logarithms; each (degrees, items, classes)."""
    shifted = logarithms - reduce(np.maximum, logarithms.max(axis=0).T)[:, None]
    weight = np.exp(shifted)
    total = reduce(np.add, weight.sum(axis=0).T)[:, None]
    return weight / total, shifted - np.log(total)


def _items_last(joint: Array) -> Array:
    """(degrees, items, classes) as (classes, degrees, items): fastest for sums over all but the items."""
    return np.ascontiguousarray(joint.transpose(2, 0, 1))
