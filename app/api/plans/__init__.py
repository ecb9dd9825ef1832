"""Plans over HTTP: what it will cost, how sure one can be, whether it pays; before any money is spent."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/plans", tags=["plans"])

from app.api.plans import split  # noqa: E402, F401  it adds itself to the router
