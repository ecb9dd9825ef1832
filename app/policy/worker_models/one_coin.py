"""One accuracy per worker, learned from every answer."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.worker_models.inference.expectation_propagation import OpinionShares
from app.policy.worker_models.inference.moment_matching import match_moments, row_sum


class OneCoin(OpinionShares):
    """Learn one accuracy per worker; opinions on an item may be divided (Chen et al., ICML 2013, section 4).

        Pr(answer k) = rho theta_k + (1 - rho)(1 - theta_k) / (K - 1).

    An item has shares theta ~ Dirichlet(alpha), and a worker has an accuracy rho ~ Beta(c, d). The worker says what a
    perfect worker would say or, with probability 1 - rho, one of the other classes, each equally likely (K = 2:
    Eq. 13). After the answer k the item is a mixture of Dirichlet(alpha + e_j), with weights alpha_j E[rho] for j = k
    and alpha_j E[1 - rho] / (K - 1) for the others, and the worker is a mixture of Beta(c + 1, d) and Beta(c, d + 1).
    Each mixture is replaced by one distribution with the same moments. So the order of the answers matters a little;
    only the votes are the same in any order. `belief.weights` are the parameters gained over the prior, at least 0:
    votes in units of a perfect worker's vote.

    alpha starts with `pseudo_votes` for each class: 1 is the uniform prior, 1/2 Jeffreys'.

    With a = b = 1 and a new worker's c, d = 4, 1 the item becomes Beta(15/11, 10/11), and the first answer on a fresh
    item says nothing about its worker:

    >>> model, context = OneCoin(), ItemContext.plain(1)
    >>> state, skill = model.learn(model.start(context, 2), context, np.array([[4.0, 1.0]]), np.array([0]))
    >>> (state.model_state * 11).round(6).tolist(), skill.round(6).tolist()
    ([[15.0, 10.0]], [[4.0, 1.0]])
    """

    kind: Literal["one-coin"] = "one-coin"
    treats_labels_alike: ClassVar[bool] = True

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / row_sum(belief.alpha)
        right, wrong = _right_and_wrong(skill, share.shape[1])
        return np.asarray(right * share + wrong * (1 - share))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:
        return self.after_answer(state, context, skill, label), match_moments(
            skill, _coins(state.model_state, skill, label)
        )

    def after_answer(self, state: State, context: ItemContext, skill: Array, label: Index) -> State:  # noqa: ARG002  the prior is in the state
        rows, alpha = np.arange(len(label)), state.model_state
        right, wrong = _right_and_wrong(skill, alpha.shape[1])
        likely = wrong * alpha
        likely[rows, label] = right[:, 0] * alpha[rows, label]
        return State(one_more_vote(state.votes, label), match_moments(alpha, likely / row_sum(likely)))

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:  # noqa: ARG002  the prior is in the state
        """Answers for one class leave the others in proportion, so that one number stands for all of them."""
        rows, alpha = np.arange(len(label)), state.model_state
        own, others = one_against_others(alpha, label, *_right_and_wrong(skill, alpha.shape[1]), times)
        kept = alpha.copy()
        kept[rows, label] = 0.0
        model_state = others[:, :, None] * kept
        model_state[:, rows, label] = own
        votes = np.repeat(state.votes[None], times, axis=0)
        votes[:, rows, label] += np.arange(1, times + 1)[:, None]
        return State(votes.reshape(-1, votes.shape[2]), model_state.reshape(-1, votes.shape[2]))

    def answer_likelihood(self, skill: Array, ballots: Ballots) -> Array:
        right, wrong = _right_and_wrong(skill, ballots.classes)
        same = ballots.label == np.arange(ballots.classes)[:, None]
        return np.asarray(np.where(same, right[ballots.worker, 0], wrong[ballots.worker, 0]))

    def skill_counts(self, truth: Array, ballots: Ballots) -> Array:
        chance = truth[ballots.label, np.arange(len(ballots.label))]
        coins = (sum_by(ballots.worker, each, ballots.workers) for each in (chance, 1 - chance))
        return np.stack(list(coins), axis=1)


def one_against_others(alpha: Array, label: Index, right: Array, wrong: Array, times: int) -> tuple[Array, Array]:
    """The parameter of class label[i] after 1, 2, ... answers for it, and the factor of the others; (times, items).

    With a the parameter of the class, s the sum of the others and u = 1 - sum of their squares / s^2, which stays as it
    is, an answer is for the class with the weight p = right a / (right a + wrong s), and the moments of `match_moments`
    need a, s and u alone.
    """
    each = np.arange(len(label))
    a, others = alpha[each, label], alpha.copy()
    others[each, label] = 0.0
    first = others.sum(axis=1)
    u = (others * (first[:, None] - others)).sum(axis=1) / first**2
    s, own, factor = first, np.empty((times, len(a))), np.empty((times, len(a)))
    for number in range(times):
        p = right[:, 0] * a / (right[:, 0] * a + wrong[:, 0] * s)
        q, total = 1 - p, a + s
        pairs = 2 * a * s + u * s**2 + 2 * (p * s + q * (a + u * s))
        spread = pairs / ((total + 1) * (total + 2))
        variance = spread / (total + 1) + q * (2 * p + u * q) / (total + 1) ** 2
        size = np.divide(spread, variance, out=total + 1, where=variance > 0) / (total + 1)
        a, s = (a + p) * size, (s + q) * size
        own[number], factor[number] = a, s / first
    return own, factor


def _coins(alpha: Array, skill: Array, label: Index) -> Array:
    """How likely the worker was right, and was wrong, in giving this answer; shape (items, 2)."""
    rows = np.arange(len(label))
    right, wrong = _right_and_wrong(skill, alpha.shape[1])
    others = alpha.copy()
    others[rows, label] = 0.0
    likely = np.stack([right[:, 0] * alpha[rows, label], wrong[:, 0] * others.sum(axis=1)], axis=1)
    return np.asarray(likely / row_sum(likely))


def _right_and_wrong(skill: Array, classes: int) -> tuple[Array, Array]:
    """How likely the worker names the class a perfect worker would name, and any given other one, each (items, 1)."""
    mean = skill / row_sum(skill)
    return mean[:, :1], mean[:, 1:] / (classes - 1)
