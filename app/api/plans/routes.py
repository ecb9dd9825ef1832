"""Plans over HTTP: what a job will cost and reach, before any money is spent."""

from fastapi import APIRouter

from app.api.plans.accuracy_cost import routes as accuracy_cost
from app.api.plans.fitness import routes as fitness
from app.api.plans.forecast import routes as forecast
from app.api.plans.requirement import routes as requirement
from app.api.plans.split import routes as split

router = APIRouter(prefix="/v1/plans", tags=["plans"])
for plan in (accuracy_cost, fitness, forecast, requirement, split):
    router.include_router(plan.router)
