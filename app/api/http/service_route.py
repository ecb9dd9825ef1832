"""The route class of every endpoint: it refuses unknown query parameters and reads JSON bodies safely."""

from collections.abc import Callable, Coroutine
from difflib import get_close_matches
from typing import Any

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app.api.http.json_body import is_json, read_json
from app.errors import FieldError, UnknownParameter, shortened

Handler = Callable[[Request], Coroutine[Any, Any, Response]]

_MOST_NAMED = 20


class ServiceRoute(APIRoute):
    """An ordinary FastAPI route with two checks in front of it."""

    def get_route_handler(self) -> Handler:
        validated = super().get_route_handler()
        known = sorted(_query_parameters(self.dependant))
        takes_body = self.body_field is not None

        async def handle(request: Request) -> Response:
            if request.scope["query_string"]:
                _refuse_unknown_parameters(request, known)
            if takes_body and is_json(request) and (body := await request.body()):
                request._json = await read_json(body)  # noqa: SLF001  where Starlette keeps what it has parsed
            return await validated(request)

        return handle


def _query_parameters(dependant: Dependant) -> set[str]:
    """Collect the names of the query parameters of the endpoint and its dependencies."""
    inner = (_query_parameters(one) for one in dependant.dependencies)
    return {field.alias for field in dependant.query_params}.union(*inner)


def _refuse_unknown_parameters(request: Request, known: list[str]) -> None:
    unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
    if not unknown:
        return
    errors = tuple(_unknown(name, known) for name in unknown[:_MOST_NAMED])
    raise UnknownParameter(f"{errors[0].pointer}: {errors[0].message}", errors=errors)


def _unknown(name: str, known: list[str]) -> FieldError:
    allowed = f"this operation has {', '.join(known)}" if known else "this operation has none"
    similar = get_close_matches(name[:100], known, 1)
    hint = f"; did you mean `{similar[0]}`?" if similar else ""
    return FieldError(f"?{shortened(name, quoted=False)}", f"Unknown query parameter; {allowed}{hint}")
