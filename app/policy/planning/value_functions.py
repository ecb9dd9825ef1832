"""What a result is worth by how likely it is right: the value functions f^V of Gao et al. (SIGMOD 2013), Figure 2."""

from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError
from scipy import special

from app.policy.core.arrays import Array

ROUNDING = 1e-9  # an accuracy or a cost that is missed by less is reached

Money = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Accuracy = Annotated[float, Field(ge=0.5, le=1, allow_inf_nan=False)]


class _Value(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Linear(_Value):
    """An answer is worth `value`, and a wrong one costs `loss`: V - (1 - A) L (Definition 4.1).

    >>> Linear(value=10, loss=20).worth(np.array([0.5, 0.9, 1.0])).tolist()
    [0.0, 8.0, 10.0]
    """

    kind: Literal["linear"] = "linear"
    value: Annotated[Money, Field(description="What an answer is worth, in money")]
    loss: Annotated[Money, Field(description="What a wrong answer costs, in money")]

    def worth(self, accuracy: Array) -> Array:
        return self.value - (1 - accuracy) * self.loss


class StepValue(_Value):
    """A result is worth `value` if it reaches a minimum accuracy, and nothing below."""

    kind: Literal["step"]
    accuracy: Annotated[Accuracy, Field(description="The accuracy that a result must reach to be worth anything")]
    value: Annotated[Money, Field(description="What such a result is worth, in money")]

    def worth(self, accuracy: Array) -> Array:
        return np.where(accuracy >= self.accuracy - ROUNDING, self.value, 0.0)


class Entropy(_Value):
    """A result is worth `value` per bit of information: `value` (1 - H(A)), H(A) = -A log2 A - (1 - A) log2 (1 - A).

    >>> Entropy(kind="entropy", value=10).worth(np.array([0.5, 1.0])).tolist()
    [0.0, 10.0]
    """

    kind: Literal["entropy"]
    value: Annotated[Money, Field(description="What a certain answer, one bit, is worth, in money")]

    def worth(self, accuracy: Array) -> Array:
        nats = special.entr(accuracy) + special.entr(1 - accuracy)
        return np.asarray(self.value * (1 - nats / np.log(2)))


class Points(_Value):
    """Straight lines between points (accuracy, value), constant before the first and after the last."""

    kind: Literal["points"]
    points: Annotated[
        list[tuple[Annotated[float, Field(ge=0, le=1)], Annotated[float, Field(ge=-1e9, le=1e9)]]],
        Field(min_length=1, max_length=1000, description="[accuracy, value] in order of accuracy, value in money"),
    ]

    @field_validator("points")
    @classmethod
    def _in_order(cls, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        if any(after[0] <= before[0] for before, after in pairwise(points)):
            raise PydanticCustomError("points_out_of_order", "The accuracy must increase from each point to the next")
        return points

    def worth(self, accuracy: Array) -> Array:
        known, values = zip(*self.points, strict=True)
        return np.asarray(np.interp(accuracy, known, values))


AnyValue = Annotated[Linear | StepValue | Entropy | Points, Field(discriminator="kind")]
