"""Split the budget in advance: cheap items get more answers than expensive ones."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.allocation.base import Allocation, JobContext, asked
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.core.prices import MIN_PRICE

_ROUNDING = 1e-9  # a quota of 2.9999999999999996 counts as 3


class CrowdBudget(Allocation):
    """Ask where most of an item's share of the budget is left (Tran-Thanh et al., AAMAS 2013, Alg. 1).

        n_k - (answers + answers under way),    n_k = floor(B / (c_k^2 sum_j 1/c_j)).

    The quota n_k follows from the job's whole budget B and the costs of all its items: c_k is the item's cost times the
    price that the job expects its workers to charge. Once all quotas are full, the money that is left buys one more
    answer per item, in the items' order, as long as it lasts: that answer has a value between 0 and 1. After that the
    value is at most 0. Without a budget, items take turns.

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> context = ItemContext(np.array([1.0, 2.0, 0.5]), np.zeros(3), np.arange(1, 4))
    >>> new = Lookahead.of(Anonymous(), State(np.zeros((3, 2)), np.empty((3, 0))), context)
    >>> np.floor(CrowdBudget().value(new, JobContext(Ratio(), budget=10, inverse_costs=3.5)))
    array([ 2.,  0., 11.])
    """

    kind: Literal["crowdbudget"] = "crowdbudget"
    uses: ClassVar[Uses] = Uses.COST | Uses.OPEN_ASSIGNMENTS | Uses.NUMBER | Uses.BUDGET | Uses.PRICE
    per_cost: ClassVar[bool] = False

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:
        if job.budget is None:
            return -asked(lookahead)
        price = max(lookahead.context.price, MIN_PRICE)  # at p c_k for all k, the quota is that at c_k divided by p
        quota = np.floor(job.paid_for(lookahead.context) / price + _ROUNDING)
        return np.asarray(quota - asked(lookahead) + 1 / (1 + np.maximum(lookahead.context.number, 0)))
