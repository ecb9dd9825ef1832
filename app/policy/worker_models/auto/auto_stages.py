"""The three stages of `auto`: convert skills between them, choose one, and refit."""

from dataclasses import dataclass, replace

import numpy as np

from app.policy.core.arrays import Array
from app.policy.core.ballots import Ballots
from app.policy.core.belief import ItemContext
from app.policy.core.decision import Reason
from app.policy.core.tuning import TUNED
from app.policy.worker_models.auto.averaging import OTHER_SHARE, average_states
from app.policy.worker_models.auto.copier_stage import choose_copied
from app.policy.worker_models.auto.stage_comparison import Contest, choose_between
from app.policy.worker_models.base import Refitted, credit
from app.policy.worker_models.stages import StageChoice, Stages

PLAIN, ROWS, COPIED = 0, 1, 2  # the stages: one accuracy, a row per true class, copiers
_BINARY = 2
_NO_ROWS = "With {} labels, one accuracy per worker stays in force: a row per label takes shared errors for the truth"
_MIN_EVIDENCE = 1e-3  # pseudo-answers of each kind that a converted skill keeps


@dataclass(frozen=True)
class AutoStages(Stages):
    """The stages of `auto` for a number of classes; with more than 100 only the first."""

    classes: int
    prior: tuple[float, float]  # right and wrong answers that a new worker is credited with
    margin: float
    stated: Array | None = None  # (workers, 2) accuracy and weight of workers known beforehand, and NaN

    def crediting(self, stated: Array | None) -> "AutoStages":
        return replace(self, stated=None if stated is None or np.isnan(stated).all() else stated)

    def convert(self, skill: Array, from_stage: int, to_stage: int) -> Array:
        """The same workers in the shape of another stage, shape (workers, parameters).

        The evidence that a worker has beyond that of a new worker is split evenly over the rows, or summed over them.
        So a new worker stays a new worker, no answer counts twice, and converting there and back changes nothing.

        >>> from app.policy.worker_models import Auto
        >>> Auto().stages(2).convert(np.array([[4.0, 1.0], [24.0, 5.0]]), 0, 1).tolist()
        [[4.0, 1.0, 1.0, 4.0], [14.0, 3.0, 3.0, 14.0]]
        """
        if (from_stage == ROWS) == (to_stage == ROWS):
            return skill
        if self.stated is None:
            return self._converted(skill, to_stage)
        # What is known of a worker beforehand has a shape of its own in each stage; the rest of a skill is evidence.
        known = ~np.isnan(self.stated[:, :1])
        before, after = (
            np.where(known, self._credited(stage) - self.models[stage].newcomer(self.classes), 0.0)
            for stage in (from_stage, to_stage)
        )
        found = self._converted(skill - before, to_stage) + after
        return np.where(known, np.maximum(found, _MIN_EVIDENCE), found)

    def _credited(self, stage: int) -> Array:
        """The skill of each worker by what is stated alone, (workers, parameters); a newcomer's where nothing is."""
        assert self.stated is not None  # noqa: S101
        model = self.models[stage]
        newcomers = np.tile(model.newcomer(self.classes), (len(self.stated), 1))
        return credit(model, newcomers, self.stated, self.classes)

    def _converted(self, skill: Array, to_stage: int) -> Array:
        classes = self.classes
        newcomer: Array = np.array(self.prior)
        if to_stage == ROWS:
            shares = newcomer + (skill - newcomer) / classes
            diagonal = np.eye(classes).ravel()
            return np.asarray(shares[:, :1] * diagonal + shares[:, 1:] / (classes - 1) * (1 - diagonal))
        rows = skill.reshape(len(skill), classes, classes)
        right = np.einsum("ijj->i", rows)
        both = np.stack([right, np.einsum("ijk->i", rows) - right], axis=1)
        return np.asarray(np.maximum(both - (classes - 1) * newcomer, _MIN_EVIDENCE))

    def choose(self, ballots: Ballots, context: ItemContext, prior: Array, stage: int) -> StageChoice:
        """Whether `stage` should stay; `prior` is in its shape, and `context.seed` decides what is held out."""
        answers, least = len(ballots.item), TUNED.stages.min_answers
        if len(self.names) == 1:
            message = f"With {self.classes} labels there is only one model: a matrix per worker would be too large"
            return StageChoice(0, {}, 0, Reason("one-stage", message))
        if answers < least:
            message = f"{answers} answers are too few to compare models; the comparison starts at {least}"
            return StageChoice(stage if stage == ROWS else PLAIN, {}, 0, Reason("too-few-answers", message))
        copied = choose_copied(self._contest(ballots, context, prior, stage), least, in_force=stage == COPIED)
        if copied is not None:
            return copied
        if self.classes > _BINARY:
            return StageChoice(PLAIN, {}, 0, Reason("one-stage", _NO_ROWS.format(self.classes)))
        if stage != COPIED:
            return choose_between(self._contest(ballots, context, prior, stage), stage)
        found = choose_between(self._contest(ballots, context, prior, PLAIN), PLAIN)  # whose skills have the same shape
        message = f"No copiers are found any more. {found.reason.message}"
        return replace(found, reason=Reason(found.reason.code, message))

    def refit(self, stage: int, ballots: Ballots, context: ItemContext, skill: Array, prior: Array) -> Refitted:
        """What all answers say while this stage acts; the items are averaged with the other one of the first two."""
        found = super().refit(stage, ballots, context, skill, prior)
        if stage not in OTHER_SHARE or len(self.names) == 1:
            return found
        other = 1 - stage
        converted = self.convert(prior, stage, other)
        second = super().refit(other, ballots, context, converted, converted)
        share = OTHER_SHARE[stage]
        blind = None
        if found.blind is not None and second.blind is not None:
            blind = average_states(found.blind, second.blind, share)
        return replace(found, state=average_states(found.state, second.state, share), blind=blind)

    def _contest(self, ballots: Ballots, context: ItemContext, prior: Array, stage: int) -> Contest:
        plain, rows = (self.convert(prior, stage, each) for each in (PLAIN, ROWS))
        return Contest(self.names, ballots, context, plain, rows, self.prior, self.margin)
