"""One accuracy per worker, and one true class per item."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.latent_truth import LatentTruth, without
from app.policy.worker_models.inference.repeated_errors import chances_of_wrong


class ErrorRate(LatentTruth):
    """One accuracy rho ~ Beta(right, wrong) per worker, errors spread evenly over the other classes; online and refit.

        P(answer l | truth c) = rho for l = c, (1 - rho) / (K - 1) otherwise.

    Like `one-coin`, but with one true class per item where `one-coin` lets opinions be divided (Zhang et al., JMLR 17,
    2016, section 2). A skill is (right, wrong), and grows by (p_l, 1 - p_l) with the answer l.
    """

    treats_labels_alike: ClassVar[bool] = True

    def chances(self, belief: Belief, skill: Array) -> Array:
        right, wrong = _of_one_class(expected(skill), belief.votes.shape[1])
        if not self.errors_repeat(belief.votes.shape[1]):
            return np.asarray(right * belief.posterior + wrong * (1 - belief.posterior))
        said, weight = chances_of_wrong(belief.votes, belief.posterior, self.spread_of_errors)
        return np.asarray(right * belief.posterior + wrong * said * (weight.sum(axis=1, keepdims=True) - weight))

    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(expected(skill), classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def answer_probability(self, rows: Array, worker: Index, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(rows[worker, 0], classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def skill_gain(self, truth: Array, label: Index) -> Array:
        right = truth[np.arange(len(label)), label]
        return np.stack([right, 1 - right], axis=1)

    def sweep(self, skill: Array, posterior: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:  # noqa: ARG002  one explanation
        who, classes = ballots.worker, ballots.classes
        right = posterior.ravel()[ballots.cell]
        found = prior + ballots.right_and_wrong(posterior)
        right, wrong = (without(found[who, each], own) for each, own in enumerate((right, 1 - right)))
        hit, miss = np.log(right / (right + wrong)), np.log(wrong / (right + wrong) / (classes - 1))
        # Every answer counts as wrong under each class; those for the class are then corrected.
        likelihoods = sum_by(ballots.cell, hit - miss, ballots.items * classes).reshape(-1, classes)
        return found, likelihoods + sum_by(ballots.item, miss, ballots.items)[:, None]


class OneAccuracy(ErrorRate):
    """The same as a model of its own, which others start from and are compared with."""

    kind: Literal["one-coin"] = "one-coin"


def _of_one_class(accuracy: Array, classes: int) -> tuple[Array, Array]:
    """How likely the true class is named, and any given other one, each (items, 1); accuracy is (right, wrong)."""
    return accuracy[:, :1], accuracy[:, 1:] / (classes - 1)
