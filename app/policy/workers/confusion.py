"""Every worker has a confusion matrix: how often each true class is called each name."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Belief, Facts  # noqa: F401  the doctest has facts
from app.policy.shares import Index
from app.policy.workers.latent_truth import LatentTruth, without
from app.policy.workers.skill_rows import expected

_ALIKE = 1e-12  # chances that are equal on paper


class Confusion(LatentTruth):
    """Bayes by confusion matrices with Dirichlet rows (Dawid and Skene 1979; Liu and Wang, ICML 2012), online.

        p_j <- p_j E[pi_jk] / sum,    pi_j ~ Dirichlet,    row j counts p_j more of the answer k.

    An item has class probabilities p, from its own prior or uniform. Given true class j the worker answers k with
    probability pi_jk, a Dirichlet row whose parameters start with prior[0] on the diagonal and prior[1] spread
    evenly over the other classes. After an answer every row j counts it to the extent p_j of the new p. A skill is the
    matrix of parameters, row after row. Since rows change with every answer, the order of the answers matters a little;
    in a refit it does not.

    >>> model, facts = Confusion(), Facts.plain(1)
    >>> state, _ = model.learn(model.start(facts, 2), facts, model.newcomer(2)[None], np.array([1]))
    >>> model.read(state, facts).posterior.round(6).tolist()
    [[0.2, 0.8]]

    Requirements that count votes see the plain votes; those that ask for the posterior see p.
    """

    kind: Literal["confusion"] = "confusion"
    most_labels: ClassVar[int] = 100  # a worker's skill is a matrix
    tells_classes_apart: ClassVar[bool] = True
    shares_held: ClassVar[float] = 1.0  # level shares would make a habit of the workers of a class that is common

    def newcomer(self, classes: int) -> Array:
        right, wrong = self.prior
        matrix = np.full((classes, classes), wrong / (classes - 1))
        np.fill_diagonal(matrix, right)
        return matrix.ravel()

    def dirichlets(self, skill: Array) -> Array:
        classes = round(skill.shape[1] ** 0.5)
        return skill.reshape(len(skill), classes, classes)

    def packed(self, dirichlets: Array) -> Array:
        return dirichlets.reshape(len(dirichlets), dirichlets.shape[1] ** 2)

    def chances(self, belief: Belief, skill: Array) -> Array:
        return np.asarray(np.einsum("ij,ijk->ik", belief.posterior, expected(self.dirichlets(skill))))

    def gain(self, skill: Array, classes: int) -> Array | None:
        rows = expected(self.dirichlets(skill))  # (items, true class, answer)
        each = np.arange(classes)
        right, wrong = rows[:, each, each], rows.copy()
        wrong[:, each, each] = -np.inf
        most = wrong.max(axis=1)
        wrong[:, each, each] = np.inf
        return np.log(right / most) if (most - wrong.min(axis=1) <= _ALIKE * most).all() else None

    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:  # noqa: ARG002  as many as rows
        return np.asarray(chance[worker, :, label])

    def counted(self, probability: Array, label: Index) -> Array:
        items, classes = probability.shape
        counts = np.zeros((items, classes, classes))
        counts[np.arange(items), :, label] = probability
        return self.packed(counts)

    def log_likelihoods(self, skill: Array, posterior: Array, ballots: Ballots) -> Array:
        rows, cell = self.dirichlets(skill), _cell(ballots)
        found = []
        for truth, chance in enumerate(np.ascontiguousarray(posterior.T)):  # one by one: many classes, little memory
            own = chance[ballots.item]
            fitting = without(rows[:, truth].ravel()[cell], own)
            total = without(rows[:, truth].sum(axis=1)[ballots.worker], own)
            found.append(sum_by(ballots.item, np.log(fitting / total), ballots.items))
        return np.stack(found, axis=1)

    def expected_counts(self, posterior: Array, ballots: Ballots) -> Array:
        cell, cells = _cell(ballots), ballots.workers * ballots.classes
        rows = [sum_by(cell, of_truth[ballots.item], cells) for of_truth in np.ascontiguousarray(posterior.T)]
        return self.packed(np.stack(rows, axis=1).reshape(ballots.workers, ballots.classes, -1).transpose(0, 2, 1))


def _cell(ballots: Ballots) -> Index:
    """The place of each answer in a flat (workers, labels) array, shape (answers,)."""
    return ballots.worker * ballots.classes + ballots.label
