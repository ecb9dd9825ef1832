"""A short cut for the hot path: valid requests skip FastAPI's machinery, all others take its usual way."""

import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Final
from uuid import UUID

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_JSON: Final = "application/json"


def respond_with(model: BaseModel, headers: dict[str, str] | None = None) -> Response:
    """A response as it is: FastAPI would validate it once more."""
    return Response(model.model_dump_json(), headers=headers, media_type=_JSON)


class DirectRoute(APIRoute):
    """Calls an endpoint of (job_id, desk, request, body), or some of these, that returns a response.

    Solving dependencies and validating twice costs more than all that such an endpoint does itself. The signature still
    documents and checks: whatever is not plainly right is handled by FastAPI, error messages and all.
    """

    def get_route_handler(self) -> Handler:
        usual = super().get_route_handler()
        endpoint, parameters = self.endpoint, inspect.signature(self.endpoint).parameters
        annotation: Any = parameters["body"].annotation
        body: TypeAdapter[Any] = TypeAdapter(annotation)

        async def handle(request: Request) -> Response:
            try:
                given = {
                    "job_id": UUID(request.path_params["job"]),
                    "body": body.validate_json(await request.body()),
                    "desk": request.app.state.desk,
                    "request": request,
                }
            except (ValidationError, ValueError):
                return await usual(request)
            if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _JSON:
                return await usual(request)
            response: Response = await endpoint(**{name: given[name] for name in parameters})
            return response

        return handle
