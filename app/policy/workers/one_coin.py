"""Every worker has one accuracy, and every answer teaches about the item and about its worker."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import one_more_vote
from app.policy.workers.counted_votes import first_parameters, prior_votes
from app.policy.workers.leave_one_out import DividedOpinions
from app.policy.workers.moments import matched, row_sum


class OneCoin(DividedOpinions):
    """An item's shares theta ~ Dirichlet(alpha), a worker's accuracy rho ~ Beta(c, d) (Chen et al., ICML 2013, 4).

        Pr(answer k) = rho theta_k + (1 - rho)(1 - theta_k) / (K - 1).

    The worker says what a perfect worker would say or, with probability 1 - rho, any of the other classes alike (K = 2:
    Eq. 13). After the answer k the item is a mixture of Dirichlet(alpha + e_j) with weights alpha_j E[rho] for j = k
    and alpha_j E[1 - rho] / (K - 1) for the others, and the worker one of Beta(c + 1, d) and Beta(c, d + 1); both are
    matched by their moments. So the order of the answers matters a little: only votes are the same in any order.

    With a = b = 1 and a newcomer's c, d = 4, 1 the item becomes Beta(15/11, 10/11), and the first answer on a fresh
    item teaches nothing about its worker:

    >>> model, facts = OneCoin(), Facts.plain(1)
    >>> state, skill = model.learn(model.start(facts, 2), facts, np.array([[4.0, 1.0]]), np.array([0]))
    >>> (state.evidence * 11).round(6).tolist(), skill.round(6).tolist()
    ([[15.0, 10.0]], [[4.0, 1.0]])

    `belief.weights` are the parameters gained over the prior, at least 0: votes in units of a perfect worker's.
    """

    kind: Literal["one-coin"] = "one-coin"

    def start(self, facts: Facts, classes: int) -> State:
        alpha = first_parameters(facts, classes, self.prior_weight)
        return State(np.zeros_like(alpha), alpha)

    def read(self, state: State, facts: Facts) -> Belief:
        return belief_of_parameters(state, facts, self.prior_weight)

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / row_sum(belief.alpha)
        right, wrong = _right_and_wrong(skill, share.shape[1])
        return np.asarray(right * share + wrong * (1 - share))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:
        return self.answered(state, facts, skill, label), matched(skill, _coins(state.evidence, skill, label))

    def answered(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> State:  # noqa: ARG002  the prior is in the evidence
        rows, alpha = np.arange(len(label)), state.evidence
        right, wrong = _right_and_wrong(skill, alpha.shape[1])
        fitting = wrong * alpha
        fitting[rows, label] = right[:, 0] * alpha[rows, label]
        return State(one_more_vote(state.votes, label), matched(alpha, fitting / row_sum(fitting)))

    def fitting(self, skill: Array, ballots: Ballots) -> Array:
        right, wrong = _right_and_wrong(skill, ballots.classes)
        same = ballots.label == np.arange(ballots.classes)[:, None]
        return np.asarray(np.where(same, right[ballots.worker, 0], wrong[ballots.worker, 0]))

    def counted(self, shown: Array, ballots: Ballots) -> Array:
        chance = shown[ballots.label, np.arange(len(ballots.label))]
        coins = (sum_by(ballots.worker, each, ballots.workers) for each in (chance, 1 - chance))
        return np.stack(list(coins), axis=1)


def belief_of_parameters(state: State, facts: Facts, prior_weight: float) -> Belief:
    """The belief of a model whose evidence is the Dirichlet's parameters."""
    weights = np.maximum(state.evidence - 1 - prior_votes(facts, prior_weight), 0.0)
    return Belief(state.votes, weights, row_sum(weights)[:, 0], state.evidence, facts)


def _coins(alpha: Array, skill: Array, label: npt.NDArray[np.intp]) -> Array:
    """How likely the worker was right, and was wrong, in giving this answer; shape (items, 2)."""
    rows = np.arange(len(label))
    right, wrong = _right_and_wrong(skill, alpha.shape[1])
    others = alpha.copy()
    others[rows, label] = 0.0
    fitting = np.stack([right[:, 0] * alpha[rows, label], wrong[:, 0] * others.sum(axis=1)], axis=1)
    return np.asarray(fitting / row_sum(fitting))


def _right_and_wrong(skill: Array, classes: int) -> tuple[Array, Array]:
    """How likely the worker names the class a perfect worker would name, and any given other one, each (items, 1)."""
    mean = skill / row_sum(skill)
    return mean[:, :1], mean[:, 1:] / (classes - 1)
