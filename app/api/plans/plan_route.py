"""Every plan in two formats: JSON for programs, a chart for people."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel

from app.api.http.negotiation import VARY_DOCUMENTED, NegotiatedRoute, requested_media
from app.api.http.problems import documented
from app.api.http.service_route import ServiceRoute
from app.charts.canvas import Drawing, render_chart
from app.errors import InvalidInput, NotAcceptable, SufficeError
from app.use_cases.plans.plan_threads import in_plan_thread

_JSON, _SVG = "application/json", "image/svg+xml"

_PICTURE = '<svg xmlns="http://www.w3.org/2000/svg" width="540pt" height="324pt">...</svg>'

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])


async def _form(request: Request) -> str:
    if request.url.path.endswith(".svg"):
        return _SVG
    return requested_media(request, "Plans", (_JSON, _SVG))


Form = Annotated[str, Depends(_form)]


def plan_at(
    router: APIRouter, path: str, *, summary: str, shows: type[BaseModel], errors: tuple[type[SufficeError], ...] = ()
) -> Callable[[Endpoint], Endpoint]:
    """Register an endpoint at the path and at the path with .svg; `in_form` builds the response."""
    responses: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The plan; with `Accept: image/svg+xml` a chart of it",
            "headers": VARY_DOCUMENTED,
            "content": {_SVG: {"schema": {"type": "string"}, "example": _PICTURE}},
        },
        **documented(NotAcceptable, InvalidInput, *errors, body=True),
    }

    def registered(endpoint: Endpoint) -> Endpoint:
        for suffix in ("", ".svg"):
            router.add_api_route(
                path + suffix,
                endpoint,
                methods=["POST"],
                summary=summary,
                response_model=shows,
                responses=responses,
                include_in_schema=not suffix,
                route_class_override=ServiceRoute if suffix else NegotiatedRoute,
            )
        return endpoint

    return registered


async def in_form(form: str, plan: BaseModel, paint: Drawing) -> Response:
    """Respond with the plan as JSON, or with the chart that `paint` draws."""
    if form == _SVG:
        return Response(await in_plan_thread(render_chart, paint), media_type=_SVG)
    return Response(plan.model_dump_json(), media_type=_JSON)
