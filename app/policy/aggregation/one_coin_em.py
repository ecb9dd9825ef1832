"""One accuracy per worker, by expectation maximisation or its variational form."""

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.aggregation.base import Aggregation, MaxIterations, pseudo_answers
from app.policy.aggregation.incidence import Incidence, by_worker
from app.policy.aggregation.run_em import Tolerance, class_shares, posterior_and_evidence, run_em
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus

_NEVER_IMPOSSIBLE = 1e-6  # pseudo-items per class, so that the log of a share stays finite


@dataclass(frozen=True)
class Coins:
    """The parameters of the one-coin model."""

    share: Array  # (classes,) how common each class is
    beta: Array  # (workers, 2) right and wrong answers, prior included


class OneCoinEM(Aggregation):
    """Fit one accuracy p_j per worker, with errors spread evenly over the other classes (Zhang et al., JMLR 17, 2016).

        E step:  P(i is c) ~ q_c exp( sum over answers (i, j, c) of w_j ),   w_j = E log p_j - E log (1 - p_j)/(K - 1)
        M step:  p_j ~ Beta(a + expected right answers of j, b + expected wrong ones)

    `em` replaces p_j by its mean, (a + right) / (a + b + all); except for the pseudo-answers this is EM. `variational`
    keeps its distribution, E log p_j = digamma(a + right) - digamma(a + b + all): the mean field of Liu, Peng & Ihler
    (NIPS 2012), in which a worker with few answers weighs less. The log-likelihood is then its lower bound. Classes are
    equally common, q_c = 1/K, unless `class_shares` is `estimated`, q_c ~ sum_i P(i is c). That estimate can go far
    wrong with a biased crowd (bluebirds: 58 % right; with equal shares 72 %).

    Votes 0 0 0, 1 1 1 and 0 0 1. The first two workers have 2 2/3 of 3 expected right, p = 14/18 with Beta(2, 1), the
    third 2 1/3, p = 13/18; so the odds of the third item are 3.5 * 3.5 / 2.6, or 0.8249:

    >>> ballots = Ballots.of(*np.divmod(np.arange(9), 3), [0, 0, 0, 1, 1, 1, 0, 0, 1])
    >>> OneCoinEM(max_iterations=1).fit(ballots).posterior.round(4).tolist()
    [[0.9696, 0.0304], [0.0304, 0.9696], [0.8249, 0.1751]]
    """

    kind: Literal["one-coin"] = "one-coin"
    method: Annotated[
        Literal["em", "variational"],
        Field(description="Fit one accuracy per worker (em), or a distribution over it (variational)"),
    ] = "em"
    class_shares: Annotated[
        Literal["equal", "estimated"],
        Field(description="How common the classes are: all equally, or as the fit estimates"),
    ] = "equal"
    prior_right: Annotated[float, Field(gt=0, le=1000, description="Right pseudo-answers of every worker (a)")] = 2.0
    prior_wrong: Annotated[float, Field(gt=0, le=1000, description="Wrong pseudo-answers of every worker (b)")] = 1.0
    max_iterations: MaxIterations = 200
    tolerance: Tolerance = 1e-7

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        given = by_worker(ballots)
        pseudo = pseudo_answers(ballots, worker_prior)
        prior = pseudo + np.array([self.prior_right, self.prior_wrong])
        e_step = _e_step if self.method == "em" else _variational_e_step
        result = run_em(
            self._m_step(ballots.shares(), given, ballots, prior),
            lambda coins: e_step(coins, given, ballots, prior),
            lambda posterior, _: self._m_step(posterior, given, ballots, prior),
            max_iterations=self.max_iterations,
            smallest_gain=self.tolerance * len(ballots.item),
        )
        return result.consensus(ballots, pseudo)

    def _m_step(self, posterior: Array, given: Incidence, ballots: Ballots, prior: Array) -> Coins:
        right = np.asarray(given.T @ posterior.ravel())
        answers = np.bincount(ballots.worker, minlength=ballots.workers)
        equal = np.full(ballots.classes, 1 / ballots.classes)
        estimated = class_shares(posterior, ballots, _NEVER_IMPOSSIBLE)
        return Coins(
            share=equal if self.class_shares == "equal" else estimated,
            beta=np.stack([right, answers - right], axis=1) + prior,
        )


def _e_step(coins: Coins, given: Incidence, ballots: Ballots, prior: Array) -> tuple[Array, float]:
    log_chance = np.log(coins.beta / coins.beta.sum(axis=1, keepdims=True))
    posterior, evidence = _weigh(log_chance, coins.share, given, ballots)
    return posterior, evidence + float(np.vdot(prior, log_chance))


def _variational_e_step(coins: Coins, given: Incidence, ballots: Ballots, prior: Array) -> tuple[Array, float]:
    expected_log_chance = special.digamma(coins.beta) - special.digamma(coins.beta.sum(axis=1, keepdims=True))
    posterior, evidence = _weigh(expected_log_chance, coins.share, given, ballots)
    return posterior, evidence - float(_divergence(coins.beta, prior, expected_log_chance).sum())


def _weigh(log_chance: Array, share: Array, given: Incidence, ballots: Ballots) -> tuple[Array, float]:
    """Posterior and log-likelihood when worker j is right, or wrong, with these log-chances, shape (workers, 2)."""
    log_right, log_wrong = log_chance[:, 0], log_chance[:, 1] - np.log(max(ballots.classes - 1, 1))
    log_joint = (given @ (log_right - log_wrong)).reshape(ballots.items, ballots.classes)
    log_joint += np.log(share)
    posterior, evidence = posterior_and_evidence(log_joint, ballots)
    # The weights above are relative to a wrong answer, so this adds the constant that they leave out.
    return posterior, evidence + float(log_wrong[ballots.worker].sum())


def _divergence(beta: Array, prior: Array, expected_log_chance: Array) -> Array:
    """KL(Beta(beta) || Beta(prior)) of each worker, shape (workers,)."""
    gained = ((beta - prior) * expected_log_chance).sum(axis=1)
    return np.asarray(special.betaln(*prior.T) - special.betaln(*beta.T) + gained)
