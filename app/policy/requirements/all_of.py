"""Stop when several requirements hold at once."""

from typing import Literal

import numpy as np

from app.policy.core.arrays import Array, Index, Mask
from app.policy.core.belief import Belief
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.requirements.base import Requirement
from app.policy.requirements.combination import Combination


class AllOf(Combination):
    """Stop when all of the given requirements hold (combined as in Li et al., WSDM 2016, section 3.1).

        every member holds;    shortfall_c = max over the members of their shortfall_c.

    Every vote counts towards each member, so the slowest member decides.

    >>> from app.policy.requirements import Count, Ratio
    >>> AllOf(of=(Ratio(min_ratio=4), Count(labels=5))).satisfied(Belief.of([[4, 0], [5, 0]]))
    array([False,  True])
    """

    kind: Literal["all"] = "all"

    def satisfied(self, belief: Belief) -> Mask:
        """Every member holds, and those that hold for a class hold for the same one."""
        held = np.logical_and.reduce([member.satisfied(belief) for member in self.of])
        winner = self.winner(belief)
        return np.asarray(
            held & np.logical_and.reduce([each.winner(belief) == winner for each in self._that_pick_a_class])
        )

    def winner(self, belief: Belief) -> Index:
        return self._that_pick_a_class[0].winner(belief)

    @property
    def _that_pick_a_class(self) -> tuple[Requirement, ...]:
        """The members that hold for a class; all of them where none does."""
        return tuple(member for member in self.of if member.picks_a_class) or self.of

    def shortfalls(self, lookahead: Lookahead) -> Array:
        """Those of the slowest member; found by adding votes one by one if a later random draw can undo a member."""
        slowest = np.asarray(np.maximum.reduce([lookahead.shortfalls(member) for member in self.of]))
        if Uses.NUMBER not in self.uses:
            return slowest
        return np.asarray(np.maximum(slowest, super().shortfalls(lookahead)))

    def missing(self, lookahead: Lookahead) -> Array:
        if Uses.NUMBER in self.uses:
            return super().missing(lookahead)
        return np.asarray(np.maximum.reduce([member.missing(lookahead) for member in self.of]))

    def answers_to_come(self, lookahead: Lookahead) -> Array:
        return np.asarray(np.maximum.reduce([member.answers_to_come(lookahead) for member in self.of]))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """An item is given up when some member gives it up and the others, such as a minimum count, are met."""
        given_up = [member.not_worth_asking(belief) for member in self.of]
        settled = [member.satisfied(belief) | lost for member, lost in zip(self.of, given_up, strict=True)]
        return np.asarray(np.logical_or.reduce(given_up) & np.logical_and.reduce(settled))

    def reason(self, belief: Belief, item: int) -> Reason:
        """The first unmet member's reason, preferably of one still worth asking for; if all are met, the first's."""
        unmet = [member for member in self.of if not member.satisfied(belief)[item]]
        if not unmet and not self.satisfied(belief)[item]:
            return Reason("all-not-reached", "The combined requirements hold, but for different labels.")
        hopeful = (member for member in unmet if not member.not_worth_asking(belief)[item])
        return next(hopeful, (unmet or self.of)[0]).reason(belief, item)
