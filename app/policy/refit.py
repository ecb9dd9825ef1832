"""When is it worth fitting all answers of a job anew?"""

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

_DECIMALS = 9  # a tenth of 300 is 30, whatever floats say


class Refit(BaseModel):
    """Fit workers and items anew each time the answers have grown by a twentieth, and by thirty at least.

        next = answers + max(first, growth * answers).

    The sizes of the fits grow by a constant factor, so all together cost about 1 + 1 / growth times the last one.

    >>> Refit().next_at(0), Refit().next_at(30), Refit().next_at(300), Refit().next_at(100_000)
    (30, 60, 330, 105000)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    first: Annotated[int, Field(ge=1, le=1_000_000, description="Answers before the first fit, and between fits")] = 30
    growth: Annotated[float, Field(ge=0, le=10, description="By what share the answers grow between fits")] = 0.05
    reopen: Annotated[
        bool, Field(description="Whether a fit may reopen an item that no longer satisfies the requirement")
    ] = False

    def next_at(self, answers: int) -> int:
        """How many answers the job has when it is to be fitted next, after a fit at `answers`."""
        return answers + max(self.first, math.ceil(round(self.growth * answers, _DECIMALS)))
