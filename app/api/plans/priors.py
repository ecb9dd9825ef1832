"""How hard the questions are for the crowd, as a caller may say it."""

from typing import Annotated, Literal

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from sqlalchemy.ext.asyncio import AsyncEngine

from app.api.schemas import Request
from app.policy.planning.cost_sensitive import Prior

Shape = Annotated[float, Field(gt=0, le=1000, allow_inf_nan=False)]


class BetaPrior(Request):
    """Beta(a, b): how often workers are right on a question, over all questions."""

    kind: Literal["beta"] = "beta"
    a: Shape = 6.0
    b: Shape = 2.0

    @model_validator(mode="after")
    def _better_than_guessing(self) -> "BetaPrior":
        if self.a <= self.b:
            raise PydanticCustomError(
                "prior_not_better_than_guessing",
                "a ({a}) must exceed b ({b}): of workers who are wrong as often as right, no answer pays",
                {"a": self.a, "b": self.b},
            )
        return self


PriorIn = BetaPrior


async def known_prior(given: PriorIn, _database: AsyncEngine) -> Prior:
    """The prior that was given, or that the answers it names tell."""
    return Prior(given.a, given.b)
