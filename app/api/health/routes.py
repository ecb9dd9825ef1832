"""Health checks: is the process alive, and is it ready for requests?"""

from fastapi import APIRouter

from app.api.health.schemas import Health, Readiness
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.api.http.services import ServicesOf
from app.errors import Unavailable
from app.use_cases.database_health import read_schema_revision

router = APIRouter(tags=["health"], route_class=ServiceRoute)


@router.get("/healthz", summary="Is the process alive?")
async def get_health() -> Health:
    """For a supervisor: restart the process if this does not respond. It does not use the database."""
    return Health(status="ok")


@router.get("/readyz", summary="Is the service ready for requests?", responses=documented())
async def get_readiness(services: ServicesOf) -> Readiness:
    """For a load balancer: send requests only while this responds 200. It checks the database and its migrations."""
    schema = await read_schema_revision(services.database)
    if schema.found != schema.needed:
        raise Unavailable(
            f"The database is at revision {schema.found}, but the code needs {schema.needed}. Run `suffice migrate`."
        )
    return Readiness(status="ready", revision=schema.found)
