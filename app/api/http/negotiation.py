"""Choose the format of a response by the request's Accept header (RFC 9110, section 12.5.1)."""

import re
from collections.abc import Sequence

from fastapi import Request
from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from app.api.http.service_route import ServiceRoute
from app.errors import FieldError, NotAcceptable

VARY_DOCUMENTED = {"Vary": {"description": "`Accept`", "schema": {"type": "string"}}}

_RANGE = re.compile(r"\s*([^\s;,/]+)/([^\s;,]+)\s*(;.*)?", re.DOTALL)
_QUALITY = re.compile(r";\s*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)\s*(?:;|$)", re.IGNORECASE)
_ANY_QUALITY = re.compile(r";\s*q\s*=", re.IGNORECASE)


class NegotiatedRoute(ServiceRoute):
    """Adds `Vary: Accept` to every response, also to refusals (section 12.5.5): caches must keep formats apart."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_vary(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)["Vary"] = "Accept"
            await send(message)

        await super().handle(scope, receive, send_with_vary)


def requested_media(request: Request, what: str, offered: Sequence[str], *, named: int | None = None) -> str:
    """Return the media type that the request prefers. A refusal lists the first `named` offered types, or all."""
    chosen = preferred_media(",".join(request.headers.getlist("Accept")), offered)
    if chosen is None:
        names = ", ".join(offered[:named])
        raise NotAcceptable(
            f"{what} are available only as {names}. Change the Accept header.",
            errors=(FieldError("Accept", f"Must allow one of {names}"),),
        )
    return chosen


def preferred_media(accept: str, offered: Sequence[str]) -> str | None:
    """Return the offered media type that the header prefers; None if it allows none.

    A type's quality is that of the most specific range that matches it. If qualities are equal, an exact match wins
    over a wildcard, and then the type that was offered first.

    >>> preferred_media("text/*;q=0.5, application/json;q=0.1", ["application/json", "text/csv"])
    'text/csv'
    >>> preferred_media("text/csv;q=0, */*", ["text/csv"])
    """
    ranges = [found for part in accept.split(",") if (found := _range(part))] if accept.strip() else [("*/*", 1.0)]
    best: tuple[float, int, str | None] = (0.0, 0, None)
    for media in offered:
        quality, precision = _quality(media, ranges)
        if (quality, precision) > best[:2] and quality:
            best = (quality, precision, media)
    return best[2]


def _range(part: str) -> tuple[str, float] | None:
    """Parse a range and its quality; None for text that is not a media range."""
    found = _RANGE.fullmatch(part)
    if found is None:
        return None
    parameters = found[3] or ""
    quality = _QUALITY.search(parameters)
    if quality is None and _ANY_QUALITY.search(parameters):
        return None
    return f"{found[1]}/{found[2]}".lower(), float(quality[1]) if quality else 1.0


def _quality(media: str, ranges: Sequence[tuple[str, float]]) -> tuple[float, int]:
    qualities = dict(ranges)
    for precision, covering in enumerate((media, f"{media.partition('/')[0]}/*", "*/*")):
        if covering in qualities:
            return qualities[covering], 3 - precision
    return 0.0, 0
