"""Plans over HTTP: what it will cost, how sure one can be, whether it pays; before any money is spent."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/plans", tags=["plans"])

from app.api.plans import forecast as forecast  # noqa: E402  it answers at the router above
