"""The models that the first two stages of `auto` use, and are compared by."""

from typing import ClassVar

from app.policy.worker_models.confusion import Confusion
from app.policy.worker_models.inference.error_rate import OneAccuracy


class EqualShares(OneAccuracy):
    """One accuracy per worker."""

    learns_newcomers: ClassVar[bool] = True


class FreeShares(EqualShares):
    """The same where classes may be unequally common."""

    shares_held: ClassVar[float] = 0.0


class Rows(Confusion):
    """A row of error rates per worker and true class."""

    learns_newcomers: ClassVar[bool] = True
