"""Plans over HTTP: what it will cost, how sure one can be, whether it pays; before any money is spent."""

from fastapi import APIRouter

from app.api.plans import accuracy_cost, fitness

router = APIRouter(prefix="/v1/plans", tags=["plans"])
router.include_router(accuracy_cost.router)
router.include_router(fitness.router)
