"""Everyone in turn: what most platforms do today."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Circumstances
from app.policy.allocation.unpriced import Unpriced, asked
from app.policy.belief import Array
from app.policy.prospect import Prospect


class RoundRobin(Unpriced):
    """The item with the fewest answers, those that are out included (`looping` of Li et al., WSDM 2016, section 4.1).

        -(answers + answers that are out).

    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> import numpy as np
    >>> votes = State(np.array([[2.0, 1.0], [0.0, 1.0]]), np.empty((2, 0)))
    >>> RoundRobin().priority(Prospect.of(Anonymous(), votes, Facts.plain(2)), Circumstances(Ratio()))
    array([-3., -1.])
    """

    kind: Literal["round-robin"] = "round-robin"
    heeds_in_flight: ClassVar[bool] = True

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  whatever is required
        return -asked(prospect)
