"""Split the budget by what each answer is worth: easy and cheap items get more than hard and expensive ones."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy import special

from app.policy.allocation.base import Allocation, JobContext, asked
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import ONE_LABEL, Uses

MOST_COSTS = 200
Accuracy = Annotated[float, Field(ge=0.51, le=1)]


class AccuracyAtCost(BaseModel):
    """How hard the items of one cost are."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cost: Annotated[float, Field(gt=0, le=1e9, description="The cost of these items", examples=[0.5])]
    accuracy: Annotated[Accuracy, Field(description="How often workers are right on them", examples=[0.8])]


class ByValue(Allocation):
    """Ask where an answer lowers the expected errors of a majority most (Eq. 5 of Tran-Thanh et al., AAMAS 2013).

    With p = 1 - q how often workers are right on an item, 1, 3, 5 ... answers lower its error by

        (p - q) / 2 for the first,    (p - q) C(2m - 1, m) (p q)^m for the two from 2m - 1 to 2m + 1.

    These fall from step to step, so buying the best step first is the best split of the money that is spent: the
    plan's `by_value`. A step of two is worth half of its gain per answer until it is begun, and all of it then.
    Difficulty is known by the items' cost.

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> votes = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [3.0, 0.0]]), np.empty((4, 0)))
    >>> lookahead = Lookahead.of(Anonymous(), votes, ItemContext.plain(4))
    >>> ByValue(accuracy=0.8).value(lookahead, JobContext(Ratio())).round(4).tolist()
    [0.3, 0.048, 0.096, 0.023]
    """

    kind: Literal["by-value"] = "by-value"
    uses: ClassVar[Uses] = Uses.COST | Uses.OPEN_ASSIGNMENTS
    accuracy: Annotated[Accuracy, Field(description="How often workers are right on items of any other cost")] = 0.75
    costs: Annotated[
        tuple[AccuracyAtCost, ...],
        Field(max_length=MOST_COSTS, description="How often workers are right on the items of each cost"),
    ] = ()

    @property
    def answer_kinds(self) -> frozenset[str]:
        return ONE_LABEL  # a majority of sets of labels errs otherwise

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  it needs no budget
        given, right = asked(lookahead), self._accuracies(lookahead.context.cost)
        m = np.maximum((given + 1) // 2, 1)
        log_ways = special.gammaln(2 * m) - special.gammaln(m) - special.gammaln(m + 1)
        gain = (2 * right - 1) * np.exp(log_ways + special.xlogy(m, right * (1 - right)))
        is_begun = given % 2 == 0
        return np.asarray(np.where(given == 0, right - 0.5, np.where(is_begun, gain, gain / 2)))

    def _accuracies(self, cost: Array) -> Array:
        found = np.full(len(cost), self.accuracy)
        for known in self.costs:
            found[cost == known.cost] = known.accuracy
        return found
