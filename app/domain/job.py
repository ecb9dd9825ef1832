"""A job: how it decides, its money and its counters."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

import numpy as np

from app.domain.opinion_source import AS_A_NEW_WORKER, OpinionSource
from app.policy.engine import Engine, SourceSkill
from app.policy.job_policy import JobPolicy
from app.policy.quality.calibration import Calibration, CalibrationPrior, expected_accuracy
from app.policy.worker_models import Auto


class JobState(StrEnum):
    """Whether a job gives out work."""

    RUNNING = "running"
    PAUSED = "paused"
    EXHAUSTED = "exhausted"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job's configuration, its money and its counters: one row, which every writer of the job locks.

    The engine belongs to the policy, the budget, the costs, the stage, the calibration, the sources of opinions and the
    price: change those with `reconfigured`.
    """

    job_id: UUID
    name: str | None
    policy: JobPolicy
    lease_duration: timedelta
    paused: bool = False
    budget: Decimal | None
    answer_cost: Decimal = Decimal(1)  # of an item that has no cost of its own
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    items: int = 0
    last_item: int = 0  # the highest number of an item, ever: numbers of deleted items are not used again
    resolved: int = 0
    given_up: int = 0
    assignments: int = 0
    answers: int = 0
    imported: int = 0  # of the answers: they were given elsewhere, at the times that the file says
    progress: float = 0.0
    inverse_costs: float = 0.0
    price: float = 1.0  # that workers are expected to charge: see `core/prices.py`
    repriced_to: int | None = None  # up to this item all are judged by that price; None: all items are
    least_cost: Decimal = Decimal(0)
    stage: int = 0
    stage_choice: dict[str, Any] | None = None
    calibration: Calibration | None = None  # None: too few items of known truth have answers
    calibration_prior: CalibrationPrior | None = None  # by an earlier job; None: as in other crowds
    sources: tuple[OpinionSource, ...] = ()  # of opinions, in the order of the policy's; others are as new workers
    feature_length: int | None = None  # how many numbers the `features` of an item are; None: no item has had any
    refit_at: int | None = None
    operations: int = 0
    gold_items: int = 0
    recounts: int = 0
    blocks: int = 0
    reputation: UUID | None = None
    plan: dict[str, Any] | None = None
    forecast: dict[str, Any] | None = None
    labeled: int = 0  # items with a label that answers made, so without gold that the requester gave
    label_changes: int = 0  # how often such a label came, changed or went
    confidence_sum: float = 0.0  # over these labels
    dissent_sum: float = 0.0  # of log(1 + answers against the label)
    audits: int = 0
    audit: dict[str, Any] | None = None  # what the latest audit shows
    out_of_money: bool = False  # the money buys no further answer and none is out; not stored, see `with_end_of_money`
    created_at: datetime
    engine: Engine = field(repr=False, compare=False)

    def reconfigured(self, **changes: Any) -> "Job":  # noqa: ANN401  any field of a job
        """Return the job with these fields changed, and with the engine for them."""
        changed = replace(self, **changes)
        engine = engine_of(
            changed.policy,
            changed.budget,
            changed.inverse_costs,
            changed.stage,
            changed.calibration,
            tuple(source.skill for source in changed.sources),
            changed.price,
        )
        return replace(changed, engine=engine)

    def source(self, place: int) -> OpinionSource:
        """How the opinions of this one of the policy's sources are taken."""
        return self.sources[place] if place < len(self.sources) else AS_A_NEW_WORKER

    def with_source(self, place: int, source: OpinionSource) -> "Job":
        """Return the job with this one of the policy's sources changed."""
        known = [self.source(each) for each in range(len(self.policy.sources))]
        known[place] = source
        return self.reconfigured(sources=tuple(known))

    def replaced_by(self, worker: str | None) -> tuple[int, ...]:
        """Return the places of the sources whose opinions an answer of this worker replaces: its own, or repeated."""
        if worker is None:
            return ()
        names = enumerate(self.policy.sources)
        return tuple(place for place, name in names if worker == name or worker in self.source(place).echoes)

    @property
    def remaining(self) -> Decimal | None:
        """The money that can still be reserved for assignments; None means unlimited."""
        return None if self.budget is None else self.budget - self.spent - self.reserved

    @property
    def open(self) -> int:
        """How many items take more answers."""
        return self.items - self.resolved - self.given_up

    @property
    def is_done(self) -> bool:
        """Whether the job has items, and none is open."""
        return self.items > 0 and not self.open

    @property
    def state(self) -> JobState:
        if self.is_done:
            return JobState.DONE
        if self.paused:
            return JobState.PAUSED
        return JobState.EXHAUSTED if self.out_of_money else JobState.RUNNING

    @property
    def refit_may_reopen(self) -> bool:
        """Whether a refit may open closed items again: by the policy, or by what items of known truth show."""
        schedule = self.policy.refit
        knows_truth = self.calibration is not None or self.gold_items > 0
        is_audited = self.audit is not None and self.audit["checked"] > 0
        return schedule is not None and (schedule.reopen or knows_truth or is_audited)

    @property
    def claimed(self) -> float | None:
        """How often the labels that answers made are expected to be right; None without such labels.

        By the calibration, which their confidence follows; without one, as in other crowds of the same mean confidence
        and dissent.
        """
        if not self.labeled:
            return None
        mean = min(max(self.confidence_sum / self.labeled, 0.0), 1.0)
        if self.calibration is not None or not isinstance(self.policy.worker_model, Auto):
            return mean
        dissent = np.expm1([max(self.dissent_sum / self.labeled, 0.0)])
        return float(expected_accuracy(np.array([mean]), dissent)[0])

    @property
    def completeness(self) -> float:
        """The expected share of the work that is done, 0..1."""
        return min(max(self.progress / self.items, 0.0), 1.0) if self.items else 0.0


def engine_of(
    policy: JobPolicy,
    budget: Decimal | None,
    inverse_costs: float = 0.0,
    stage: int = 0,
    calibration: Calibration | None = None,
    sources: tuple[SourceSkill, ...] = (),
    price: float = 1.0,
) -> Engine:
    """Create the engine of a job with this configuration."""
    amount = None if budget is None else float(budget)
    return Engine(policy, amount, inverse_costs, stage, calibration, sources, price)
