"""Simulate a job before it is created."""

from dataclasses import dataclass

from app.policy.core.belief import Array
from app.policy.engine import Engine
from app.policy.job_policy import JobPolicy
from app.policy.planning.cost_sensitive import Prior
from app.simulation.crowd_population import CrowdPopulation
from app.simulation.job_forecast import QUICK, Forecast, ForecastCrowd, forecast_plan
from app.use_cases.plans.plan_threads import in_plan_thread


@dataclass(frozen=True)
class PlannedJob:
    """A job that is not created yet: how it decides, what its answers cost, and what it may spend."""

    policy: JobPolicy
    costs: Array  # of an answer on each item, (items,)
    budget: float | None


async def forecast_planned_job(job: PlannedJob, prior: Prior | CrowdPopulation, crowd: ForecastCrowd) -> Forecast:
    """Forecast how the job would end, with workers who are right as often as the prior says, or with any crowd."""
    return await in_plan_thread(_simulated, job, prior, crowd)


def _simulated(job: PlannedJob, prior: Prior | CrowdPopulation, crowd: ForecastCrowd) -> Forecast:
    engine = Engine(job.policy, job.budget, float((1 / job.costs).sum()))
    of_items = prior if isinstance(prior, CrowdPopulation) else (prior.a, prior.b)
    return forecast_plan(engine, job.costs, of_items, crowd, work=QUICK, seed=job.policy.seed)
