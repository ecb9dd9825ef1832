"""Which workers can give a second opinion: those whom the job trusts less than the one it would ask."""

import numpy as np

from app.policy.core.arrays import Array, Mask
from app.policy.core.tuning import TUNED


def less_trusted(best: Array, accuracy: Array) -> Mask:
    """The half with the lower accuracy of the workers who can be asked, shape (workers,).

    `best` is the value of the best item for each worker, -inf for one who cannot be asked. Workers whose answers have
    next to no value, such as spammers whose votes do not count, are left out.

    >>> less_trusted(np.array([0.3, 0.2, 0.1, -np.inf]), np.array([0.9, 0.8, 0.6, 0.5])).tolist()
    [False, True, True, False]
    """
    highest = best.max(initial=-np.inf)
    # Some allocations give a position in a queue, which may be negative, instead of a value.
    too_low = TUNED.pair.negligible * highest if highest > 0 else -np.inf
    useful = best > too_low
    return np.asarray(useful & (accuracy <= np.median(accuracy[useful]))) if useful.any() else useful
