"""Ask where the current label is most likely wrong."""

from typing import ClassVar, Literal

from app.policy.allocation.base import Allocation, JobContext
from app.policy.core.arrays import Array
from app.policy.core.lookahead import Lookahead
from app.policy.core.policy import EVERY_KIND, Uses


class LabelUncertainty(Allocation):
    """Ask where the current label is most likely wrong (the label uncertainty of Sheng et al., KDD 2008).

        1 - max_c P(label c is the true one | answers).

    With two labels this is the tail min(I(a, b), 1 - I(a, b)) of the Beta beyond 1/2. It does not look ahead, so it
    never leaves items on which the crowd is split. Of a number, the probability is that of being within a twentieth of
    the range from the truth, so the least known item is asked about.

    With votes (0, 0) and (4, 1):

    >>> import numpy as np
    >>> from app.policy.core.belief import ItemContext, State
    >>> from app.policy.requirements import Ratio
    >>> from app.policy.worker_models import Anonymous
    >>> state = State(np.array([[0.0, 0.0], [4.0, 1.0]]), np.empty((2, 0)))
    >>> LabelUncertainty().value(Lookahead.of(Anonymous(), state, ItemContext.plain(2)), JobContext(Ratio())).tolist()
    [0.5, 0.109375]
    """

    kind: Literal["label-uncertainty"] = "label-uncertainty"
    answer_kinds: ClassVar[frozenset[str]] = EVERY_KIND
    uses: ClassVar[Uses] = Uses.NOTHING

    def value(self, lookahead: Lookahead, job: JobContext) -> Array:  # noqa: ARG002  the goal is accuracy
        return 1 - lookahead.now.certainty
