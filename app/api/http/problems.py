"""Send every failure as application/problem+json (RFC 9457), with the wrong fields if there are any."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.api.http.common_schemas import FieldProblem, Problem
from app.api.http.invalid_fields import body_error, sentence, without_consequences
from app.errors import (
    BodyUnreadable,
    FieldError,
    InvalidInput,
    RequestTimeout,
    SufficeError,
    TooLarge,
    TooSlow,
    Unavailable,
    UnknownParameter,
    shortened,
)
from app.use_cases.database_health import DATABASE_ERRORS, is_database_lost

log = structlog.get_logger()

_MOST_READ = 100  # errors of a body that are read; the response lists the first 20
_PROTOCOL_CODES = {404: "not-found", 405: "method-not-allowed", 413: TooLarge.code}


class ProblemResponse(JSONResponse):
    media_type = "application/problem+json"


def problem_of(error: SufficeError, request_id: str | None) -> Problem:
    return Problem(
        type=f"urn:suffice:problem:{error.code}",
        title=error.title(),
        status=error.status,
        detail=error.detail,
        code=error.code,
        errors=[FieldProblem(pointer=field.pointer, message=field.message) for field in error.errors],
        request_id=request_id,
    )


def current_request_id() -> str | None:
    """Return the id of the current request, which is also in the log."""
    request_id: str | None = structlog.contextvars.get_contextvars().get("request_id")
    return request_id


def respond(request: Request, error: SufficeError, headers: dict[str, str] | None = None) -> ProblemResponse:
    problem = problem_of(error, getattr(request.state, "request_id", None))
    return ProblemResponse(problem.model_dump(mode="json"), error.status, headers)


def install(app: FastAPI) -> None:
    app.add_exception_handler(SufficeError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _protocol)
    for perhaps_lost in DATABASE_ERRORS:
        app.add_exception_handler(perhaps_lost, _database)


def documented(*errors: type[SufficeError], body: bool = False) -> dict[int | str, dict[str, Any]]:
    """List the error responses of an operation for the OpenAPI document.

    An endpoint names only its own errors. The errors that every request can get are added here.
    """
    everywhere: tuple[type[SufficeError], ...] = (UnknownParameter, TooSlow, Unavailable)
    if body:
        everywhere = (BodyUnreadable, RequestTimeout, TooLarge, *everywhere)
    by_status: dict[int | str, list[type[SufficeError]]] = {}
    for error in (*errors, *everywhere):
        by_status.setdefault(error.status, []).append(error)
    return {status: _described(by_status[status]) for status in sorted(by_status)}


def _described(same: Sequence[type[SufficeError]]) -> dict[str, Any]:
    names = sorted({name for error in same for name in error.headers})
    headers = {name: {"schema": {"type": "string"}, "required": all(name in e.headers for e in same)} for name in names}
    return {
        "description": " · ".join(f"`{error.code}` {error.title()}" for error in same),
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    } | ({"headers": headers} if headers else {})


async def _known(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, SufficeError)  # noqa: S101  as registered
    return respond(request, error, error.headers)


async def _invalid(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, RequestValidationError)  # noqa: S101  as registered
    fields = without_consequences([_field_error(one, request, error.body) for one in error.errors()[:_MOST_READ]])
    return respond(request, InvalidInput.of(fields))


async def _protocol(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)  # noqa: S101  as registered
    if error.status_code == HTTPStatus.BAD_REQUEST:
        unreadable = FieldError("#", "Must be JSON in UTF-8")
        return respond(request, BodyUnreadable("The body cannot be read. Send JSON in UTF-8.", errors=(unreadable,)))
    code = _PROTOCOL_CODES.get(error.status_code, HTTPStatus(error.status_code).phrase.lower().replace(" ", "-"))
    path = shortened(request.url.path, quoted=False)
    detail = {
        404: f"There is nothing at {path}. See /docs for all operations.",
        405: f"{path} does not support {request.method}. See /docs for all operations.",
    }.get(error.status_code, str(error.detail))
    problem = Problem(
        type=f"urn:suffice:problem:{code}",
        title=HTTPStatus(error.status_code).phrase,
        status=error.status_code,
        detail=detail,
        code=code,
        request_id=getattr(request.state, "request_id", None),
    )
    return ProblemResponse(problem.model_dump(mode="json"), error.status_code, error.headers)


async def _database(request: Request, error: Exception) -> ProblemResponse:
    if not is_database_lost(error):
        raise error
    log.warning("database unavailable", error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    unavailable = Unavailable("The database does not answer at the moment. Send the request again in a second.")
    return respond(request, unavailable, unavailable.headers)


def _field_error(error: dict[str, Any], request: Request, body: Any) -> FieldError:  # noqa: ANN401  whatever was sent
    where, *path = error["loc"]
    if where == "body" and not path and isinstance(body, bytes):
        return FieldError("#", "Must be JSON, with the header Content-Type: application/json")
    if where == "body":
        return body_error(error, body, _body_type(request))
    name = ".".join(map(str, path))
    return FieldError(f"?{name}" if where == "query" else name, sentence(error))


def _body_type(request: Request) -> Any:  # noqa: ANN401  any annotation
    """Return the type that the operation's body should have."""
    field = getattr(request.scope.get("route"), "body_field", None)
    return None if field is None else field.field_info.annotation
