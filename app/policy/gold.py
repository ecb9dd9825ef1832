"""Items whose right label is known: how often a worker meets one, and when the crowd's own answers may become one."""

from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from app.policy.belief import Array, IntArray, Mask
from app.policy.chance import uniform

_GOLD, _CHECK = np.array([1]), np.array([2])  # what a lot is drawn for

Share = Annotated[float, Field(ge=0, le=1)]


class Gold(BaseModel):
    """The share of a worker's assignments that is gold: it falls as the worker becomes known.

        share(g) = last_share + (first_share - last_share) h / (h + g),    g gold answers so far, h = `halved_after`.

    Whether an assignment is gold is drawn by lot from the job's seed, the worker and the assignment's number.

    >>> Gold().share(np.array([0, 10, 1000])).round(3).tolist()
    [0.2, 0.125, 0.051]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first_share: Annotated[Share, Field(description="Of a newcomer's assignments")] = 0.2
    last_share: Annotated[Share, Field(description="Of the assignments of a worker who has answered much gold")] = 0.05
    halved_after: Annotated[
        int, Field(ge=1, le=10_000, description="Gold answers after which the share is halfway between the two")
    ] = 10

    def share(self, asked: IntArray) -> Array:
        """The share after so many gold answers, shape (workers,)."""
        return np.asarray(
            self.last_share + (self.first_share - self.last_share) * self.halved_after / (self.halved_after + asked)
        )

    def drawn(self, seed: int, worker: int, assignment: int, asked: int) -> bool:
        """Whether this assignment of the worker is to be gold."""
        lot = uniform(seed, np.array([worker]), np.array([assignment]), _GOLD)
        return bool((lot < self.share(np.array([asked])))[0])


class AutoGold(BaseModel):
    """Gold that the crowd makes: items resolved far above the requirement are handed to others as if they were gold.

    Such a label may be wrong, and who is wrong with it would be taken for good: the loop that Abraham et al. (SIGIR
    2016, section 8) warn of. Three guards: nobody is scored on an item that his or her own vote helped to decide, for
    nobody gets an item twice; a random share of the answers on promoted items, `recheck`, is not held against the
    worker but against the item, and one that differs demotes it; and a promoted item is never taken as known when all
    answers are fitted.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    min_confidence: Annotated[
        float, Field(gt=0.5, lt=1, description="Items resolved with at least this confidence are promoted")
    ] = 0.99
    recheck: Annotated[Share, Field(description="Share of the answers on promoted items that check the item")] = 0.25

    def promotes(self, confidence: Array) -> Mask:
        """Which of the items that were just resolved become gold."""
        return np.asarray(confidence >= self.min_confidence)

    def checks(self, seed: int, assignment: int) -> bool:
        """Whether the answer under this assignment checks the item, not the worker."""
        return bool((uniform(seed, np.array([assignment]), _CHECK) < self.recheck)[0])
