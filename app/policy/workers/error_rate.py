"""Every worker has one rate of error, and every item one true class."""

import numpy as np

from app.policy.aggregation.ballots import Ballots, sum_by
from app.policy.belief import Array, Belief
from app.policy.shares import Index
from app.policy.workers.latent_truth import LatentTruth, without
from app.policy.workers.skill_rows import expected


class ErrorRate(LatentTruth):
    """One accuracy rho ~ Beta(right, wrong) per worker, errors spread evenly over the other classes; online and refit.

        P(answer l | truth c) = rho for l = c, (1 - rho) / (K - 1) otherwise.

    The latent-truth kin of `one-coin`, which lets opinions on an item be divided (Zhang et al., JMLR 17, 2016, section
    2). A skill is (right, wrong), and grows by (p_l, 1 - p_l) with the answer l.
    """

    def chances(self, belief: Belief, skill: Array) -> Array:
        right, wrong = _of_one_class(expected(skill), belief.votes.shape[1])
        return np.asarray(right * belief.posterior + wrong * (1 - belief.posterior))

    def gain(self, skill: Array, classes: int) -> Array:
        right, wrong = _of_one_class(expected(skill), classes)
        return np.broadcast_to(np.log(right / wrong), (len(skill), classes))

    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(chance[worker, 0], classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def counted(self, probability: Array, label: Index) -> Array:
        right = probability[np.arange(len(label)), label]
        return np.stack([right, 1 - right], axis=1)

    def log_likelihoods(self, skill: Array, posterior: Array, ballots: Ballots) -> Array:
        own = posterior.ravel()[ballots.cell]
        right, wrong = (without(skill[ballots.worker, each], part) for each, part in enumerate((own, 1 - own)))
        log_right, log_wrong = np.log(right / (right + wrong)), np.log(wrong / (right + wrong) / (ballots.classes - 1))
        # Every answer counts as wrong under each class; those for the class are put right.
        of_label = sum_by(ballots.cell, log_right - log_wrong, posterior.size).reshape(posterior.shape)
        return np.asarray(of_label + sum_by(ballots.item, log_wrong, ballots.items)[:, None])

    def expected_counts(self, posterior: Array, ballots: Ballots) -> Array:
        return ballots.right_and_wrong(posterior)


def _of_one_class(chance: Array, classes: int) -> tuple[Array, Array]:
    """How likely the true class is named, and any given other one, each (items, 1)."""
    return chance[:, :1], chance[:, 1:] / (classes - 1)
