"""One confusion matrix per worker: how often each true class gets each answer."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief, ItemContext  # noqa: F401  the doctest has a context
from app.policy.core.tuning import TUNED
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.latent_truth import LatentTruth, without
from app.policy.worker_models.inference.repeated_errors import chances_of_wrong


class Confusion(LatentTruth):
    """Learn one confusion matrix per worker, with Dirichlet rows (Dawid and Skene 1979; Liu and Wang, ICML 2012).

        p_j <- p_j E[pi_jk] / sum,    pi_j ~ Dirichlet,    row j counts p_j more of the answer k.

    An item has class probabilities p, from its own prior or uniform. Given true class j the worker answers k with
    probability pi_jk, a Dirichlet row whose parameters start with prior[0] on the diagonal and prior[1] spread
    evenly over the other classes. After an answer every row j counts it to the extent p_j of the new p. A skill is the
    matrix of parameters, row after row. Rows change with every answer, so the order of the answers matters a little; in
    a refit it does not. Requirements that count votes see the plain votes; those on the posterior see p.

    >>> model, context = Confusion(), ItemContext.plain(1)
    >>> state, _ = model.learn(model.start(context, 2), context, model.newcomer(2)[None], np.array([1]))
    >>> model.read(state, context).posterior.round(6).tolist()
    [[0.2, 0.8]]
    """

    kind: Literal["confusion"] = "confusion"
    most_labels: ClassVar[int] = 100  # a worker's skill is a matrix
    # With equal shares, a common class would look like a bias of the workers.
    shares_held: ClassVar[float] = TUNED.stages.shares_held_by_rows

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
        rows, classes = expected(self.dirichlets(skill)), belief.votes.shape[1]
        if not self.errors_repeat(classes):
            return np.asarray(np.einsum("ij,ijk->ik", belief.posterior, rows))
        said, weight = chances_of_wrong(belief.votes, belief.posterior, self.spread_of_errors)
        right = np.einsum("ijj->ij", rows)
        wrong = said * (np.einsum("ij,ijk->ik", weight, rows) - weight * right)
        found = belief.posterior * right + wrong
        return np.asarray(found / found.sum(axis=1, keepdims=True))

    def answer_probability(self, rows: Array, worker: Index, label: Index, classes: int) -> Array:  # noqa: ARG002  one row each
        return np.asarray(rows[worker, :, label])

    def skill_gain(self, truth: Array, label: Index) -> Array:
        items, classes = truth.shape
        counts = np.zeros((items, classes, classes))
        counts[np.arange(items), :, label] = truth
        return self.packed(counts)

    def sweep(self, skill: Array, posterior: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:  # noqa: ARG002  one explanation
        cell, rows, likelihoods = _cell(ballots), [], []
        for truth in range(ballots.classes):  # one by one, to save memory with many classes
            own = posterior[:, truth][ballots.item]
            counts = sum_by(cell, own, ballots.workers * ballots.classes).reshape(ballots.workers, ballots.classes)
            row = self.dirichlets(prior)[:, truth] + counts
            same, total = without(row.ravel()[cell], own), without(row.sum(axis=1)[ballots.worker], own)
            likelihoods.append(sum_by(ballots.item, np.log(same / total), ballots.items))
            rows.append(row)
        return self.packed(np.stack(rows, axis=1)), np.stack(likelihoods, axis=1)


def _cell(ballots: Ballots) -> Index:
    """The position of each answer in a flat (workers, labels) array, shape (answers,)."""
    return ballots.worker * ballots.classes + ballots.label
