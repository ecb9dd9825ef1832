"""The label with the most votes."""

from typing import Literal

from app.policy.aggregation.base import Aggregation, pseudo_answers
from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots, Consensus, first_choice


class Majority(Aggregation):
    """Take the class with the most votes (Condorcet 1785).

        argmax_c v_ic;    posterior v_ic / sum_c v_ic.

    Tied items and items without votes have no label: ties are not broken at random. The posterior says how divided the
    crowd is; it is not a fitted probability.
    A worker's right answers are those that agree with the majority; where k classes tie, 1/k of an answer is right.

    >>> votes = Ballots.of(item=[0, 0, 0, 1], worker=[0, 1, 2, 0], label=[1, 1, 0, 0])
    >>> Majority().fit(votes).posterior.round(4).tolist()
    [[0.3333, 0.6667], [1.0, 0.0]]
    >>> Majority().fit(votes).right_and_wrong.tolist()
    [[2.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """

    kind: Literal["majority"] = "majority"

    def fit(self, ballots: Ballots, worker_prior: Array | None = None) -> Consensus:
        shares = ballots.shares()
        agreement = ballots.right_and_wrong(first_choice(shares))
        return Consensus(
            posterior=shares,
            informed=ballots.informed,
            right_and_wrong=agreement + pseudo_answers(ballots, worker_prior),
            iterations=1,
            converged=True,
        )
