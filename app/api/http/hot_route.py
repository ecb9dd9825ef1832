"""A short cut for the two busiest endpoints: a valid request skips FastAPI's dependency solver.

Solving dependencies and validating the response costs more than everything that `next` and `answers` do themselves.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final
from uuid import UUID

from fastapi import Request, Response
from pydantic import BaseModel, TypeAdapter, ValidationError

from app.api.http.json_body import LARGE_BYTES
from app.api.http.service_route import Handler, ServiceRoute
from app.api.http.services import Services

_JSON: Final = "application/json"

HotEndpoint = Callable[[Services, UUID, Any], Awaitable[Response]]


def json_response(model: BaseModel, headers: dict[str, str] | None = None) -> Response:
    """A response from a model that is known to be valid; FastAPI would validate it again."""
    return Response(model.model_dump_json(), headers=headers, media_type=_JSON)


def hot_route(body: Any) -> type[ServiceRoute]:  # noqa: ANN401  a model, or a union of models
    """A route class for endpoints of exactly (services, job_id, body), where the body is of this type.

    The endpoint's signature still documents the operation. Requests that are not plainly valid take the usual way
    through FastAPI, which makes the error messages.
    """
    adapter: TypeAdapter[Any] = TypeAdapter(body)

    class HotRoute(ServiceRoute):
        def get_route_handler(self) -> Handler:
            usual = super().get_route_handler()
            endpoint: HotEndpoint = self.endpoint

            async def handle(request: Request) -> Response:
                content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
                if request.scope["query_string"] or content_type != _JSON:
                    return await usual(request)
                sent = await request.body()
                if len(sent) > LARGE_BYTES:
                    return await usual(request)
                try:
                    job_id, valid = UUID(request.path_params["job"]), adapter.validate_json(sent)
                except (ValidationError, ValueError):
                    return await usual(request)
                return await endpoint(request.app.state.services, job_id, valid)

            return handle

    return HotRoute
