"""What the requirements `all` and `any` have in common."""

from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from app.policy.core.arrays import Array
from app.policy.core.belief import Belief
from app.policy.core.policy import Uses
from app.policy.quality.calibration import Calibration
from app.policy.requirements.base import Requirement
from app.policy.worker_models.base import WorkerModel

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

    def fewest_labels(self, model: WorkerModel, classes: int) -> int:
        """Unknown, so 0, where it is of a member."""
        known = all(member.fewest_labels(model, classes) for member in self.of)
        return super().fewest_labels(model, classes) if known else 0

    def certainty(self, belief: Belief) -> Array:
        """That of the first member which picks a result."""
        return next((each for each in self.of if each.picks_a_class), self.of[0]).certainty(belief)

    @property
    def refers_doubt(self) -> bool:
        return any(member.refers_doubt for member in self.of)

    @property
    def extra_votes(self) -> float | None:
        """Those of the first member that has any."""
        return next((extra for member in self.of if (extra := member.extra_votes) is not None), None)

    def calibrated(self, calibration: Calibration, *, favourable: bool = False) -> Requirement:
        members = tuple(member.calibrated(calibration, favourable=favourable) for member in self.of)
        return self.model_copy(update={"of": members})
