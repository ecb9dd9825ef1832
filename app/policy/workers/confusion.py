"""Every worker has a confusion matrix: how often each true class is called each name."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Belief, Facts  # noqa: F401  the doctest has facts
from app.policy.shares import Index
from app.policy.workers.latent_truth import LatentTruth, without
from app.policy.workers.skill_rows import expected


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
        clear = belief.posterior if belief.clear is None else belief.clear
        known = np.einsum("ij,ijk->ik", clear, expected(self.dirichlets(skill)))
        return np.asarray(known + (1 - clear.sum(axis=1, keepdims=True)) / clear.shape[1])

    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:  # noqa: ARG002  as many as rows
        return np.asarray(chance[worker, :, label])

    def counted(self, heeding: Array, label: Index) -> Array:
        items, classes = heeding.shape
        counts = np.zeros((items, classes, classes))
        counts[np.arange(items), :, label] = heeding
        return self.packed(counts)

    def swept(self, skill: Array, joint: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        rows, cell, found, likelihoods = expected(self.dirichlets(skill)), _cell(ballots), [], []
        clarity = self.clarity_of(ballots.classes)
        for truth in range(ballots.classes):  # one by one: many classes, little memory
            of_truth = np.ascontiguousarray(joint[:, :, truth])[:, ballots.item]  # (degrees, answers)
            own = clarity.heeding(of_truth, rows[:, truth].ravel()[cell], ballots.classes)
            counts = sum_by(cell, own, ballots.workers * ballots.classes).reshape(ballots.workers, ballots.classes)
            row = self.dirichlets(prior)[:, truth] + counts
            fitting, total = without(row.ravel()[cell], own), without(row.sum(axis=1)[ballots.worker], own)
            chances = np.log(clarity.chances(fitting / total, ballots.classes))
            likelihoods.append(np.stack([sum_by(ballots.item, each, ballots.items) for each in chances]))
            found.append(row)
        return self.packed(np.stack(found, axis=1)), np.stack(likelihoods, axis=2)


def _cell(ballots: Ballots) -> Index:
    """The place of each answer in a flat (workers, labels) array, shape (answers,)."""
    return ballots.worker * ballots.classes + ballots.label
