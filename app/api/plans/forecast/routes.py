"""Forecast a job before it is created."""

from fastapi import APIRouter, Response

from app.api.http.common_schemas import money
from app.api.http.services import ServicesOf
from app.api.plans.forecast.schemas import ForecastPlanIn, ForecastPlanOut
from app.api.plans.forecast_schemas import job_outcome_out
from app.api.plans.plan_route import Form, in_form, plan_at
from app.api.plans.plan_schemas import FieldsOfPlan, PlanOut, PromiseOut
from app.api.plans.prior_schemas import PriorOut, prior_out
from app.charts.canvas import Drawing
from app.charts.forecast_chart import ForecastPoint, draw_forecast
from app.errors import FieldError, InvalidInput
from app.simulation.crowd_population import ALL_CROWDS
from app.simulation.job_forecast import INTERVAL_PROBABILITY, Forecast, ForecastCrowd, Range
from app.use_cases.jobs.limits import refuse_impossible_limits
from app.use_cases.plans.find_prior import find_prior
from app.use_cases.plans.forecast_plan import PlannedJob, forecast_planned_job
from app.use_cases.plans.plan_threads import in_plan_thread

router = APIRouter()

_CENTS = 2  # decimals of an expected amount


@plan_at(router, "/forecast", summary="Forecast a job before it is created", shows=ForecastPlanOut)
async def plan_forecast(services: ServicesOf, body: ForecastPlanIn, form: Form) -> Response:
    """See how many items would be resolved, how many of them correctly, and at what cost, before you spend money.

    The job is simulated many times, by the same code that decides for real jobs. Without a `prior`, each time with
    another crowd: crowds differ as those of public data sets do, so the intervals are wide. With a prior, workers are
    right as often as it says. The same request gives the same response. For large jobs a sample of the items is
    simulated, which makes the intervals wider.
    """
    _refuse_useless_budget(body)
    await in_plan_thread(refuse_impossible_limits, body.policy())
    known = None if body.prior is None else await find_prior(services.database, body.prior.source())
    budget = None if body.budget is None else float(body.budget)
    crowd = ForecastCrowd(body.crowd.workers, body.crowd.skill_spread)
    job = PlannedJob(body.policy(), body.costs(), budget)
    found = await forecast_planned_job(job, ALL_CROWDS if known is None else known.prior, crowd)
    prior = None if known is None else prior_out(known)
    return await in_form(form, _plan_out(body, prior, found), _chart(found, budget))


def _refuse_useless_budget(body: ForecastPlanIn) -> None:
    least = body.least_cost()
    if body.budget is not None and body.budget < least:
        wrong = FieldError("#/budget", f"Must be at least {least:f}, the cost of one answer on the cheapest item")
        raise InvalidInput("The budget does not pay for a single answer. Raise it.", errors=(wrong,))


def _plan_out(body: ForecastPlanIn, prior: PriorOut | None, found: Forecast) -> ForecastPlanOut:
    return ForecastPlanOut(
        **dict(job_outcome_out(found.end)),
        prior=prior,
        interval_probability=INTERVAL_PROBABILITY,
        items=found.items,
        runs=found.runs,
        simulated_items=found.simulated_items,
        truncated=found.truncated,
        curve=[job_outcome_out(at) for at in found.curve],
        offer=_offer(body, found),
    )


def _offer(body: ForecastPlanIn, found: Forecast) -> PlanOut:
    """Offer the budget that was sent, or one that is enough in nine of ten cases, or none if that is not known."""
    end = found.end
    budget = {} if found.truncated else {"budget": money(end.cost.high, _CENTS)}
    if body.budget is not None:
        budget = {"budget": body.budget}
    return PlanOut(
        kind="forecast",
        **{name: getattr(body, name) for name in FieldsOfPlan.model_fields},
        **budget,
        promise=PromiseOut(
            cost_per_item=money(end.cost.expected / found.items),
            answers_per_item=end.labels.expected / found.items,
            accuracy=None if end.accuracy is None else end.accuracy.expected,
            resolved=end.resolved.expected / found.items,
        ),
    )


def _chart(found: Forecast, budget: float | None) -> Drawing:
    bands = {
        "items resolved": [_point(at.budget, at.resolved, found.items) for at in found.curve],
        "of those, right": [_point(at.budget, at.accuracy) for at in found.curve if at.accuracy is not None],
    }
    return draw_forecast(f"What a budget buys: {found.items:,} items", bands, budget, INTERVAL_PROBABILITY)


def _point(budget: float | None, found: Range, unit: float = 1.0) -> ForecastPoint:
    return ForecastPoint(budget or 0.0, found.expected / unit, found.low / unit, found.high / unit)
