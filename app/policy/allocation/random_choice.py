"""Ask about a random item: the baseline that a policy must beat."""

from typing import ClassVar, Literal

import numpy as np

from app.policy.allocation.base import Allocation, JobContext
from app.policy.core.arrays import Array, IntArray
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import EVERY_KIND, Uses
from app.policy.core.randomness import uniform

_STREAM = 1  # keeps these draws independent of those that round a margin


class RandomChoice(Allocation):
    """Ask about any open item with equal probability (`random` of Li et al., WSDM 2016, section 4.1).

        -(T + E(seed, item, 0) + ... + E(seed, item, answers)), E exponential with mean 1.

    Every item has a clock that rings at random times, and the item whose clock rings next is asked about. The gaps of a
    Poisson process have no memory, so each open item is equally likely, however many answers it has. The clock of an
    item that is added later starts at the time T at which the next clock of the job would ring: that one comes first,
    and from then on the new item is as likely as any other. One new draw for
    each answer would not work: an item with a low draw would never be asked about. The draws depend on the job's seed,
    the item's number, T and its answers so far, so a replay draws the same. A closed item that opens again keeps its
    clock, so it comes first until it has caught up.
    """

    kind: Literal["random"] = "random"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND
    uses: ClassVar[Uses] = Uses.NUMBER
    per_cost: ClassVar[bool] = False
    has_clock: ClassVar[bool] = True

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the requirement does not matter
        context, answers = lookahead.context, lookahead.now.total.astype(np.int64)
        ring = _next_ring(context.seed, context.number, answers)
        return -(ring if context.joined is None else context.joined + ring)


def _next_ring(seed: int, number: IntArray, rings: IntArray) -> Array:
    """When each clock rings next, given how many times it has rung.

    >>> number = np.arange(3)
    >>> bool((_next_ring(7, number, number + 1) > _next_ring(7, number, number)).all())
    True
    """
    ring = np.zeros(len(number))
    for past in range(int(rings.max(initial=-1)) + 1):
        rung = np.flatnonzero(rings >= past)
        gap = uniform(seed, number[rung], np.full(len(rung), past), np.full(len(rung), _STREAM))
        ring[rung] -= np.log1p(-gap)
    return ring
