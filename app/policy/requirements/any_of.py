"""Stop when one of several requirements holds."""

from typing import Literal

import numpy as np

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.combination import Combination
from app.policy.shares import NOBODY, Index


class AnyOf(Combination):
    """Any of the given requirements (combined as in Li et al., WSDM 2016, section 3.1).

        some member holds;    shortfall_c = min over the members of their shortfall_c.

    The quickest member sets the shortfall.

    >>> from app.policy.requirements import Count, Ratio
    >>> AnyOf(of=(Ratio(min_ratio=4), Count(labels=5))).satisfied(Belief.of([[3, 0], [3, 1], [3, 2]]))
    array([ True, False,  True])
    """

    kind: Literal["any"] = "any"

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(np.logical_or.reduce([member.satisfied(belief) for member in self.of]))

    def winner(self, belief: Belief) -> Index:
        """As the first member says that is met."""
        met = [member.satisfied(belief) for member in self.of]
        return np.select(met, [member.winner(belief) for member in self.of], NOBODY)

    def shortfalls(self, prospect: Prospect) -> Array:
        return np.asarray(np.minimum.reduce([member.shortfalls(prospect) for member in self.of]))

    def answers_to_come(self, prospect: Prospect) -> Array:
        return np.asarray(np.minimum.reduce([member.answers_to_come(prospect) for member in self.of]))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """An item is given up when every member gives it up."""
        return np.asarray(np.logical_and.reduce([member.not_worth_asking(belief) for member in self.of]))

    def reason(self, belief: Belief, item: int) -> Reason:
        """The first member that is met; where none is, the first that is still worth asking for, or the first."""
        met = (member for member in self.of if member.satisfied(belief)[item])
        hopeful = (member for member in self.of if not member.not_worth_asking(belief)[item])
        return next(met, next(hopeful, self.of[0])).reason(belief, item)
