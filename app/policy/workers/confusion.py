"""Every worker has a confusion matrix: how often each true class is called each name."""

from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from app.policy.belief import Array, Belief, Facts, State
from app.policy.workers.base import SkillPrior, WorkerModel, one_more_vote

_LEAST_PRIOR = 1e-6  # a prior of exactly 0 could never be corrected by any number of answers


class Confusion(WorkerModel):
    """Bayes by confusion matrices with Dirichlet rows (Dawid and Skene 1979; Liu and Wang, ICML 2012), online.

        p_j <- p_j E[pi_jk] / sum,    pi_j ~ Dirichlet,    row j counts p_j more of the answer k.

    An item has class probabilities p, from its own prior or uniform. Given true class j the worker answers k with
    probability pi_jk, a Dirichlet row whose parameters start with prior[0] on the diagonal and prior[1] spread
    evenly over the other classes. After the answer k: p_j <- p_j E[pi_jk] / sum, then every row j counts one more k,
    to the extent p_j of the new p. A skill is the matrix of parameters, row after row. Since rows change with every
    answer, the order of the answers matters a little.

    >>> model, facts = Confusion(), Facts.plain(1)
    >>> state, _ = model.learn(model.start(facts, 2), facts, model.newcomer(2)[None], np.array([1]))
    >>> model.read(state, facts).posterior.round(6).tolist()
    [[0.2, 0.8]]

    Requirements that count votes see the plain votes; those that ask for the posterior see p.
    """

    kind: Literal["confusion"] = "confusion"
    most_labels: ClassVar[int] = 100  # a worker's skill is a matrix
    tells_classes_apart: ClassVar[bool] = True
    prior: SkillPrior = (4.0, 1.0)

    def newcomer(self, classes: int) -> Array:
        right, wrong = self.prior
        matrix = np.full((classes, classes), wrong / (classes - 1))
        np.fill_diagonal(matrix, right)
        return matrix.ravel()

    def start(self, facts: Facts, classes: int) -> State:
        probability = np.full((len(facts.cost), classes), 1 / classes)
        if facts.prior is not None:
            probability = np.where(np.isnan(facts.prior), probability, np.maximum(facts.prior, _LEAST_PRIOR))
        return State(np.zeros_like(probability), _normalised(np.log(probability)))

    def read(self, state: State, facts: Facts) -> Belief:
        votes = state.votes
        return Belief(votes, votes, votes.sum(axis=1), votes + 1, facts, np.exp(state.evidence))

    def chances(self, belief: Belief, skill: Array) -> Array:
        return np.asarray(np.einsum("ij,ijk->ik", belief.posterior, _rows(skill, belief.votes.shape[1])))

    def learn(self, state: State, facts: Facts, skill: Array, label: npt.NDArray[np.intp]) -> tuple[State, Array]:  # noqa: ARG002  the prior is in the evidence
        items, classes = state.votes.shape
        each = np.arange(items)
        fitting = _rows(skill, classes)[each, :, label]
        evidence = _normalised(state.evidence + np.log(fitting))
        learned = skill.reshape(items, classes, classes).copy()
        learned[each, :, label] += np.exp(evidence)
        return State(one_more_vote(state.votes, label), evidence), learned.reshape(skill.shape)

    def accuracy(self, skill: Array) -> Array:
        """The mean of the diagonal: every class counts alike."""
        classes = round(skill.shape[1] ** 0.5)
        return np.asarray(np.einsum("ijj->i", _rows(skill, classes)) / classes)


def _rows(skill: Array, classes: int) -> Array:
    """E pi_jk, shape (items, true class j, answer k)."""
    matrix = skill.reshape(len(skill), classes, classes)
    return np.asarray(matrix / matrix.sum(axis=2, keepdims=True))


def _normalised(logarithms: Array) -> Array:
    """Logarithms of probabilities that sum to 1 in each row."""
    shifted = logarithms - logarithms.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))
