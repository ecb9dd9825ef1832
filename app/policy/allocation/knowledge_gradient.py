"""Ask where the next answer is expected to teach most."""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.allocation.futures import rewards
from app.policy.belief import Array
from app.policy.prospect import Prospect

# For whole numbers a != b the gain is 0 on paper, and up to 1e-15 either way in floats.
_NOTHING = 1e-12
# Far below any difference that matters, far above the 1e-12 to which priorities are kept.
_LUCK = 1e-7
_PLACE = 1e-12


class KnowledgeGradient(Allocation):
    """R = sum_c P(answer c) R_c, the expected gain in certainty (Frazier et al. 2008; Chen et al., ICML 2013, Eq. 12).

    Best when one answer is left, and not consistent: for whole numbers of votes it is exactly 0 wherever the votes
    are not level, since no single answer can change the majority, so nearly all items tie. `ties` decides: `random`
    gives every item new luck with every answer it gets (randomised KG), `first` takes the item that was added first
    (deterministic KG), which then gets all answers for ever (Proposition 3.1).

    With votes (0, 0), (1, 0) and (1, 1):

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.empty((3, 0)))
    >>> KnowledgeGradient().value(Prospect.of(Anonymous(), state, Facts.plain(3)), Circumstances(Ratio())).tolist()
    [0.25, 0.0, 0.1875]
    """

    kind: Literal["kg"] = "kg"
    ties: Annotated[
        Literal["random", "first"],
        Field(description="Between items of equal value: new luck with every answer, or the item added first"),
    ] = "random"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        expected = (prospect.chances * rewards(prospect)).sum(axis=1)
        return np.where(np.abs(expected) < _NOTHING, 0.0, expected)

    def priority(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        gain = super().priority(prospect, circumstances)
        if self.ties == "first":
            return gain - _PLACE * prospect.facts.number
        return gain + _LUCK * prospect.now.luck()
