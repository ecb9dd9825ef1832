"""Ask where the next answer is expected to teach most."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import rewards
from app.policy.belief import Array, Belief
from app.policy.chance import uniform
from app.policy.prospect import Prospect

# For whole numbers a != b the gain is 0 on paper, and up to 1e-15 either way in floats.
_NOTHING = 1e-12
# Far below any difference that matters, far above the 1e-12 to which priorities are kept.
_LUCK = 1e-6
_PLACE = 1e-12


class KnowledgeGradient(Allocation):
    """R = sum_c P(answer c) R_c, the expected gain in certainty (Frazier et al. 2008; Chen et al., ICML 2013, Eq. 12).

        R = sum_c Pr(answer c) h(P after the answer c) - h(P now),    h(P) = max_c P_c.

    Best when one answer is left, and not consistent: for whole numbers of votes it is exactly 0 wherever the votes
    are not level, since no single answer can change the majority, so nearly all items tie. `ties` decides: `random`
    draws evenly among them (randomised KG), `first` takes the item that was added first (deterministic KG), which then
    gets all answers for ever (Proposition 3.1).

    With votes (0, 0), (1, 0) and (1, 1):

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.empty((3, 0)))
    >>> KnowledgeGradient().value(Prospect.of(Anonymous(), state, Facts.plain(3)), Circumstances(Ratio())).tolist()
    [0.25, 0.0, 0.1875]
    """

    heeds_number: ClassVar[bool] = True

    kind: Literal["kg"] = "kg"
    ties: Annotated[
        Literal["random", "first"],
        Field(description="Between items of equal value: draw evenly, or take the item added first"),
    ] = "random"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        expected = (prospect.chances * rewards(prospect)).sum(axis=1)
        return np.where(np.abs(expected) < _NOTHING, 0.0, expected)

    def priority(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        """The tie is broken before the cost divides, so that luck never outweighs a gain, however dear the item."""
        gain, cost = self._pooled_value(prospect, circumstances), prospect.facts.cost
        if self.ties == "first":
            return (gain - _PLACE * prospect.facts.number) / cost
        waiting = _waiting(prospect.now)
        return (gain + _LUCK / (1 + waiting)) / cost


def _waiting(belief: Belief) -> Array:
    """When the item's next turn comes, shape (items,): turns come at exponential intervals, one more per answer.

    Such clocks have no memory, so whichever items tie, the next turn is as likely any one's: an even draw, although
    every item's number is fixed by the seed until it is answered.
    """
    waiting = np.zeros(len(belief.total))
    for turn in range(int(belief.total.max(initial=0)) + 1):
        luck = uniform(belief.facts.seed, belief.facts.number, np.full(len(waiting), turn))
        waiting -= np.where(turn <= belief.total, np.log1p(-luck), 0.0)
    return waiting
