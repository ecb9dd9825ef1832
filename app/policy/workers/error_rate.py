"""Every worker has one rate of error, and every item one true class."""

from typing import Literal

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
        clear = belief.posterior if belief.clear is None else belief.clear
        knowing = clear.sum(axis=1, keepdims=True)
        return np.asarray(right * clear + wrong * (knowing - clear) + (1 - knowing) / clear.shape[1])

    def fitting(self, chance: Array, worker: Index, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(chance[worker, 0], classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def counted(self, heeding: Array, label: Index) -> Array:
        right = heeding[np.arange(len(label)), label]
        return np.stack([right, heeding.sum(axis=1) - right], axis=1)

    def swept(self, skill: Array, joint: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        who, classes = ballots.worker, ballots.classes
        clarity = self.clarity_of(classes)
        of_label = joint.reshape(len(joint), -1)[:, ballots.cell]  # (degrees, answers)
        of_others = np.einsum("gic->gi", joint)[:, ballots.item] - of_label
        hit, miss = expected(skill)[who].T
        right = clarity.heeding(of_label, hit, classes)
        wrong = clarity.heeding(of_others, miss / (classes - 1), classes)
        found = prior + np.stack([sum_by(who, each, ballots.workers) for each in (right, wrong)], axis=1)
        right, wrong = (without(found[who, each], own) for each, own in enumerate((right, wrong)))
        chances = right / (right + wrong), wrong / (right + wrong) / (classes - 1)
        log_right, log_wrong = (np.log(clarity.chances(each, classes)) for each in chances)
        # Every answer counts as wrong under each class; those for the class are put right.
        likelihoods = [
            sum_by(ballots.cell, r - w, ballots.items * classes).reshape(-1, classes)
            + sum_by(ballots.item, w, ballots.items)[:, None]
            for r, w in zip(log_right, log_wrong, strict=True)
        ]
        return found, np.stack(likelihoods)


class ClearItems(ErrorRate):
    """The same where every item is clear: what other models are compared with, and begin from."""

    kind: Literal["one-coin"] = "one-coin"


def _of_one_class(chance: Array, classes: int) -> tuple[Array, Array]:
    """How likely the true class is named, and any given other one, each (items, 1)."""
    return chance[:, :1], chance[:, 1:] / (classes - 1)
