"""The models that the first two stages of `auto` use, and are compared by."""

from typing import ClassVar, Literal

from app.policy.core.tuning import TUNED
from app.policy.worker_models.confusion import Confusion
from app.policy.worker_models.inference.error_rate import ErrorRate


class CrowdAccuracy(ErrorRate):
    """One accuracy per worker, and what a crowd shares: how good new workers are, common classes, repeated errors."""

    learns_newcomers: ClassVar[bool] = True
    shares_held: ClassVar[float] = TUNED.stages.shares_held
    spread_of_errors: ClassVar[float] = TUNED.stages.spread_of_errors


class PlainStage(CrowdAccuracy):
    """The first stage, as a model of its own."""

    kind: Literal["one-coin"] = "one-coin"


class FreeShares(PlainStage):
    """The same where classes may be as unequally common as the answers say."""

    shares_held: ClassVar[float] = 0.0


class Rows(Confusion):
    """A row of error rates per worker and true class."""

    learns_newcomers: ClassVar[bool] = True
