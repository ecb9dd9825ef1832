"""The order in which workers are listed, and cursors into that order."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated, Literal, get_args

from fastapi import Query

from app.api.http.pagination import cursor_of, read_cursor
from app.domain.worker import SortValue, WorkerOrder, WorkerPosition, WorkerSortKey
from app.errors import CursorInvalid, FieldError

Sort = Literal[
    "name",
    "skill",
    "answers",
    "agreement",
    "seconds",
    "price",
    "copying_probability",
    "-name",
    "-skill",
    "-answers",
    "-agreement",
    "-seconds",
    "-price",
    "-copying_probability",
]
SortedBy = Annotated[
    Sort,
    Query(description="A leading minus reverses the order. Equal values are sorted by name; unknown values come last"),
]
_MOST = 2**63  # more than any number of answers, and than any other sort value


def _price(text: str) -> Decimal:
    if "E" in text.upper():  # our cursors have no exponent, and Postgres does not accept a very long one
        raise ValueError(text)
    return Decimal(text)


_READ: dict[WorkerSortKey, Callable[[str], SortValue]] = {WorkerSortKey.ANSWERS: int, WorkerSortKey.PRICE: _price}


def order_of(sort: Sort) -> WorkerOrder:
    return WorkerOrder(WorkerSortKey(sort.removeprefix("-")), descending=sort.startswith("-"))


def cursor_behind(sort: Sort, place: WorkerPosition) -> str:
    value, name = place
    return cursor_of(sort, "" if value is None else value, name)


def after_worker(cursor: str | None, sort: Sort) -> WorkerPosition | None:
    """Read the position after which the page starts."""
    if cursor is None:
        return None
    given, value, name = read_cursor(cursor, _three)
    if given != sort:
        raise CursorInvalid(
            f"The cursor comes from a list sorted by {given}, not by {sort}. Use the same `sort` for all pages.",
            errors=(FieldError("?cursor", f"Must come from a page with sort={sort}; or send sort={given}"),),
        )
    return read_cursor(cursor, lambda _: (_value(sort, value), name))


def _three(parts: list[str]) -> tuple[str, str, str]:
    sort, value, name = parts
    if sort not in get_args(Sort) or not isinstance(value, str) or not isinstance(name, str) or "\x00" in name:
        raise ValueError(parts)
    name.encode()  # raises for half a surrogate pair, which Postgres cannot compare
    return sort, value, name


def _value(sort: Sort, value: str) -> SortValue | None:
    if not value:
        return None
    number = _READ.get(order_of(sort).key, float)(value)
    if not -_MOST < number < _MOST:
        raise ValueError(value)
    return number
