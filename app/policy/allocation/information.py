"""Ask where the next answer tells most about the true class."""

from typing import Literal

import numpy as np
from scipy import special

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import futures
from app.policy.belief import Array
from app.policy.prospect import Prospect


class Information(Allocation):
    """The mutual information, in nats, of the next answer and the true class (Lindley 1956), per cost: our default.

    With p_k the posterior after the answer k and q_k the chance of that answer,

        I = H(p) - sum_k q_k H(p_k) = sum_k q_k KL(p_k || sum_l q_l p_l).

    Both forms are the same where the posterior is a martingale, sum_k q_k p_k = p, which exact Bayes keeps and an
    approximate update (moment matching, weighted counts) only nearly does. There the first form can turn negative,
    for it mixes what the answer tells with what the approximation drifts; the second, computed here, is the
    Jensen-Shannon divergence of the possible futures: never negative, at most log K, and 0 exactly if the answer
    makes no difference. Unlike the expected gain in certainty it does not vanish where no single answer can change
    the majority, and it falls to 0 as answers pile up, so no item is asked for ever.

    A fresh item: H(1/2) - H(3/4) = log 2 - (2 log 2 - 3/4 log 3) = 3/4 log 3 - log 2.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> prospect = Prospect.of(Anonymous(), Anonymous().start(Facts.plain(1), 2), Facts.plain(1))
    >>> Information().value(prospect, Circumstances(Ratio())).round(6).tolist()
    [0.130812]
    """

    kind: Literal["information"] = "information"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        chances, outcomes = prospect.chances, futures(prospect)
        expected = np.zeros_like(chances)
        for future, answers in outcomes:
            posterior = future.now.posterior.copy()
            # Answers that differ in name only exchange these columns among themselves: on average they are level.
            posterior[:, answers] = posterior[:, answers].mean(axis=1, keepdims=True)
            expected += chances[:, answers].sum(axis=1, keepdims=True) * posterior
        told = np.zeros(len(chances))
        for future, answers in outcomes:
            told += chances[:, answers].sum(axis=1) * special.rel_entr(future.now.posterior, expected).sum(axis=1)
        return np.maximum(told, 0.0)
