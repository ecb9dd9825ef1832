"""Items from a table: the columns that items have, and all others as the payload's fields."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from pydantic_core import from_json

from app.api.found_items import Found, bad_body, lines_of, too_long

_FIELDS = ("key", "payload", "cost", "gold", "prior", "features")
_SHARE = "prior."
csv.field_size_limit(2**31 - 1)  # the length of a row is limited here, by its bytes


def csv_items(file: BinaryIO, most: int) -> Iterator[Found]:
    """A row per item under a row of names; an empty cell leaves its field out."""
    lines = _Lines(file, most)
    rows = _rows(lines)
    _, header = next(rows, (1, []))
    table = _Table(header)
    for line, row in rows:
        yield table.item(row, line, lines)


class _Lines:
    """Lines of text for the csv module, which counts neither bytes nor items."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.lines = lines_of(file, most)
        self.most = most
        self.number = 0
        self.size = 0  # bytes since the row began
        self.position = 0  # items so far

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.number += 1
            self.size += len(line)
            if self.size > self.most:
                raise too_long(self.position, self.most)
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise bad_body(f"Line {self.number}: Must be UTF-8") from error


def _rows(lines: _Lines) -> Iterator[tuple[int, list[str]]]:
    """Rows that say something, with the line in which each begins."""
    reader = csv.reader(iter(lines), strict=True)
    begins = 1
    try:
        for row in reader:
            if row:
                yield begins, row
            begins, lines.size = lines.number + 1, 0
    except csv.Error as error:
        raise bad_body(f"Line {begins}: The row cannot be read: {error}") from error


class _Table:
    """What the first row says of the others."""

    def __init__(self, header: Sequence[str]) -> None:
        names = [name.strip() for name in header]
        _refuse_bad_names(names)
        self.names = names
        self.columns = frozenset(names)
        self.put = [_putter(name) for name in names]

    def item(self, row: Sequence[str], line: int, lines: _Lines) -> Found:
        if len(row) > len(self.put):
            message = f"Line {line}: {len(row)} cells, but only {len(self.put)} columns have a name"
            raise bad_body(message, f"#/{lines.position}")
        fields: dict[str, Any] = {}
        for put, cell in zip(self.put, row, strict=False):
            if cell:
                put(fields, cell)
        found = Found(fields, lines.size, line, self.columns)
        lines.position += 1
        return found


def _refuse_bad_names(names: Sequence[str]) -> None:
    others = [name for name in names if name not in _FIELDS and not name.startswith(_SHARE)]
    if "key" not in names:
        raise bad_body("Line 1: There must be a column 'key'")
    for name, times in Counter(names).items():
        if not name:
            raise bad_body("Line 1: Every column must have a name")
        if times > 1:
            raise bad_body(f"Line 1: The column {name!r} stands there {times} times")
    if "payload" in names and others:
        raise bad_body(
            f"Line 1: With a column 'payload' there is no place for {others[0]!r}, which would be a field of it"
        )
    if "prior" in names and any(name.startswith(_SHARE) for name in names):
        raise bad_body("Line 1: Give 'prior' in one column, or in one per label, not in both ways")


def _putter(name: str) -> Callable[[dict[str, Any], str], None]:
    """How a cell of this column becomes part of an item."""
    if name in {"payload", "prior", "features"}:
        return lambda fields, cell: fields.update({name: _json(cell)})
    if name in _FIELDS:
        return lambda fields, cell: fields.update({name: cell})
    group, field = ("prior", name.removeprefix(_SHARE)) if name.startswith(_SHARE) else ("payload", name)
    return lambda fields, cell: fields.setdefault(group, {}).update({field: cell})


def _json(cell: str) -> Any:  # noqa: ANN401  whatever was sent
    """What is not JSON is a text."""
    try:
        return from_json(cell, allow_inf_nan=False)
    except ValueError:
        return cell
