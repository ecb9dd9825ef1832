"""Majority with votes weighed by how reliable their workers seem."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.aggregation.base import Aggregation, pseudo_answers
from app.policy.aggregation.incidence import Incidence, by_worker
from app.policy.aggregation.run_em import posterior_and_evidence
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus, first_choice


class WeightedMajority(Aggregation):
    """Weigh each vote by its worker's agreement with the outcome, as log-odds.

        P(i is c) ~ exp( sum over answers (i, j, c) of w_j ),    w_j = log( (K - 1) p_j / (1 - p_j) )

    If worker j is right with a known probability p_j and spreads errors evenly, the best rule is a vote with weights
    w_j = log( (K - 1) p_j / (1 - p_j) ) (Nitzan & Paroush, International Economic Review 23, 1982). Here p_j is the
    share of j's answers that agree with the winner, smoothed by s on either side: first the winner of the plain
    majority, then of the weighted one, until no winner changes (as in the iterative weighted majority of Li & Yu,
    arXiv:1411.4086, whose weights K p_j - 1 are the first-order term). The posterior is that of the last weights,
    P(i is c) ~ exp(votes_ic). Only the winners enter the next round, so no likelihood is maximised and none is
    reported.

    The first two workers always agree, and p = 4/5 after smoothing; the third is right in 1 of 3, p = 2/5:

    >>> ballots = Ballots.of(*np.divmod(np.arange(9), 3), [0, 0, 0, 1, 1, 0, 0, 0, 1])
    >>> consensus = WeightedMajority().fit(ballots)
    >>> np.log(consensus.posterior[0] / consensus.posterior[0, 1]).round(4).tolist()  # 2 log 4 + log 2/3
    [2.3671, 0.0]
    """

    kind: Literal["weighted"] = "weighted"
    smoothing: Annotated[
        float,
        Field(gt=0, le=1000, description="Pseudo-answers that agree, and as many that disagree, for every worker"),
    ] = 1.0
    max_iterations: Annotated[
        int,
        Field(ge=1, le=10_000, description="How often the weights are computed again; 1: from the plain majority only"),
    ] = 50

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        given = by_worker(ballots)
        pseudo = pseudo_answers(ballots, worker_prior)
        winners, posterior, converged = first_choice(ballots.shares()), ballots.shares(), False
        iteration = 0
        while not converged and iteration < self.max_iterations:
            agreement = ballots.right_and_wrong(winners) + pseudo
            posterior = _vote(given, agreement + self.smoothing, ballots)
            previous, winners = winners, first_choice(posterior)
            converged = np.array_equal(winners, previous)
            iteration += 1
        return Consensus(
            posterior=posterior,
            informed=ballots.informed,
            right_and_wrong=ballots.right_and_wrong(winners) + pseudo,
            iterations=iteration,
            converged=converged,
        )


def _vote(given: Incidence, agreement: Array, ballots: Ballots) -> Array:
    """The posterior under the log-odds of these counts of right and wrong answers, shape (workers, 2)."""
    agree, disagree = agreement.T
    weight = np.log(agree * max(ballots.classes - 1, 1) / disagree)
    votes = (given @ weight).reshape(ballots.items, ballots.classes)
    return posterior_and_evidence(votes, ballots)[0]
