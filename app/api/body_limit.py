"""Refuse bodies that are too large before they fill the memory."""

import re

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.errors import TooLarge

_ITEMS = re.compile(r"/v1/jobs/[^/]+/items")


class BodyLimit:
    """Counts what arrives, whatever the headers promise; the refusal is a 413 like any other problem."""

    def __init__(self, app: ASGIApp, most: int, most_imported: int) -> None:
        self.app = app
        self.most = most
        self.most_imported = most_imported

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
                    TooLarge.status, f"The body has more than {most} bytes; send it in several requests"
                )
            return message

        await self.app(scope, counted, send)

    def _most(self, scope: Scope) -> int:
        """Items are not kept in memory, so that their number is limited only by the disk."""
        imported = scope["method"] == "POST" and _ITEMS.fullmatch(scope["path"])
        return self.most_imported if imported else self.most
