"""A number."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.policy.answers.base import AnswerKind, Content, Said, WrongContent
from app.policy.core.arrays import Array
from app.policy.core.belief import Belief
from app.policy.core.number_belief import USUAL_HALF_WIDTH

_LARGEST = 1e12


class NumberAnswer(AnswerKind):
    """An answer is a number from `low` to `high`; the result is an estimate with an interval (Raykar et al. 2010).

        answer = truth + bias of its worker + noise,        result = E(truth | answers).

    Workers differ in bias and in noise, and items in how far answers scatter.
    """

    kind: Literal["number"] = "number"
    field: ClassVar[Literal["value"]] = "value"
    fewest_names: ClassVar[int] = 0
    most_names: ClassVar[int] = 0
    takes_words: ClassVar[str] = "a number, in `value`"
    low: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, description="The smallest value", examples=[0])]
    high: Annotated[float, Field(ge=-_LARGEST, le=_LARGEST, description="The largest value", examples=[100])]

    @field_validator("high")
    @classmethod
    def _above_low(cls, high: float, info: ValidationInfo) -> float:
        low = info.data.get("low")
        if low is not None and high <= low:
            raise PydanticCustomError("range_empty", "Must be larger than `low` ({low})", {"low": low})
        return high

    def said(self, content: Content, labels: Sequence[str]) -> Said:  # noqa: ARG002  it has none
        if isinstance(content, bool) or not isinstance(content, int | float) or not math.isfinite(content):
            raise WrongContent(f"Must be a number from {self.low:g} to {self.high:g}")
        if not self.low <= content <= self.high:
            raise WrongContent(f"Must be from {self.low:g} to {self.high:g}, not {content:g}")
        return float(content)

    def content(self, said: Said, labels: Sequence[str]) -> Content:  # noqa: ARG002  it has none
        return float(said)

    def text(self, content: Any) -> str:  # noqa: ANN401  of this kind
        return repr(content)

    def from_text(self, text: str) -> Content:
        try:
            return float(text)
        except ValueError:
            return text

    def chance_of_guess(self, labels: int) -> float:  # noqa: ARG002  never
        return 0.0

    def chances(self, belief: Belief) -> Array:
        return np.empty((len(belief.votes), 0))

    def votes(self, counts: Sequence[int]) -> Sequence[int]:  # noqa: ARG002  there are no labels
        return ()

    def dissent(self, votes: Sequence[int], label: int) -> float:  # noqa: ARG002  there are no sides
        return 0.0

    def agrees(self, said: Said, truth: Said) -> bool:
        """Whether an answer is within a twentieth of the range from the truth."""
        return abs(said - truth) <= USUAL_HALF_WIDTH * (self.high - self.low)

    def classes(self, labels: int) -> int:  # noqa: ARG002  one estimate
        return 1
