"""One accuracy per worker, and one true class per item."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.core.arrays import Array, Index
from app.policy.core.ballots import Ballots, sum_by
from app.policy.core.belief import Belief
from app.policy.worker_models.inference.dirichlet_skills import expected
from app.policy.worker_models.inference.latent_truth import LatentTruth, without


class ErrorRate(LatentTruth):
    """One accuracy rho ~ Beta(right, wrong) per worker, errors spread evenly over the other classes; online and refit.

        P(answer l | truth c) = rho for l = c, (1 - rho) / (K - 1) otherwise.

    Like `one-coin`, but with one true class per item where `one-coin` lets opinions be divided (Zhang et al., JMLR 17,
    2016, section 2). A skill is (right, wrong), and grows by (p_l, 1 - p_l) with the answer l.
    """

    treats_labels_alike: ClassVar[bool] = True

    def chances(self, belief: Belief, skill: Array) -> Array:
        right, wrong = _of_one_class(expected(skill), belief.votes.shape[1])
        clear = belief.posterior if belief.clear is None else belief.clear
        knowing = clear.sum(axis=1, keepdims=True)
        return np.asarray(right * clear + wrong * (knowing - clear) + (1 - knowing) / clear.shape[1])

    def likelihood(self, skill: Array, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(expected(skill), classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def answer_probability(self, rows: Array, worker: Index, label: Index, classes: int) -> Array:
        right, wrong = _of_one_class(rows[worker, 0], classes)
        return np.where(label[:, None] == np.arange(classes), right, wrong)

    def skill_gain(self, knowledge: Array, label: Index) -> Array:
        right = knowledge[np.arange(len(label)), label]
        return np.stack([right, knowledge.sum(axis=1) - right], axis=1)

    def sweep(self, skill: Array, joint: Array, prior: Array, ballots: Ballots) -> tuple[Array, Array]:
        who, classes = ballots.worker, ballots.classes
        clarity = self.clarity_of(classes)
        of_label = joint.reshape(len(joint), -1)[:, ballots.cell]  # (degrees, answers)
        of_others = np.einsum("gic->gi", joint)[:, ballots.item] - of_label
        hit, miss = expected(skill)[who].T
        right = clarity.knowledge(of_label, hit, classes)
        wrong = clarity.knowledge(of_others, miss / (classes - 1), classes)
        found = prior + np.stack([sum_by(who, each, ballots.workers) for each in (right, wrong)], axis=1)
        right, wrong = (without(found[who, each], own) for each, own in enumerate((right, wrong)))
        probability = right / (right + wrong), wrong / (right + wrong) / (classes - 1)
        log_right, log_wrong = (np.log(clarity.blurred(each, classes)) for each in probability)
        # Every answer counts as wrong under each class; those for the class are then corrected.
        likelihoods = [
            sum_by(ballots.cell, r - w, ballots.items * classes).reshape(-1, classes)
            + sum_by(ballots.item, w, ballots.items)[:, None]
            for r, w in zip(log_right, log_wrong, strict=True)
        ]
        return found, np.stack(likelihoods)


class ClearItems(ErrorRate):
    """The same where every item is clear: the model that others are compared with and start from."""

    kind: Literal["one-coin"] = "one-coin"


def _of_one_class(accuracy: Array, classes: int) -> tuple[Array, Array]:
    """How likely the true class is named, and any given other one, each (items, 1); accuracy is (right, wrong)."""
    return accuracy[:, :1], accuracy[:, 1:] / (classes - 1)
