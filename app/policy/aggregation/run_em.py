"""The loop of expectation maximisation, also in its variational form, and the steps that members share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Annotated, Generic, TypeVar

import numpy as np
from pydantic import Field

from app.policy.core.arrays import Array
from app.policy.core.ballots import UNKNOWN, Ballots, Consensus

Parameters = TypeVar("Parameters")

Tolerance = Annotated[
    float, Field(ge=0, le=1, description="Converged once the log-likelihood changes by less than this per answer")
]


@dataclass(frozen=True)
class EMResult(Generic[Parameters]):
    """The result of EM. `posterior` is what the E step gives for `parameters`."""

    parameters: Parameters
    posterior: Array  # (items, classes)
    log_likelihood: float
    iterations: int
    converged: bool

    def consensus(self, ballots: Ballots, pseudo: Array, confusion: Array | None = None) -> Consensus:
        """The result with the workers' expected right and wrong answers, pseudo-answers included."""
        return Consensus(
            posterior=self.posterior,
            informed=ballots.informed,
            right_and_wrong=ballots.right_and_wrong(self.posterior) + pseudo,
            iterations=self.iterations,
            converged=self.converged,
            log_likelihood=self.log_likelihood,
            confusion=confusion,
        )


def run_em(
    start: Parameters,
    e_step: Callable[[Parameters], tuple[Array, float]],
    m_step: Callable[[Array, Parameters], Parameters],
    *,
    max_iterations: int,
    smallest_gain: float,
) -> EMResult[Parameters]:
    """Alternate E and M steps until the log-likelihood stops rising (Dempster, Laird & Rubin, JRSS B 1977)."""
    parameters = start
    posterior, log_likelihood = e_step(parameters)
    for iteration in range(2, max_iterations + 1):
        parameters = m_step(posterior, parameters)
        before = log_likelihood
        posterior, log_likelihood = e_step(parameters)
        if abs(log_likelihood - before) <= smallest_gain:
            return EMResult(parameters, posterior, log_likelihood, iteration, converged=True)
    return EMResult(parameters, posterior, log_likelihood, max_iterations, converged=False)


def posterior_and_evidence(log_joint: Array, ballots: Ballots) -> tuple[Array, float]:
    """Bayes' rule in logs: P(class | answers), shape (items, classes), and the log-probability of all answers.

    With log_joint_ic = log P(truth c, answers of i), the posterior is exp(log_joint_ic - m_i) with
    m_i = log sum_c exp(log_joint_ic), and the evidence is sum_i m_i; for a gold item m_i is that of its known class.

    >>> posterior, evidence = posterior_and_evidence(np.log([[0.06, 0.02]]), Ballots.of([0], [0], [0], classes=2))
    >>> posterior.round(4).tolist(), round(float(np.exp(evidence)), 4)
    ([[0.75, 0.25]], 0.08)
    """
    # Class by class, and in place: numpy is several times slower along a short axis, and new memory costs as much.
    top = reduce(np.maximum, log_joint.T)
    posterior = log_joint - top[:, None]
    np.exp(posterior, out=posterior)
    total = reduce(np.add, posterior.T)
    posterior /= total[:, None]
    evidence = top + np.log(total)
    if ballots.gold is not None:
        of_gold = log_joint[np.arange(ballots.items), np.maximum(ballots.gold, 0)]
        evidence = np.where(ballots.gold == UNKNOWN, evidence, of_gold)
    return ballots.clamped(posterior), float(evidence.sum())


def class_shares(posterior: Array, ballots: Ballots, smoothing: float) -> Array:
    """How common each class is among the items with an answer or a gold label, shape (classes,).

    >>> class_shares(np.array([[0.75, 0.25], [0.5, 0.5]]), Ballots.of([0], [0], [0], items=2, classes=2), 0)
    array([0.75, 0.25])
    """
    counts = ballots.informed @ posterior + smoothing
    return np.asarray(counts / counts.sum())
