"""Every plan in two forms: numbers for programs, a picture for people."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel

from app.api.media import VARY_DOCUMENTED, NegotiatedRoute, wanted_form
from app.api.plans.apart import apart
from app.api.problems import documented
from app.errors import InvalidInput, NotAcceptable, SufficeError
from app.plots.canvas import Paint, drawn

_JSON, _SVG = "application/json", "image/svg+xml"

Endpoint = TypeVar("Endpoint", bound=Callable[..., Awaitable[Response]])


async def _form(request: Request) -> str:
    if request.url.path.endswith(".svg"):
        return _SVG
    return wanted_form(request, "Plans", (_JSON, _SVG))


Form = Annotated[str, Depends(_form)]


def plan_at(
    router: APIRouter, path: str, *, summary: str, shows: type[BaseModel], errors: tuple[type[SufficeError], ...] = ()
) -> Callable[[Endpoint], Endpoint]:
    """Answer POST at the path, and at the path with .svg, with a plan that `in_form` gives."""
    responses: dict[int | str, dict[str, Any]] = {
        200: {
            "description": "The plan, or with `Accept: image/svg+xml` its picture",
            "headers": VARY_DOCUMENTED,
            "content": {_SVG: {"schema": {"type": "string"}}},
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
                route_class_override=APIRoute if suffix else NegotiatedRoute,
            )
        return endpoint

    return registered


async def in_form(form: str, plan: BaseModel, paint: Paint) -> Response:
    """The plan as numbers, or as the picture that `paint` makes of it."""
    if form == _SVG:
        return Response(await apart(drawn, paint), media_type=_SVG)
    return Response(plan.model_dump_json(), media_type=_JSON)
