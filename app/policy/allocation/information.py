"""Ask where the next answer tells most about the true class."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import kinds_of_answers
from app.policy.belief import Array
from app.policy.prospect import Prospect

_WHERE_WORKERS_COME, _WHERE_WORKERS_ARE_PICKED = 2.5, 1.5
_AS_GOOD_AS_ONE = 1e-6  # closer to 1 the quotient below loses its digits


class Information(Allocation):
    """How much the next answer takes from our uncertainty about the true class, per cost (ours, after Lindley 1956).

    With p_k the posterior after the answer k, q_k the chance of that answer, and H_R the entropy of order R
    (Arimoto 1971),

        I = H_R(sum_k q_k p_k) - sum_k q_k H_R(p_k),        H_R(p) = R / (R - 1) (1 - |p|_R).

    R = 1 is Shannon's entropy, and I the mutual information of answer and class in nats (Lindley 1956); R -> infinity
    is 1 - max p, and I the knowledge gradient. Both ends have a flaw where votes are counted. Shannon's cares as much
    for the last digits of certainty as for the label: it leaves items tied to confirm others. The knowledge gradient
    is 0 wherever one answer cannot turn the majority. In between H_R is strictly concave, so I is positive while an
    answer can change anything, and bounded in slope, so certain items are left alone. It falls to 0 as answers pile
    up, so no item is asked for ever. The order 2.5 was picked from nine by simulation with two to five classes; on
    fresh seeds it cannot be told from opt-kg (differences up to .005, two standard errors at most), but for two
    labels per item and four or five classes, where it is better (.696 to .701, .459 to .510). Where the job picks the
    workers 1.5 was better on four public sets of four (docs/policy.md): good workers leave few items in doubt, and
    those few should not take all that is left.

    Exact Bayes has sum_k q_k p_k = p, the posterior now. Moment matching and weighted counts keep that only nearly,
    and H_R(p) - sum_k q_k H_R(p_k) could turn negative, mixing what the answer tells with how the approximation
    drifts. The form above is never negative, and is 0 if the answer makes no difference.

    A fresh item at order 1: H(1/2) - H(3/4) = 3/4 log 3 - log 2.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.empty((3, 0)))
    >>> prospect = Prospect.of(Anonymous(), state, Facts.plain(3))
    >>> Information(order=1).value(prospect, Circumstances(Ratio())).round(6).tolist()
    [0.130812, 0.080106, 0.072061]
    >>> Information().value(prospect, Circumstances(Ratio())).round(6).tolist()
    [0.181888, 0.060267, 0.107602]
    """

    kind: Literal["information"] = "information"
    order: Annotated[
        Annotated[float, Field(ge=1, le=100)] | None,
        Field(
            description="Of the entropy: 1 is Shannon's, more looks more to the label alone; "
            "null: 2.5 where whoever comes is asked, 1.5 where the job picks the worker"
        ),
    ] = None

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        order = self.order or (_WHERE_WORKERS_ARE_PICKED if circumstances.picks_workers else _WHERE_WORKERS_COME)
        expected, left = np.zeros_like(prospect.chances), np.zeros(len(prospect.chances))
        for c, answers in kinds_of_answers(prospect):
            chance, posterior = prospect.chances[:, answers].sum(axis=1), prospect.posterior_after(c)
            left += chance * _uncertainty(posterior, order)
            # Answers that differ in name only exchange these columns among themselves: on average they are level.
            level = posterior.copy()
            level[:, answers] = posterior[:, answers].mean(axis=1, keepdims=True)
            expected += chance[:, None] * level
        return np.maximum(_uncertainty(expected, order) - left, 0.0)


def _uncertainty(posterior: Array, order: float) -> Array:
    """H_R of each row, shape (items,)."""
    if order - 1 < _AS_GOOD_AS_ONE:
        return np.asarray(special.entr(posterior).sum(axis=1))
    norm = (posterior**order).sum(axis=1) ** (1 / order)
    return np.asarray(order / (order - 1) * (1 - norm))
