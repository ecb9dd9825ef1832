"""Gold items, whose right label is known: how often workers get them, and when the crowd's labels become gold."""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from app.policy.core.arrays import Array, IntArray, Mask
from app.policy.core.policy import ONE_LABEL, without_doctests
from app.policy.core.randomness import uniform

_GOLD, _CHECK = np.array([1]), np.array([2])  # keep the random numbers of the two decisions apart

Share = Annotated[float, Field(ge=0, le=1)]


class Gold(BaseModel):
    """The share of a worker's assignments that are gold; it falls with every gold answer of the worker.

        share(g) = last_share + (first_share - last_share) h / (h + g),    g gold answers so far, h = `halfway_after`.

    Whether an assignment is gold is drawn at random from the job's seed, the worker and the assignment's number.

    >>> Gold().share(np.array([0, 10, 1000])).round(3).tolist()
    [0.2, 0.125, 0.051]
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    first_share: Annotated[Share, Field(description="Share of gold in the assignments of a new worker")] = 0.2
    last_share: Annotated[
        Share, Field(description="Share of gold in the assignments of a worker who has answered many gold items")
    ] = 0.05
    halfway_after: Annotated[
        int,
        Field(
            ge=1,
            le=10_000,
            description="Gold answers after which the share is halfway between first_share and last_share",
        ),
    ] = 10

    def share(self, asked: IntArray) -> Array:
        """The share of gold after this many gold answers, shape (workers,)."""
        return np.asarray(
            self.last_share + (self.first_share - self.last_share) * self.halfway_after / (self.halfway_after + asked)
        )

    def drawn(self, seed: int, worker: int, assignment: int, asked: int) -> bool:
        """Whether this assignment of the worker is gold."""
        drawn = uniform(seed, np.array([worker]), np.array([assignment]), _GOLD)
        return bool((drawn < self.share(np.array([asked])))[0])


class AutoGold(BaseModel):
    """Gold from the crowd: items resolved with very high confidence are given to other workers as gold.

    Such a label may be wrong, and workers who are wrong in the same way would seem good: the feedback loop that Abraham
    et al. (SIGIR 2016, section 8) warn of. There are three guards. No worker is scored on an item that their own vote
    helped to decide, since nobody gets an item twice. A random share of the answers on promoted items, `recheck`, tests
    the item and not the worker, and an answer that differs demotes the item. A refit never takes a promoted item as
    known.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    answer_kinds: ClassVar[frozenset[str]] = ONE_LABEL

    min_confidence: Annotated[
        float, Field(gt=0.5, lt=1, description="Items resolved with at least this confidence become gold")
    ] = 0.99
    recheck: Annotated[
        Share, Field(description="Share of the answers on promoted items that test the item, not the worker")
    ] = 0.25

    def promotes(self, confidence: Array) -> Mask:
        """Which of the items resolved with this confidence become gold."""
        return np.asarray(confidence >= self.min_confidence)

    def checks(self, seed: int, assignment: int) -> bool:
        """Whether the answer to this assignment tests the item, not the worker."""
        return bool((uniform(seed, np.array([assignment]), _CHECK) < self.recheck)[0])
