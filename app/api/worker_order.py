"""In which order workers are listed, and where a page of them ends."""

from decimal import Decimal
from typing import Annotated, Literal, get_args

from fastapi import Query

from app.api.cursors import cursor_of, read_cursor
from app.errors import FieldError, InvalidInput
from app.store.worker_pages import Order, Place, SortKey

Sort = Literal[
    "name",
    "skill",
    "answers",
    "agreement",
    "seconds",
    "price",
    "-name",
    "-skill",
    "-answers",
    "-agreement",
    "-seconds",
    "-price",
]
SortedBy = Annotated[
    Sort, Query(description="A leading minus turns it round. Names decide between equals; unknown values come last")
]
_READ = {SortKey.ANSWERS: int, SortKey.PRICE: Decimal}
_MOST_ANSWERS = 2**63


def order_of(sort: Sort) -> Order:
    return Order(SortKey(sort.removeprefix("-")), descending=sort.startswith("-"))


def cursor_behind(sort: Sort, place: Place) -> str:
    value, name = place
    return cursor_of(sort, "" if value is None else value, name)


def after_worker(cursor: str | None, sort: Sort) -> Place | None:
    """The worker behind which the page starts."""
    if cursor is None:
        return None
    given, value, name = read_cursor(cursor, _three)
    if given != sort:
        raise InvalidInput(
            f"The cursor belongs to a list sorted by {given}, not by {sort}",
            errors=(FieldError("?cursor", f"Must come from a page with sort={sort}; or ask with sort={given}"),),
        )
    return read_cursor(cursor, lambda _: (_value(sort, value), name))


def _three(parts: list[str]) -> tuple[str, str, str]:
    sort, value, name = parts
    if sort not in get_args(Sort) or not isinstance(value, str) or not isinstance(name, str) or "\x00" in name:
        raise ValueError(parts)
    name.encode()  # half a surrogate pair cannot be compared with
    return sort, value, name


def _value(sort: Sort, value: str) -> float | int | Decimal | None:
    if not value:
        return None
    number: float | int | Decimal = _READ.get(order_of(sort).key, float)(value)
    if not -_MOST_ANSWERS < number < _MOST_ANSWERS:
        raise ValueError(value)
    return number
