"""Read a JSON body safely: a hostile body must not block the service.

Large bodies are parsed in a thread. The lengths of lists and objects are checked before pydantic validates the body:
a list of a million wrong entries would become a million errors, which take seconds and gigabytes to collect.
"""

import asyncio
import json
from typing import Any

from fastapi import Request

from app.api.http.content_type import content_type
from app.errors import BodyUnreadable, FieldError, InvalidInput, shortened

LARGE_BYTES = 256 * 1024  # larger bodies are parsed in a thread
MOST_ENTRIES = 10_000  # of any list in a body
MOST_FIELDS = 1_000  # of any object in a body


def is_json(request: Request) -> bool:
    """Whether the request's content type is JSON."""
    media = content_type(request)
    return media == "application/json" or (media.startswith("application/") and media.endswith("+json"))


async def read_json(body: bytes) -> Any:  # noqa: ANN401  whatever was sent
    """Parse the body and check its shape, in a thread if it is large."""
    if len(body) <= LARGE_BYTES:
        return _parsed(body)
    return await asyncio.to_thread(_parsed, body)


def _parsed(body: bytes) -> Any:  # noqa: ANN401  whatever was sent
    try:
        value = json.loads(body)
    except json.JSONDecodeError as error:
        message = f"The body is not JSON: {error.msg}, at character {error.pos}"
        raise BodyUnreadable(message, errors=(FieldError("#", message),)) from None
    except (ValueError, RecursionError):
        message = "Must be JSON in UTF-8, with fewer than 1,000 nested levels and fewer than 4,000 digits per number"
        raise BodyUnreadable("The body cannot be read as JSON", errors=(FieldError("#", message),)) from None
    refuse_bad_shape(value)
    return value


def refuse_bad_shape(value: Any, pointer: str = "#") -> None:  # noqa: ANN401  whatever was sent
    """Refuse lists and objects that are too long for every operation, at any depth.

    >>> refuse_bad_shape({"labels": ["cat"] * 10_001})
    Traceback (most recent call last):
    app.errors.InvalidInput: #/labels: Must have at most 10,000 entries, not 10,001
    """
    waiting: list[tuple[str, Any]] = [(pointer, value)] if _has_inner(value) else []
    while waiting:
        place, at = waiting.pop()
        most, what = (MOST_FIELDS, "fields") if isinstance(at, dict) else (MOST_ENTRIES, "entries")
        if len(at) > most:
            raise InvalidInput.at(place, f"Must have at most {most:,} {what}, not {len(at):,}")
        inner = at.items() if isinstance(at, dict) else enumerate(at)
        waiting += [(f"{place}/{shortened(step, quoted=False)}", one) for step, one in inner if _has_inner(one)]


def _has_inner(value: Any) -> bool:  # noqa: ANN401  whatever was sent
    return isinstance(value, dict | list)
