"""When to fit all answers of a job again."""

import math
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from app.policy.core.policy import without_doctests

_DECIMALS = 9  # a tenth of 300 is 30, whatever floats say


class Refit(BaseModel):
    """Fit all workers and items again each time the answers have grown by a twentieth, and by at least thirty.

        next = answers + max(first, growth * answers).

    The sizes of the fits grow by a constant factor, so all of them cost about 1 + 1 / growth times the last one.

    >>> Refit().next_at(0), Refit().next_at(30), Refit().next_at(300), Refit().next_at(100_000)
    (30, 60, 330, 105000)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_extra=without_doctests)

    first: Annotated[
        int, Field(ge=1, le=1_000_000, description="Answers before the first fit, and at least between two fits")
    ] = 30
    growth: Annotated[float, Field(ge=0, le=10, description="Share by which the answers grow between two fits")] = 0.05
    reopen: Annotated[
        bool, Field(description="Whether a fit may reopen a finished item that no longer satisfies the requirement")
    ] = False

    def next_at(self, answers: int) -> int:
        """The number of answers at which the next fit is due, after a fit at `answers`."""
        return answers + max(self.first, math.ceil(round(self.growth * answers, _DECIMALS)))
