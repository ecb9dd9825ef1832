"""Any item: the yardstick that a policy must beat."""

from typing import Literal

import numpy as np
import numpy.typing as npt

from app.policy.allocation.base import Circumstances
from app.policy.allocation.unpriced import Unpriced
from app.policy.belief import Array
from app.policy.chance import uniform
from app.policy.prospect import Prospect

_STREAM = 1  # apart from the numbers that round a margin, lest the lucky items be the first ones too


class RandomChoice(Unpriced):
    """Every open item is as likely as any other, at every question (`random` of Li et al., WSDM 2016, section 4.1).

        -(E(seed, item, 0) + ... + E(seed, item, answers)), E exponential with mean 1.

    The item whose clock rings next is asked about: by the memoryless gaps of a Poisson process it is any of those that
    are open, however many answers each has. A number drawn anew with every answer would not do: who drew low would
    never be asked. It hangs on the job's seed, the item's number and its answers so far, so a replay draws the same.
    """

    kind: Literal["random"] = "random"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  whatever is required
        facts, answers = prospect.facts, prospect.now.total.astype(np.int64)
        return -_next_ring(facts.seed, facts.number, answers)


def _next_ring(seed: int, number: npt.NDArray[np.int64], rings: npt.NDArray[np.int64]) -> Array:
    """When a clock rings that has rung so often.

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
