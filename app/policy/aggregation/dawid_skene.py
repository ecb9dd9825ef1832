"""One confusion matrix per worker, by expectation maximisation."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.aggregation.base import Aggregation, MaxIterations, pseudo_answers
from app.policy.aggregation.incidence import Incidence, by_worker_and_label
from app.policy.aggregation.run_em import Tolerance, class_shares, posterior_and_evidence, run_em
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus


@dataclass(frozen=True)
class Confusions:
    """The parameters of the Dawid-Skene model."""

    share: Array  # (classes,) how common each class is
    chance: Array  # (workers, classes, classes) P(answer l | truth c), by worker, l, c


class DawidSkene(Aggregation):
    """Fit one confusion matrix per worker by EM (Dawid & Skene, Applied Statistics 28, 1979).

    With q_c the share of class c and pi_jcl the chance that worker j says l where the truth is c,

        E step:  P(i is c) ~ q_c prod over answers (i, j, l) of pi_jcl                                    (Eq. 2.5)
        M step:  pi_jcl ~ s + sum over answers (i, j, l) of P(i is c);  q_c ~ s + sum_i P(i is c)    (Eq. 2.3, 2.4)

    starting from the shares of the votes. The pseudo-count s keeps the estimated error rates above 0; s = 1 is
    Laplace's rule, s -> 0 the paper's maximum likelihood. With two classes this is the two-coin model.
    It keeps workers x classes x classes numbers: with hundreds of classes prefer one-coin.

    The third of three workers always says 1. The last item has only this worker's answer, which says nothing:

    >>> item, worker = np.divmod(np.arange(18), 3)
    >>> answers = [0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    >>> consensus = DawidSkene().fit(Ballots.of([*item, 6], [*worker, 2], [*answers, 1]))
    >>> consensus.posterior[[0, 5, 6]].round(2).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    >>> consensus.confusion[2].round(2).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """

    kind: Literal["dawid-skene"] = "dawid-skene"
    smoothing: Annotated[
        float, Field(ge=1e-12, le=100, description="Pseudo-answers per cell of a worker's confusion matrix")
    ] = 0.01
    max_iterations: MaxIterations = 100
    tolerance: Tolerance = 1e-6

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        given = by_worker_and_label(ballots)
        pseudo = pseudo_answers(ballots, worker_prior)
        prior = self.smoothing + _pseudo_confusions(pseudo, ballots.classes)
        result = run_em(
            self._m_step(ballots.shares(), given, ballots, prior),
            lambda confusions: self._e_step(confusions, given, ballots, prior),
            lambda posterior, _: self._m_step(posterior, given, ballots, prior),
            max_iterations=self.max_iterations,
            smallest_gain=self.tolerance * len(ballots.item),
        )
        return result.consensus(ballots, pseudo, confusion=result.parameters.chance.transpose(0, 2, 1))

    def _e_step(self, confusions: Confusions, given: Incidence, ballots: Ballots, prior: Array) -> tuple[Array, float]:
        log_share, log_chance = np.log(confusions.share), np.log(confusions.chance)
        log_joint = given @ log_chance.reshape(-1, ballots.classes)
        log_joint += log_share
        posterior, evidence = posterior_and_evidence(log_joint, ballots)
        of_pseudo_answers = np.vdot(prior, log_chance) + self.smoothing * log_share.sum()
        return posterior, evidence + float(of_pseudo_answers)

    def _m_step(self, posterior: Array, given: Incidence, ballots: Ballots, prior: Array) -> Confusions:
        counts = (given.T @ posterior).reshape(prior.shape)
        counts += prior
        return Confusions(
            share=class_shares(posterior, ballots, self.smoothing),
            chance=counts / counts.sum(axis=1, keepdims=True),
        )


def _pseudo_confusions(pseudo: Array, classes: int) -> Array:
    """Pseudo-answers as counts: right ones over the diagonal, wrong ones elsewhere; (workers, classes, classes)."""
    right, wrong = pseudo[:, 0, None, None], pseudo[:, 1, None, None]
    diagonal = np.eye(classes)
    return np.asarray(right * diagonal / classes + wrong * (1 - diagonal) / (classes * max(classes - 1, 1)))
