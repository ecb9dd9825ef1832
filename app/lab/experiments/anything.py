"""Ask about anything: the random policy that the papers compare with."""

from typing import Literal

import numpy as np

from app.policy.allocation import Allocation, Circumstances
from app.policy.belief import Array
from app.policy.prospect import Prospect
from app.policy.rules import Rules


class Anything(Allocation):
    """All items are worth the same, so that chance decides: each label falls on any open item alike.

    For comparison only: `random` of the service does the same by a clock per item, and so can be repeated.
    """

    kind: Literal["anything"] = "anything"

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  whatever is required
        return np.zeros(len(prospect.state.votes))


def by(allocation: Allocation, rules: Rules) -> Rules:
    """The same rules with an allocation that is known to the lab alone.

    >>> by(Anything(), Rules(labels=("a", "b"))).allocation.kind
    'anything'
    """
    return rules.model_copy(update={"allocation": allocation})
