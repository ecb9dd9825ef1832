"""End requests that make no progress, so that none holds a connection for ever."""

import asyncio

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import ProblemResponse, respond
from app.errors import RequestTimeout, TooSlow


def take_your_time(request: Request) -> None:
    """For work that is long but has an end, such as a million items: from here on the limit does not apply."""
    request.state.no_limit()


class TimeLimit:
    """Counts anew whenever a part of a long body arrives, and no more once a long response is on its way."""

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
            if not limit.expired():  # somebody else's
                raise
            await self._refusal(scope, waits_for_body=waits_for_body)(scope, receive, send)

    def _put_off(self, limit: asyncio.Timeout, seconds: float | None) -> None:
        if limit.expired() or limit.when() is None:  # what is being ended cleans up; what has answered may go on
            return
        limit.reschedule(None if seconds is None else asyncio.get_running_loop().time() + seconds)

    def _refusal(self, scope: Scope, *, waits_for_body: bool) -> ProblemResponse:
        if waits_for_body:
            late = RequestTimeout(f"Nothing more of the body has come for {self.seconds:g} seconds")
            return respond(Request(scope), late, late.headers)
        slow = TooSlow(f"There was no answer within {self.seconds:g} seconds; send the request again")
        return respond(Request(scope), slow, slow.headers)


def _is_whole(start: Message) -> bool:
    """A response that says how long it is follows at once; one that does not may take its time."""
    return any(name == b"content-length" for name, _ in start["headers"])
