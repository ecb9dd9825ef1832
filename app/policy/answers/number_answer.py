"""A number."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from app.policy.answers.base import AnswerKind, Content, Said, WrongContent
from app.policy.core.arrays import Array, IntArray
from app.policy.core.ballots import UNKNOWN
from app.policy.core.belief import Belief, ItemContext
from app.policy.core.number_belief import USUAL_HALF_WIDTH, NumberBelief
from app.policy.worker_models import NumberModel, WorkerModel

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

    def names(self, text: str) -> Sequence[str]:  # noqa: ARG002  it has none
        return ()

    def scores(self, belief: Belief) -> Array:
        """The estimate, in one column."""
        assert isinstance(belief, NumberBelief)  # noqa: S101
        return belief.value[:, None]

    def right(self, scores: Array, truth: Array | IntArray) -> Array:
        return (np.abs(scores[:, 0] - truth) <= self._close).astype(np.float64)

    def errors(self, scores: Array, truth: Array | IntArray) -> dict[str, float]:
        off = scores[:, 0] - truth
        return {
            "mean_absolute_error": float(np.abs(off).mean()),
            "root_mean_squared_error": float(np.sqrt((off**2).mean())),
        }

    def chance_of_guess(self, labels: int) -> float:  # noqa: ARG002  never
        return 0.0

    def with_gold(self, context: ItemContext, gold: Array | IntArray) -> ItemContext:
        return replace(context, gold=np.where(np.isnan(gold), UNKNOWN, 0), gold_value=np.asarray(gold))

    def chances(self, belief: Belief) -> Array:
        return np.empty((len(belief.votes), 0))

    def votes(self, counts: Sequence[int]) -> Sequence[int]:  # noqa: ARG002  there are no labels
        return ()

    def dissent(self, votes: Sequence[int], label: int) -> float:  # noqa: ARG002  there are no sides
        return 0.0

    def agrees(self, said: Said, truth: Said) -> bool:
        """Whether an answer is within a twentieth of the range from the truth."""
        return abs(said - truth) <= self._close

    def classes(self, labels: int) -> int:  # noqa: ARG002  one estimate
        return 1

    def learner(self, model: WorkerModel, labels: int) -> WorkerModel:  # noqa: ARG002  it has none
        if not isinstance(model, NumberModel):
            return model
        return model.model_copy(update={"low": self.low, "high": self.high})

    @property
    def _close(self) -> float:
        """How far from the truth an answer may be and still count as right."""
        return USUAL_HALF_WIDTH * (self.high - self.low)
