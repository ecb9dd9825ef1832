"""Send many rows as one array per column: one statement, however many rows, and always the same text of it."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import ARRAY, JSON, Column, ColumnElement, Text, bindparam, cast, func


def as_rows(columns: Sequence[Column[Any]], values: Sequence[Sequence[Any]]) -> list[ColumnElement[Any]]:
    """The columns of a table that is made of `values`, one sequence per column. JSON and arrays travel as text."""
    sent = [
        bindparam(f"rows_{column.name}", [_written(column)(value) for value in given], ARRAY(_carrier(column)))
        for column, given in zip(columns, values, strict=True)
    ]
    table = func.unnest(*sent).table_valued(*(column.name for column in columns), name="sent").render_derived()
    return [cast(table.c[column.name], column.type) for column in columns]


def _carrier(column: Column[Any]) -> Any:  # noqa: ANN401  a type of SQLAlchemy
    return Text() if isinstance(column.type, JSON | ARRAY) else column.type


def _written(column: Column[Any]) -> Callable[[Any], Any]:
    if isinstance(column.type, JSON):
        return json.dumps
    return _array if isinstance(column.type, ARRAY) else _as_it_is


def _array(values: Sequence[float]) -> str:
    return "{" + ",".join(map(repr, values)) + "}"


def _as_it_is(value: Any) -> Any:  # noqa: ANN401  whatever the column holds
    return value
