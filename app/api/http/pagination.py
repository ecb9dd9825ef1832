"""Cursors: the position after a page, as an opaque string."""

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, TypeVar
from uuid import UUID

from fastapi import Query
from pydantic import Field

from app.errors import CursorInvalid, FieldError

Cursor = Annotated[str | None, Query(max_length=2000, description="The `next_cursor` of the previous page")]
Limit = Annotated[int, Query(ge=1, le=1000, description="The largest number of entries on the page")]
NextCursor = Annotated[str | None, Field(description="Send it as `cursor` to get the next page; null on the last page")]
Position = TypeVar("Position")

_ERRORS = (ValueError, ArithmeticError, TypeError, LookupError, AttributeError, RecursionError)


def after_number(cursor: str | None) -> int:
    """Read the number after which the page starts."""
    return 0 if cursor is None else read_cursor(cursor, _number)


def before_number(cursor: str | None) -> int:
    """Read the number before which the page starts, in a list with the newest first."""
    return 2**63 - 1 if cursor is None else read_cursor(cursor, _number)


def after_job(cursor: str | None) -> tuple[datetime, UUID] | None:
    """Read the job after which the page starts: the time of its creation, and its id."""
    return None if cursor is None else read_cursor(cursor, _job)


def cursor_of(*parts: object) -> str:
    return urlsafe_b64encode(json.dumps([str(part) for part in parts], ensure_ascii=False).encode()).decode()


def read_cursor(cursor: str, understand: Callable[[list[str]], Position]) -> Position:
    """Decode a cursor and parse its parts with `understand`; refuse a cursor that it cannot parse."""
    try:
        return understand(json.loads(b64decode(cursor, altchars=b"-_", validate=True)))
    except _ERRORS as error:
        message = "Must be the `next_cursor` of an earlier page of the same list"
        raise CursorInvalid(
            "The cursor does not come from a page of this list. Leave it out to start again.",
            errors=(FieldError("?cursor", message),),
        ) from error


def _number(parts: list[str]) -> int:
    number = int(parts[0])
    if not 0 <= number < 2**63:
        raise ValueError(number)
    return number


def _job(parts: list[str]) -> tuple[datetime, UUID]:
    created_at, job_id = datetime.fromisoformat(parts[0]), UUID(parts[1])
    created_at.astimezone(UTC)  # the first and last dates overflow here instead of in the database
    if created_at.tzinfo is None:
        raise ValueError(parts[0])
    return created_at, job_id
