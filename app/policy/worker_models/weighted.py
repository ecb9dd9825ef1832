"""Weigh votes by maximum likelihood, each by the reliability that its worker had when giving it."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief, ItemContext, State, one_more_vote
from app.policy.core.policy import ONE_LABEL
from app.policy.worker_models.inference.counted_votes import DirichletShares
from app.policy.worker_models.inference.dirichlet_skills import DirichletSkills

_MOST_STEPS = 60  # about six are needed
_CLOSE = 1e-15
_TIE = 1e-9  # strengths that are equal on paper differ in the last bits of a float
_BALLOT = 2  # numbers kept per answer: its label, and its worker's reliability


class Weighted(DirichletShares, DirichletSkills):
    """Weigh votes by the workers' reliability, by maximum likelihood (Li et al., WSDM 2016, Eq. 8 to 10).

        P = argmax prod_j (theta_j P + (1 - theta_j)(1 - P)),    a~ = P n,    b~ = (1 - P) n.

    theta_j is the reliability of the worker of ballot j. The product is over all ballots, P and 1 - P exchanged for
    those against the class, and over one perfect pseudo-ballot each; n counts them all, and `belief.weights` = a~ - 1.
    A reliability below 1/2 needs no flipping of signs: the likelihood is the same.

    The state is the ballots (label, theta), side by side, padded with NaN. A skill is (right, wrong) pseudo-counts,
    theta = right / (right + wrong), which grow when items finish (`score`), not at the vote. Looking ahead
    assumes a new worker where none is named; the paper takes the worst worker seen.

    More than two classes: the strongest class is compared with each other one by its ballots for either. A worker
    who is right with theta and spreads errors evenly over K - 1 classes is right with theta / (theta + (1 - theta) /
    (K - 1)) when the answer is one of the two. The order of ballots never matters.

    One ballot of a worker with theta = 0.8 against the pseudo-ballots: P solves 0.6 / (0.2 + 0.6 P) + 1/P = 1/(1 - P).

    >>> model, context = Weighted(), ItemContext.plain(1)
    >>> state, _ = model.learn(model.start(context, 2), context, np.array([[4.0, 1.0]]), np.array([0]))
    >>> (model.read(state, context).weights + 1).round(4).tolist()
    [[1.8685, 1.1315]]
    """

    kind: Literal["weighted"] = "weighted"
    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL
    treats_labels_alike: ClassVar[bool] = True

    def start(self, context: ItemContext, classes: int) -> State:
        items = len(context.cost)
        return State(np.zeros((items, classes)), np.empty((items, 0)))

    def read(self, state: State, context: ItemContext) -> Belief:
        weights = np.maximum(weighted_counts(state) - 1, 0.0)  # without votes it is 0, or in floats -4e-16
        return Belief(state.votes, weights, state.votes.sum(axis=1), self.parameters(weights, context), context)

    def chances(self, belief: Belief, skill: Array) -> Array:
        share = belief.alpha / belief.alpha.sum(axis=1, keepdims=True)
        theta = self.accuracy(skill)[:, None]
        return np.asarray(theta * share + (1 - theta) / (share.shape[1] - 1) * (1 - share))

    def learn(self, state: State, context: ItemContext, skill: Array, label: Index) -> tuple[State, Array]:  # noqa: ARG002  ballots
        items, width = state.model_state.shape
        ballots = np.full((items, width // _BALLOT + 1, _BALLOT), np.nan)
        ballots[:, :-1] = state.model_state.reshape(items, width // _BALLOT, _BALLOT)
        free = np.isnan(ballots[:, :, 0]).argmax(axis=1)
        ballots[np.arange(items), free] = np.stack([label, self.accuracy(skill)], axis=1)
        if np.isnan(ballots[:, -1]).all():
            ballots = ballots[:, :-1]
        return State(one_more_vote(state.votes, label), ballots.reshape(items, ballots.shape[1] * _BALLOT)), skill

    def after_answers(self, state: State, context: ItemContext, skill: Array, label: Index, times: int) -> State:  # noqa: ARG002  ballots
        """With as many equal ballots."""
        items, width = state.model_state.shape
        ballots = np.full((times, items, width + times * _BALLOT), np.nan)
        ballots[:, :, :width] = state.model_state
        votes = np.repeat(state.votes[None], times, axis=0)
        votes[:, np.arange(items), label] += np.arange(1, times + 1)[:, None]
        ballot = np.stack([label, self.accuracy(skill)], axis=1)
        for number in range(times):
            begin = width + number * _BALLOT
            ballots[number:, :, begin : begin + _BALLOT] = ballot
        return State(votes.reshape(times * items, -1), ballots.reshape(times * items, -1))

    def score(self, skill: Array, agreed: Mask) -> Array:
        return skill + np.stack([agreed, ~agreed], axis=1)


def weighted_counts(state: State) -> Array:
    """a~ of every class against the strongest one, one pseudo-ballot each included, shape (items, classes)."""
    items, classes = state.votes.shape
    ballots = state.model_state.reshape(items, state.model_state.shape[1] // _BALLOT, _BALLOT)
    label, theta = np.nan_to_num(ballots[:, :, 0], nan=-1).astype(np.intp), ballots[:, :, 1]
    right = theta * (classes - 1)
    pull = np.nan_to_num((right - (1 - theta)) / (right + (1 - theta)))  # 2 theta - 1 between two classes
    rows = np.arange(items)
    cell = rows[:, None] * classes + np.maximum(label, 0)  # a ballot that is none has no pull
    strength = np.bincount(cell.ravel(), pull.ravel(), items * classes).reshape(items, classes)
    strongest = strength >= strength.max(axis=1, keepdims=True) - _TIE
    leader = np.where(strongest, state.votes, -1).argmax(axis=1)  # among equals, most votes
    share = _shares(label, pull, leader, state.votes > 0)
    size = state.votes[rows, leader][:, None] + state.votes + 2
    counts = (1 - share) * size
    counts[rows, leader] = 0.0  # the leader is compared with its strongest rival
    rival = counts.argmax(axis=1)
    alike = strongest & (state.votes == state.votes[rows, leader][:, None])  # those tied with the leader get its counts
    return np.asarray(np.where(alike, (share * size)[rows, rival][:, None], counts))


def _shares(label: Index, pull: Array, leader: Index, voted: Mask) -> Array:
    """P of Eq. 9 for the leader against each class, (items, classes); those without votes are computed once."""
    computed = voted.copy()
    stands_for = (~voted).argmax(axis=1)  # the first class without votes; where there is none, it is not used
    computed[np.arange(len(voted)), stands_for] = True
    item, rival = np.nonzero(computed)
    said = label[item]
    for_leader = (said == leader[item][:, None]).astype(np.float64) - (said == rival[:, None])
    share = np.empty(voted.shape)
    share[computed] = most_likely_share(pull[item] * for_leader)
    return np.where(computed, share, np.take_along_axis(share, stands_for[:, None], axis=1))


def most_likely_share(pull: Array) -> Array:
    """P of Eq. 9 by Newton's method; pull is 2 theta - 1 for a ballot in favour, its negative against, 0 for none.

    Each ballot has likelihood 1/2 + pull (P - 1/2), so the logarithm is concave and its derivative falls from
    infinity at P = 0 to minus infinity at P = 1. A step that leaves the interval in which P must lie halves it instead.

    >>> most_likely_share(np.array([[1.0, 1.0, -1.0]])).round(6).tolist()  # perfect workers: (2 + 1) of (3 + 2)
    [0.6]
    """
    low, share, high = (np.full(len(pull), each) for each in (_CLOSE, 0.5, 1 - _CLOSE))
    moving = np.ones(len(pull), dtype=bool)  # each row stops by itself, so that others do not change its last bits
    for _ in range(_MOST_STEPS):
        each = pull / (0.5 + pull * (share[:, None] - 0.5))
        slope = each.sum(axis=1) + 1 / share - 1 / (1 - share)
        low, high = np.where(slope > 0, share, low), np.where(slope > 0, high, share)
        step = slope / ((each**2).sum(axis=1) + 1 / share**2 + 1 / (1 - share) ** 2)
        outside = (share + step < low) | (share + step > high)
        found = np.where(outside, (low + high) / 2, share + step)
        still = moving & (np.abs(found - share) > _CLOSE)
        share, moving = np.where(moving, found, share), still
        if not moving.any():
            break
    return share
