"""The protocol of worker models that change to another model as answers come in."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.decision import Reason

if TYPE_CHECKING:  # a worker model has stages, and a stage is a worker model
    from app.policy.worker_models.base import Refitted, WorkerModel


@dataclass(frozen=True)
class StageChoice:
    """Which stage should act, and why."""

    stage: int
    held_out: dict[str, float]  # mean log-likelihood of a held-out answer, by the name of the stage
    answers: int  # how many answers were held out
    reason: Reason

    def as_json(self) -> dict[str, Any]:
        """The choice as it is stored and shown."""
        return {"held_out": self.held_out, "answers": self.answers, "reason": self.reason.as_json()}


@dataclass(frozen=True)
class Stages:
    """The models that a worker model may become, simplest first. An ordinary model has one: itself.

    >>> from app.policy.worker_models import OneCoin
    >>> OneCoin().stages(classes=2).names, OneCoin().stages(classes=2).model(0)
    (('one-coin',), OneCoin(kind='one-coin', prior=(4.0, 1.0), prior_weight=2.0, pseudo_votes=1.0))
    """

    names: tuple[str, ...]
    models: tuple["WorkerModel", ...]

    def model(self, stage: int) -> "WorkerModel":
        """The model that acts at this stage."""
        if stage not in range(len(self.models)):
            raise ValueError(f"there is no stage {stage}, only {', '.join(self.names)}")
        return self.models[stage]

    def choose(self, ballots: Ballots, context: ItemContext, prior: Array, stage: int) -> StageChoice | None:  # noqa: ARG002
        """Which stage the answers call for while `stage` acts; None if there is no choice."""
        return None

    def convert(self, skill: Array, from_stage: int, to_stage: int) -> Array:  # noqa: ARG002  one stage
        """The skills of the same workers in the shape of another stage, shape (workers, parameters)."""
        return skill

    def crediting(self, stated: Array | None) -> "Stages":  # noqa: ARG002  one shape
        """The same for a crowd in which `stated`, (workers, 2), is known beforehand: accuracy and weight, or NaN."""
        return self

    def refit(self, stage: int, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> "Refitted":
        """What all answers say while this stage acts; `skill` and `prior` are in its shape."""
        return self.model(stage).refit(ballots, context, skill, prior)
