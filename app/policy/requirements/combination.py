"""What the requirements `all` and `any` have in common."""

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from app.policy.core.policy import Uses
from app.policy.quality.calibration import Calibration
from app.policy.requirements.base import Requirement

if TYPE_CHECKING:
    from app.policy.requirements import AnyRequirement


class Combination(Requirement):
    """Several requirements taken together."""

    of: Annotated[
        "tuple[AnyRequirement, ...]",
        Field(min_length=1, max_length=8, description="The requirements that are combined"),
    ]

    @property
    def uses(self) -> Uses:
        return reduce(or_, (member.uses for member in self.of))

    @property
    def answer_kinds(self) -> frozenset[str]:
        return reduce(and_, (member.answer_kinds for member in self.of))

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> Requirement:
        members = tuple(member.calibrated(calibration, favourable=favourable) for member in self.of)
        return self.model_copy(update={"of": members})
