"""Let all items finish at the same time, so that hardly any answer comes too late to count."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Circumstances
from app.policy.allocation.unpriced import Unpriced
from app.policy.belief import Array
from app.policy.prospect import Prospect


class Dispatch(Unpriced):
    """Ask where most work is left: E = C - P (Gao et al., SIGMOD 2013, Alg. 6).

        E = C - P.

    C is how many further answers to expect and P how many are out. Under `profit`, C is exactly that expectation
    (Alg. 5); the other requirements know no such expectation, and their shortfall, the fewest answers that could do,
    takes its place. With the prior B(6, 2) and a loss of five answers, one answer is asked for, and no more:

    >>> import numpy as np
    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Profit
    >>> from app.policy.workers import Anonymous
    >>> new = Prospect.of(Anonymous(), State(np.zeros((1, 2)), np.empty((1, 0))), Facts.plain(1))
    >>> Dispatch().priority(new, Circumstances(Profit(value=5, loss=5)))
    array([1.])
    """

    kind: Literal["dispatch"] = "dispatch"
    heeds_in_flight: ClassVar[bool] = True

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:
        return circumstances.requirement.answers_to_come(prospect) - prospect.facts.in_flight
