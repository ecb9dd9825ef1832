"""Plans over HTTP: what it will cost, how sure one can be, whether it pays; before any money is spent."""

from fastapi import APIRouter

router = APIRouter(prefix="/v1/plans", tags=["plans"])

# Each adds itself to the router.
from app.api.plans import requirement, split  # noqa: E402, F401
