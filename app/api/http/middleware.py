"""The middleware of every request: an id and a line in the log, a size limit, and a time limit."""

import asyncio
import json
import re
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import uuid4

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.content_type import TABLES, content_type
from app.api.http.logs import Level
from app.api.http.problems import ProblemResponse, problem_of, respond
from app.errors import RequestTimeout, SufficeError, TooLarge, TooSlow

_BULK = re.compile(r"/v1/jobs/[^/]+/(items|answers)")
_HEADER = b"x-request-id"
_ACCEPTABLE = re.compile(rb"[A-Za-z0-9._:-]{1,64}")

log = structlog.get_logger()


class RequestLog:
    """The outermost middleware: an error without a response becomes a 500 with the request's id."""

    def __init__(self, app: ASGIApp, level: Level) -> None:
        self.app = app
        self.writes = level in {"debug", "info"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request_id = _request_id(scope)
        scope.setdefault("state", {})["request_id"] = request_id
        started = time.perf_counter()
        status = 0

        async def send_with_id(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (_HEADER, request_id.encode())]
            await send(message)

        structlog.contextvars.bind_contextvars(request_id=request_id)  # each request is a task with its own context
        try:
            await self.app(scope, receive, send_with_id)
        except Exception:
            log.exception("unexpected error")
            if status:
                raise
            await _internal_error(request_id)(scope, receive, send_with_id)
        finally:
            if self.writes:
                _write_line(scope, request_id, status, time.perf_counter() - started)


def _write_line(scope: Scope, request_id: str, status: int, seconds: float) -> None:
    """Write the same line as structlog in a tenth of the time, because every request writes one."""
    line = {
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "duration_ms": round(seconds * 1000, 2),
        "event": "request",
        "request_id": request_id,
        "level": "info",
        "timestamp": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
    }
    sys.stderr.write(f"{json.dumps(line)}\n")


def _request_id(scope: Scope) -> str:
    """Return the caller's id if it is safe to repeat, otherwise a new one."""
    sent = next((value for name, value in scope["headers"] if name == _HEADER), b"")
    return sent.decode() if _ACCEPTABLE.fullmatch(sent) else uuid4().hex


def _internal_error(request_id: str) -> ProblemResponse:
    error = SufficeError("This is an error of the service. Its log has the details under this request's id.")
    return ProblemResponse(problem_of(error, request_id).model_dump(mode="json"), error.status)


@dataclass(frozen=True)
class BodySizes:
    """How many bytes a body may have."""

    usual: int
    answers: int  # up to 1,000 of them in one body
    imports: int  # of items or of recorded answers: they go to disk, so memory does not limit them


class BodyLimit:
    """Counts the bytes that really arrive, whatever the headers say, and responds 413 if they are too many."""

    def __init__(self, app: ASGIApp, sizes: BodySizes) -> None:
        self.app = app
        self.sizes = sizes
        self.always = min(sizes.usual, sizes.answers, sizes.imports)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.always and received > (most := self._most(scope)):
                raise HTTPException(
                    TooLarge.status, f"The body has more than {most:,} bytes. Send it in several requests."
                )
            return message

        await self.app(scope, counted, send)

    def _most(self, scope: Scope) -> int:
        bulk = _BULK.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if bulk is None:
            return self.sizes.usual
        to_disk = bulk[1] == "items" or content_type(Request(scope)) in TABLES
        return self.sizes.imports if to_disk else self.sizes.answers


def lift_time_limit(request: Request) -> None:
    """Remove the time limit of a request that may take long, such as an import of a million items."""
    request.state.no_limit()


class TimeLimit:
    """Ends requests that make no progress. Each part of the body that arrives restarts the time."""

    def __init__(self, app: ASGIApp, seconds: float) -> None:
        self.app = app
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        limit = asyncio.timeout(self.seconds)
        waits_for_body, more_to_come = False, True

        async def timed_receive() -> Message:
            nonlocal waits_for_body, more_to_come
            waits_for_body = more_to_come
            message = await receive()
            waits_for_body, more_to_come = False, message.get("more_body", False)
            if more_to_come:
                self._put_off(limit, self.seconds)
            return message

        async def timed_send(message: Message) -> None:
            if message["type"] == "http.response.start" and not _is_whole(message):
                self._put_off(limit, None)
            await send(message)

        scope.setdefault("state", {})["no_limit"] = lambda: self._put_off(limit, None)
        try:
            async with limit:
                await self.app(scope, timed_receive, timed_send)
        except TimeoutError:
            if not limit.expired():  # the error comes from another time limit, inside the application
                raise
            await self._refusal(scope, waits_for_body=waits_for_body)(scope, receive, send)

    def _put_off(self, limit: asyncio.Timeout, seconds: float | None) -> None:
        if limit.expired() or limit.when() is None:  # the request is being ended, or has no limit any more
            return
        limit.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)

    def _refusal(self, scope: Scope, *, waits_for_body: bool) -> ProblemResponse:
        if waits_for_body:
            late = RequestTimeout(
                f"No part of the body has arrived for {self.seconds:g} seconds. Send the request again."
            )
            return respond(Request(scope), late, late.headers)
        slow = TooSlow(f"There was no response within {self.seconds:g} seconds. Send the request again.")
        return respond(Request(scope), slow, slow.headers)


def _is_whole(start: Message) -> bool:
    """Whether the response has a length and is sent at once; without a length it is a stream, which may take long."""
    return any(name == b"content-length" for name, _ in start["headers"])
