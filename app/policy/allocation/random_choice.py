"""Any item: the yardstick that a policy must beat."""

from typing import Literal

import numpy as np

from app.policy.allocation.base import Circumstances
from app.policy.allocation.unpriced import Unpriced
from app.policy.belief import Array
from app.policy.chance import uniform
from app.policy.prospect import Prospect

_STREAM = 1  # apart from the numbers that round a margin, lest the lucky items be the first ones too


class RandomChoice(Unpriced):
    """A uniform number per item, drawn anew with every answer (`random` of Li et al., WSDM 2016, section 4.1).

        U(seed, item, round), uniform in [0, 1).

    It hangs on the job's seed, the item's number and its answers so far, so a replay draws the same.
    """

    kind: Literal["random"] = "random"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  whatever is required
        facts, answers = prospect.facts, prospect.now.total.astype(np.int64)
        return uniform(facts.seed, facts.number, answers, np.full_like(answers, _STREAM))
