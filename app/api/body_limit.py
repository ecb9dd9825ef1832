"""Refuse bodies that are too large before they fill the memory."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import TooLarge


class BodyLimit:
    """Counts what arrives, whatever the headers promise; the refusal is a 413 like any other problem."""

    def __init__(self, app: ASGIApp, most: int) -> None:
        self.app = app
        self.most = most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.most:
                raise HTTPException(
                    TooLarge.status, f"The body has more than {self.most} bytes; send it in several requests"
                )
            return message

        await self.app(scope, counted, send)
