"""Limits of a request: how large its body may be, and how long it may take."""

import asyncio
import re
from dataclasses import dataclass

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.http.problems import ProblemResponse, respond
from app.errors import RequestTimeout, TooLarge, TooSlow

_BULK = re.compile(r"/v1/jobs/[^/]+/(items|answers)")


@dataclass(frozen=True)
class BodySizes:
    """How many bytes a body may have."""

    usual: int
    answers: int  # up to 1,000 of them in one body
    items: int  # which are not kept in memory, so that only the disk limits them


class BodyLimit:
    """Counts the bytes that arrive, whatever the headers say, and answers 413 once they are too many."""

    def __init__(self, app: ASGIApp, sizes: BodySizes) -> None:
        self.app = app
        self.sizes = sizes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        received, most = 0, self._most(scope)

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > most:
                raise HTTPException(
                    TooLarge.status, f"The body has more than {most:,} bytes. Send it in several requests"
                )
            return message

        await self.app(scope, counted, send)

    def _most(self, scope: Scope) -> int:
        bulk = _BULK.fullmatch(scope["path"]) if scope["method"] == "POST" else None
        if bulk is None:
            return self.sizes.usual
        return self.sizes.items if bulk[1] == "items" else self.sizes.answers


def take_your_time(request: Request) -> None:
    """Lift the time limit of a request that is long but has an end, such as an import of a million items."""
    request.state.no_limit()


class TimeLimit:
    """Ends requests that make no progress. The time starts again with each part of a body."""

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
            if not limit.expired():  # a time limit of something inside
                raise
            await self._refusal(scope, waits_for_body=waits_for_body)(scope, receive, send)

    def _put_off(self, limit: asyncio.Timeout, seconds: float | None) -> None:
        if limit.expired() or limit.when() is None:  # it is being ended, or has no limit any more
            return
        limit.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)

    def _refusal(self, scope: Scope, *, waits_for_body: bool) -> ProblemResponse:
        if waits_for_body:
            late = RequestTimeout(
                f"No part of the body has arrived for {self.seconds:g} seconds. Send the request again"
            )
            return respond(Request(scope), late, late.headers)
        slow = TooSlow(f"There was no response within {self.seconds:g} seconds. Send the request again")
        return respond(Request(scope), slow, slow.headers)


def _is_whole(start: Message) -> bool:
    """A response with a length is sent at once; one without is a stream, which may take long."""
    return any(name == b"content-length" for name, _ in start["headers"])
