"""Every failure as application/problem+json, naming the field where there is one."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from app.api.wire import FieldProblem, Problem
from app.errors import FieldError, InvalidInput, RequestTimeout, SufficeError, TooLarge, TooSlow, Unavailable
from app.store.database import LOST, is_lost

log = structlog.get_logger()

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


def respond(request: Request, error: SufficeError, headers: dict[str, str] | None = None) -> ProblemResponse:
    problem = problem_of(error, getattr(request.state, "request_id", None))
    return ProblemResponse(problem.model_dump(mode="json"), error.status, headers)


def install(app: FastAPI) -> None:
    app.add_exception_handler(SufficeError, _known)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _protocol)
    for perhaps_lost in LOST:
        app.add_exception_handler(perhaps_lost, _database)


def documented(*errors: type[SufficeError], body: bool = False) -> dict[int | str, dict[str, Any]]:
    """What an operation's OpenAPI entry says of the errors it may answer with.

    Whatever asks the database may find it away or slow, and whatever reads a body may find it late or large: endpoints
    name only what is their own.
    """
    everywhere = (RequestTimeout, TooLarge, TooSlow, Unavailable) if body else (TooSlow, Unavailable)
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
    fields = _without_consequences([_field_error(one, error.body) for one in error.errors()])
    return respond(request, InvalidInput.of(fields))


async def _protocol(request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)  # noqa: S101  as registered
    if error.status_code == HTTPStatus.BAD_REQUEST:
        unreadable = FieldError("#", "The body must be JSON in UTF-8, not too deep, with numbers of a sensible length")
        return respond(request, InvalidInput("The body cannot be read", errors=(unreadable,)))
    code = _PROTOCOL_CODES.get(error.status_code, HTTPStatus(error.status_code).phrase.lower().replace(" ", "-"))
    detail = {
        404: f"There is nothing at {request.url.path}; /docs lists what there is",
        405: f"{request.method} is not possible at {request.url.path}",
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
    if not is_lost(error):
        raise error
    log.warning("database unavailable", error=str(error).splitlines()[0] if str(error) else type(error).__name__)
    away = Unavailable("The database does not answer at the moment; send the request again")
    return respond(request, away, away.headers)


def _field_error(error: dict[str, Any], body: Any) -> FieldError:  # noqa: ANN401  whatever was sent
    where, *path = error["loc"]
    if error["type"] == "json_invalid":
        cause = error.get("ctx", {}).get("error", "it cannot be parsed")
        return FieldError("#", f"The body is not JSON: {cause}, at character {path[0] if path else 0}")
    if where == "body" and not path and isinstance(body, bytes):
        return FieldError("#", "The body must be JSON, sent with the header Content-Type: application/json")
    if where == "body":
        steps = _real_path(path, body, missing=error["type"] == "missing")
        return FieldError("#" + "".join(f"/{step}" for step in steps), error["msg"])
    return FieldError(f"?{'.'.join(map(str, path))}" if where == "query" else ".".join(map(str, path)), error["msg"])


def _is_a_field(part: Any, at: Any) -> bool:  # noqa: ANN401  whatever was sent
    """A field that was left out and has a bad default, not the name of a union's member."""
    return isinstance(part, str) and isinstance(at, dict) and part not in {at.get("kind"), "one", "many", "[key]"}


def _without_consequences(fields: Sequence[FieldError]) -> tuple[FieldError, ...]:
    """A list with a bad entry is also reported as too short; only the entry is the cause."""
    lists = {parent for field in fields for parent in _parents(field.pointer)}
    return tuple(field for field in fields if field.pointer not in lists)


def _parents(pointer: str) -> list[str]:
    """The pointers to what a field is in: of thousands of bad entries, each is looked up and none compared with all."""
    steps = pointer.split("/")
    return ["/".join(steps[:depth]) for depth in range(1, len(steps))]


def _real_path(path: Sequence[Any], body: Any, *, missing: bool) -> list[str]:  # noqa: ANN401  whatever was sent
    """The steps of an error's location that exist in the body, or are missing there; the rest name union members."""
    steps: list[str] = []
    at = body
    for number, part in enumerate(path):
        if (isinstance(at, dict) and part in at) or (isinstance(at, list) and isinstance(part, int) and part < len(at)):
            at = at[part]
        elif number < len(path) - 1 or not (missing or _is_a_field(part, at)):
            continue
        steps.append(str(part).replace("~", "~0").replace("/", "~1"))
    return steps
