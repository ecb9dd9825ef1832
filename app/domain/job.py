"""A job: how it decides, its money and its counters."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any
from uuid import UUID

from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy


class JobState(StrEnum):
    """Whether a job gives out work."""

    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job's configuration, its money and its counters: one row, which every writer of the job locks.

    The engine belongs to the configuration: it is kept as long as policy, budget, costs and stage stay the same.
    """

    job_id: UUID
    name: str | None
    policy: JobPolicy
    lease_duration: timedelta
    paused: bool = False
    budget: Decimal | None
    spent: Decimal = Decimal(0)
    reserved: Decimal = Decimal(0)
    items: int = 0
    resolved: int = 0
    given_up: int = 0
    assignments: int = 0
    answers: int = 0
    progress: float = 0.0
    inverse_costs: float = 0.0
    least_cost: Decimal = Decimal(0)
    stage: int = 0
    stage_choice: dict[str, Any] | None = None
    refit_at: int | None = None
    operations: int = 0
    gold_items: int = 0
    recounts: int = 0
    blocks: int = 0
    reputation: UUID | None = None
    plan: dict[str, Any] | None = None
    forecast: dict[str, Any] | None = None
    created_at: datetime
    engine: Engine = field(default=None, repr=False, compare=False)  # type: ignore[assignment]  # set below at the latest

    def __post_init__(self) -> None:
        budget, known = None if self.budget is None else float(self.budget), self.engine
        if (
            known is None
            or known.policy is not self.policy
            or (known.budget, known.inverse_costs, known.stage) != (budget, self.inverse_costs, self.stage)
        ):
            object.__setattr__(self, "engine", Engine(self.policy, budget, self.inverse_costs, self.stage))

    @property
    def remaining(self) -> Decimal | None:
        """What may still be promised to workers; None is unlimited."""
        return None if self.budget is None else self.budget - self.spent - self.reserved

    @property
    def refit_is_due(self) -> bool:
        """The job has had so many answers since the last fit that all of them should be fitted again."""
        return self.refit_at is not None and self.answers >= self.refit_at

    @property
    def open(self) -> int:
        """How many items take more answers."""
        return self.items - self.resolved - self.given_up

    @property
    def state(self) -> JobState:
        if self.items and not self.open:
            return JobState.DONE
        return JobState.PAUSED if self.paused else JobState.RUNNING

    @property
    def completeness(self) -> float:
        """The expected share of the work that is done, 0..1."""
        return min(max(self.progress / self.items, 0.0), 1.0) if self.items else 0.0
