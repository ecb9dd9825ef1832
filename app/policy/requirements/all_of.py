"""Stop when several requirements hold at once."""

from typing import Literal

import numpy as np

from app.domain import Reason
from app.policy.belief import Array, Belief, Mask
from app.policy.prospect import Prospect
from app.policy.requirements.base import Requirement
from app.policy.requirements.combination import Combination
from app.policy.shares import Index


class AllOf(Combination):
    """All of the given requirements (combined as in Li et al., WSDM 2016, section 3.1).

        every member holds;    shortfall_c = max over the members of their shortfall_c.

    Votes count towards each alike, so the slowest member sets the shortfall.

    >>> from app.policy.requirements import Count, Ratio
    >>> AllOf(of=(Ratio(min_ratio=4), Count(labels=5))).satisfied(Belief.of([[4, 0], [5, 0]]))
    array([False,  True])
    """

    kind: Literal["all"] = "all"

    def satisfied(self, belief: Belief) -> Mask:
        """Every member holds, and those that hold for a class hold for the same one."""
        held = np.logical_and.reduce([member.satisfied(belief) for member in self.of])
        winner = self.winner(belief)
        return np.asarray(held & np.logical_and.reduce([each.winner(belief) == winner for each in self._choosy]))

    def winner(self, belief: Belief) -> Index:
        return self._choosy[0].winner(belief)

    @property
    def _choosy(self) -> tuple[Requirement, ...]:
        """The members that hold for a class; all of them where none does."""
        return tuple(member for member in self.of if member.picks_a_class) or self.of

    def shortfalls(self, prospect: Prospect) -> Array:
        """The slowest member's; where luck can undo a member while the others catch up, by walking at least so far."""
        slowest = np.asarray(np.maximum.reduce([member.shortfalls(prospect) for member in self.of]))
        return slowest if self.steady else np.maximum(slowest, super().shortfalls(prospect))

    def answers_to_come(self, prospect: Prospect) -> Array:
        return np.asarray(np.maximum.reduce([member.answers_to_come(prospect) for member in self.of]))

    def not_worth_asking(self, belief: Belief) -> Mask:
        """An item is given up when some member gives it up and the others, such as a minimum count, are met."""
        given_up = [member.not_worth_asking(belief) for member in self.of]
        settled = [member.satisfied(belief) | lost for member, lost in zip(self.of, given_up, strict=True)]
        return np.asarray(np.logical_or.reduce(given_up) & np.logical_and.reduce(settled))

    def reason(self, belief: Belief, item: int) -> Reason:
        """The first member that is not met, rather one still worth asking for; where all are met, the first of all."""
        unmet = [member for member in self.of if not member.satisfied(belief)[item]]
        hopeful = (member for member in unmet if not member.not_worth_asking(belief)[item])
        return next(hopeful, (unmet or self.of)[0]).reason(belief, item)
