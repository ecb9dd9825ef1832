"""Where a page ends, as a string that only we read."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Query

from app.errors import FieldError, InvalidInput

Cursor = Annotated[str | None, Query(max_length=2000, description="`next_cursor` of the page before")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many on a page")]
Position = TypeVar("Position")


def after_number(cursor: str | None) -> int:
    """The number behind which the page starts."""
    return 0 if cursor is None else read_cursor(cursor, _a_number)


def before_number(cursor: str | None) -> int:
    """The number before which the page ends."""
    return 2**63 - 1 if cursor is None else read_cursor(cursor, _a_number)


def after_job(cursor: str | None) -> tuple[datetime, UUID] | None:
    """The job behind which the page starts."""
    return (
        None
        if cursor is None
        else read_cursor(cursor, lambda parts: (datetime.fromisoformat(parts[0]), UUID(parts[1])))
    )


def cursor_of(*parts: object) -> str:
    return urlsafe_b64encode(json.dumps([str(part) for part in parts], ensure_ascii=False).encode()).decode()


def _a_number(parts: list[str]) -> int:
    number = int(parts[0])
    if not 0 <= number < 2**63:
        raise ValueError(number)
    return number


def read_cursor(cursor: str, understand: Callable[[list[str]], Position]) -> Position:
    try:
        return understand(json.loads(b64decode(cursor, altchars=b"-_", validate=True)))
    except (ValueError, ArithmeticError, TypeError, LookupError, AttributeError) as error:
        raise InvalidInput(
            "The cursor is not one that a page gave",
            errors=(FieldError("?cursor", "Must be the `next_cursor` of an earlier page of the same list"),),
        ) from error
