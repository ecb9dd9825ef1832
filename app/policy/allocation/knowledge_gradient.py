"""Ask where the next answer is expected to add most certainty."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from app.policy.allocation.base import Allocation, JobContext
from app.policy.allocation.certainty_gains import certainty_gains
from app.policy.core.arrays import Array
from app.policy.core.belief import Belief
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import Uses
from app.policy.core.randomness import uniform

# For whole numbers a != b the gain is 0 on paper, and up to 1e-15 either way in floats.
_NOTHING = 1e-12
# Far below any difference that matters, far above the 1e-12 to which priorities are kept.
_LUCK = 1e-6
_PLACES = 1e6  # items until the first one's share has halved
_STREAM = 2  # keeps these draws independent of those that round a margin, and of those of `random`


class KnowledgeGradient(Allocation):
    """Ask where the next answer is expected to add most certainty (Frazier et al. 2008; Chen et al., ICML 2013).

        R = sum_c Pr(answer c) h(P after the answer c) - h(P now),    h(P) = max_c P_c.

    It is optimal when one answer is left, but it is not consistent. For whole numbers of votes it is exactly 0 wherever
    the votes are not tied, since no single answer can change the majority. So nearly all items have equal value, and
    `ties` decides: `random` draws evenly among them (randomised KG), `first` takes the item that was added first
    (deterministic KG), which then gets all further answers (Proposition 3.1). What breaks ties is positive and, like
    the value, divided by the item's cost: where no answer gains anything, cheaper items come first.

    With votes (0, 0), (1, 0) and (1, 1):

    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]]), np.empty((3, 0)))
    >>> KnowledgeGradient().value(Lookahead.of(Anonymous(), state, ItemContext.plain(3)), JobContext(Ratio())).tolist()
    [0.25, 0.0, 0.1875]
    """

    kind: Literal["kg"] = "kg"
    uses: ClassVar[Uses] = Uses.WORKER
    breaks_ties: ClassVar[bool] = True
    ties: Annotated[
        Literal["random", "first"],
        Field(description="Between items of equal value: draw at random, or take the item that was added first"),
    ] = "random"

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the goal is accuracy
        expected = (lookahead.chances * certainty_gains(lookahead)).sum(axis=1)
        return np.where(np.abs(expected) < _NOTHING, 0.0, expected)

    def tie_break(self, lookahead: Lookahead) -> Array:
        if self.ties == "first":
            return np.asarray(_LUCK / (1 + lookahead.context.number / _PLACES))
        return np.asarray(_LUCK / (1 + _waiting(lookahead.now)))


def _waiting(belief: Belief) -> Array:
    """When the item's next turn comes, shape (items,): turns come at exponential intervals, one more per answer.

    Exponential intervals have no memory, so each of the items that tie is equally likely to be next, although every
    item's time is fixed by the seed until it is answered.
    """
    waiting = np.zeros(len(belief.total))
    for turn in range(int(belief.total.max(initial=0)) + 1):
        turns, stream = np.full(len(waiting), turn), np.full(len(waiting), _STREAM)
        luck = uniform(belief.context.seed, belief.context.number, turns, stream)
        waiting -= np.where(turn <= belief.total, np.log1p(-luck), 0.0)
    return waiting
