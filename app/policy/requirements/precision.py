"""Stop when a number is known precisely enough."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy import special

from app.policy.core.arrays import Array, Mask
from app.policy.core.belief import Belief
from app.policy.core.decision import Reason
from app.policy.core.lookahead import Lookahead
from app.policy.core.number_belief import NumberBelief
from app.policy.core.policy import Uses
from app.policy.requirements.base import HORIZON, Requirement
from app.policy.worker_models.base import WorkerModel
from app.policy.worker_models.number_model import NumberModel

_MOST_DECIMALS = 12
_ROUNDING = 1e-9  # relative: four answers that halve the deviation do reach the half width


class Precision(Requirement):
    """Stop when the true number is close enough to the estimate (ours, by the model of Raykar et al., JMLR 2010).

        P(|t - value| <= half_width) = 2 Phi(half_width / s) - 1 >= confidence,    t ~ N(value, s^2).

    An answer of a worker with noise variance n and bias variance v adds 1 / (n + v) to 1 / s^2, so the shortfall is

        ((z / half_width)^2 - 1 / s^2) (n + v), rounded up,    Phi(z) = (1 + confidence) / 2.
    """

    kind: Literal["precision"] = "precision"
    answer_kinds: ClassVar[frozenset[str]] = frozenset({"number"})
    half_width: Annotated[
        float, Field(gt=0, le=1e12, description="How far from the value the truth may be", examples=[5])
    ]
    confidence: Annotated[
        float, Field(gt=0.5, le=0.999999, description="How probable that must be", examples=[0.9])
    ] = 0.9

    uses: ClassVar[Uses] = Uses.NOTHING

    def satisfied(self, belief: Belief) -> Mask:
        return np.asarray(_numbers(belief).deviation <= self._needed_deviation * (1 + _ROUNDING))

    def certainty(self, belief: Belief) -> Array:
        return _numbers(belief).within(self.half_width)

    def shortfalls(self, lookahead: Lookahead) -> Array:
        assert isinstance(lookahead.model, NumberModel)  # noqa: S101
        gained = lookahead.model.precision_gained(lookahead.state, lookahead.skill)
        deviation = _numbers(lookahead.now).deviation
        missing = self._needed_deviation**-2 - np.divide(
            1.0, deviation**2, out=np.full(len(deviation), np.inf), where=deviation > 0
        )
        return np.asarray(np.clip(np.ceil(missing / gained * (1 - _ROUNDING)), 0.0, HORIZON)[:, None])

    def fewest_labels(self, model: WorkerModel, classes: int) -> int:  # noqa: ARG002  the answers decide
        """Unknown, so 0: how precise workers are shows only in their answers."""
        return 0

    def reason(self, belief: Belief, item: int) -> Reason:
        one = _numbers(belief).rows(np.array([item]))
        reach, met = float(one.half_width(self.confidence)[0]), bool(self.satisfied(one)[0])
        decimals = decimals_for(reach, self.half_width, met=met)
        return Reason(
            "precision" if met else "precision-not-reached",
            f"The value is {one.value[0]:.{decimals}f} ± {reach:.{decimals}f} with probability {self.confidence:g}; "
            f"the job asks for ± {self.half_width:g}.",
        )

    @property
    def _needed_deviation(self) -> float:
        return self.half_width / float(special.ndtri((1 + self.confidence) / 2))


def decimals_for(reach: float, asked: float, *, met: bool) -> int:
    """The decimals that show two digits of the reach, and on which side of the one asked for it is.

    >>> [decimals_for(reach, 5, met=reach <= 5) for reach in (3.21, 521.0, 0.0321, 5.03, 5.0)]
    [1, 0, 3, 2, 1]
    """
    fewest = 0 if reach <= 0 else int(np.clip(1 - np.floor(np.log10(reach)), 0, _MOST_DECIMALS))
    telling = (each for each in range(fewest, _MOST_DECIMALS) if (round(reach, each) <= asked) == met)
    return next(telling, _MOST_DECIMALS)


def _numbers(belief: Belief) -> NumberBelief:
    assert isinstance(belief, NumberBelief)  # noqa: S101
    return belief
