"""The label with the most votes."""

from typing import Literal

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from app.policy.belief import Belief

NO_LABEL = -1


class Majority(BaseModel):
    """The class with the most votes. A tie, and an item without votes, has no label: ties are not broken by chance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["majority"] = "majority"

    def labels(self, belief: Belief) -> npt.NDArray[np.intp]:
        """The winning class of each item, shape (items,), or -1.

        >>> Majority().labels(Belief.of([[2, 1], [1, 1], [0, 0]]))
        array([ 0, -1, -1])
        """
        top = belief.votes.max(axis=1, keepdims=True)
        alone = (belief.votes == top).sum(axis=1) == 1
        return np.where(alone, belief.votes.argmax(axis=1), NO_LABEL)
