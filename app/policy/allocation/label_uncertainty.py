"""Ask where we know least."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Allocation, Circumstances
from app.policy.belief import Array
from app.policy.prospect import Prospect


class LabelUncertainty(Allocation):
    """1 - max_c P(class c is the true one): the chance that the present label is wrong.

        1 - max_c P(class c is the true one | answers).

    With two classes this is the tail min(I(a, b), 1 - I(a, b)) of the Beta beyond 1/2 (the label uncertainty of Sheng
    et al., KDD 2008). It looks at no answer to come, so it stays for ever with items on which the crowd is split.

    With votes (0, 0) and (4, 1):

    >>> import numpy as np
    >>> from app.policy.belief import Facts, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.workers import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [4.0, 1.0]]), np.empty((2, 0)))
    >>> LabelUncertainty().value(Prospect.of(Anonymous(), state, Facts.plain(2)), Circumstances(Ratio())).tolist()
    [0.5, 0.109375]
    """

    kind: Literal["label-uncertainty"] = "label-uncertainty"
    heeds_worker: ClassVar[bool] = False

    def value(self, prospect: Prospect, circumstances: Circumstances) -> Array:  # noqa: ARG002  accuracy is the goal
        return 1 - prospect.now.certainty
