"""The catalog of policies over HTTP."""

from functools import cache

from fastapi import APIRouter

from app.api.catalog.schemas import CatalogOut, PolicyOut
from app.api.http.service_route import ServiceRoute
from app.policy.catalog import catalog

router = APIRouter(prefix="/v1/catalog", tags=["catalog"], route_class=ServiceRoute)


@router.get("", summary="List all policies")
async def list_policies() -> CatalogOut:
    """Look here before you create a job: every policy that a job can use, by its `kind`.

    Each kind of answer, requirement, allocation, worker model, worker choice and aggregation comes with what it does,
    its formula, the paper that it comes from, and the JSON schema of its parameters.
    """
    return _catalog()


@cache
def _catalog() -> CatalogOut:
    return CatalogOut(
        **{family: [PolicyOut.model_validate(entry) for entry in entries] for family, entries in catalog().items()}
    )
