"""Split the budget in advance: cheap items get more answers than dear ones."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.allocation.base import Circumstances
from app.policy.allocation.unpriced import Unpriced, asked
from app.policy.belief import Array
from app.policy.prospect import Prospect

_ROUNDING = 1e-9  # a quota of 2.9999999999999996 is one of three


class CrowdBudget(Unpriced):
    """What is left of an item's quota (Tran-Thanh et al., AAMAS 2013, Alg. 1).

        n_k - (answers + answers that are out),    n_k = floor(B / (c_k^2 sum_j 1/c_j)).

    The quota is n_k = floor(B / (c_k^2 sum_j 1/c_j)), from the job's whole budget and the costs of all its items.
    Once all quotas are full, the money that is left buys one more answer per item, in the items' order, as long as it
    lasts: that answer has a value between 0 and 1. Then the value is at most 0. Without a budget there is nothing to
    split, and items take turns.

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> facts = Facts(np.array([1.0, 2.0, 0.5]), np.zeros(3), np.arange(1, 4))
    >>> new = Prospect.of(Anonymous(), State(np.zeros((3, 2)), np.empty((3, 0))), facts)
    >>> np.floor(CrowdBudget().priority(new, Circumstances(Ratio(), budget=10, inverse_costs=3.5)))
    array([ 2.,  0., 11.])
    """

    kind: Literal["crowdbudget"] = "crowdbudget"
    heeds_in_flight: ClassVar[bool] = True
    heeds_budget: ClassVar[bool] = True

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        if circumstances.budget is None:
            return -asked(prospect)
        quota = np.floor(circumstances.paid_for(prospect.facts) + _ROUNDING)
        return np.asarray(quota - asked(prospect) + 1 / (1 + np.maximum(prospect.facts.number, 0)))
