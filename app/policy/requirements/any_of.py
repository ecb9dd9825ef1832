"""Stop when one of several requirements holds."""

from typing import Literal

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import NOBODY, Belief
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.requirements.combination import Combination


class AnyOf(Combination):
    """Stop when any of the given requirements holds (combined as in Li et al., WSDM 2016, section 3.1).

        some member holds;    shortfall_c = min over the members of their shortfall_c.

    The member that is met first decides.

    >>> from app.policy.requirements import Count, Ratio
    >>> AnyOf(of=(Ratio(min_ratio=4), Count(labels=5))).satisfied(Belief.of([[3, 0], [3, 1], [3, 2]]))
    array([ True, False,  True])
    """

    kind: Literal["any"] = "any"

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(np.logical_or.reduce([member.satisfied(belief) for member in self.of]))

    def winner(self, belief: Belief) -> Index:
        """The class that the first satisfied member accepts."""
        met = [member.satisfied(belief) for member in self.of]
        return np.select(met, [member.winner(belief) for member in self.of], NOBODY)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        return np.asarray(np.minimum.reduce([lookahead.shortfalls(member) for member in self.of]))

    def missing(self, lookahead: Lookahead) -> Array:
        return np.asarray(np.minimum.reduce([member.missing(lookahead) for member in self.of]))

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        return np.asarray(np.minimum.reduce([member.answers_to_come(lookahead) for member in self.of]))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """An item is given up when every member gives it up."""
        return np.asarray(np.logical_and.reduce([member.not_worth_asking(belief) for member in self.of]))

    def reason(self, belief: Belief, item: int) -> Reason:
        """The reason of the first satisfied member, else of the first one still worth asking for, else of the first."""
        met = (member for member in self.of if member.satisfied(belief)[item])
        hopeful = (member for member in self.of if not member.not_worth_asking(belief)[item])
        return next(met, next(hopeful, self.of[0])).reason(belief, item)
