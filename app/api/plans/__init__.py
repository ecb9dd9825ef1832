"""Plans over HTTP: what it will cost, how sure one can be, whether it pays; before any money is spent."""

from fastapi import APIRouter

from app.api.plans import accuracy_cost, fitness, forecast, requirement, split

router = APIRouter(prefix="/v1/plans", tags=["plans"])
for plan in (accuracy_cost, fitness, forecast, requirement, split):
    router.include_router(plan.router)
