"""Forecast a default job for a plan, so that all plans say the same about the same request."""

from dataclasses import dataclass, field

import numpy as np

from app.policy.job_policy import JobPolicy
from app.policy.planning.stopping import Limits
from app.policy.requirements import Posterior
from app.simulation.crowd_population import ALL_CROWDS
from app.simulation.job_forecast import Forecast, ForecastCrowd
from app.use_cases.plans.find_prior import FoundPrior
from app.use_cases.plans.forecast_plan import PlannedJob, forecast_planned_job

ITEMS = 200  # simulated where the plan does not say how many there are
_LEAST, _MOST = 0.500001, 0.999999  # probabilities that a job accepts; below a half no label is likeliest


@dataclass(frozen=True)
class DefaultJobRequest:
    """What a default job is asked for: this accuracy, for items whose answers cost this much."""

    labels: tuple[str, ...]
    accuracy: float
    items: int | None
    answer_cost: float
    limits: Limits = field(default_factory=Limits)

    @property
    def policy(self) -> JobPolicy:
        """The default policy with the requirement that asks for this accuracy."""
        return JobPolicy(
            labels=self.labels,
            requirement=Posterior(min_probability=min(max(self.accuracy, _LEAST), _MOST)),
            min_labels=self.limits.min_labels,
            max_labels=self.limits.max_labels,
            max_votes_per_label=self.limits.max_votes_per_label,
        )


async def forecast_default_job(request: DefaultJobRequest, known: FoundPrior | None) -> Forecast:
    """Forecast a default job, with the crowd of the given prior, or with crowds as different as public ones are.

    The forecast plan gives the same figures for the same request.
    """
    costs = np.full(request.items or ITEMS, request.answer_cost)
    prior = ALL_CROWDS if known is None else known.prior
    return await forecast_planned_job(PlannedJob(request.policy, costs, None), prior, ForecastCrowd())
