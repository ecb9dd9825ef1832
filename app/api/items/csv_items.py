"""Items from CSV: known columns become fields of the item, all others fields of its payload."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

from pydantic_core import from_json

from app.api.items.parsed_items import ParsedItem, bad_body, lines_of, too_long
from app.errors import shortened

_FIELDS = ("key", "payload", "cost", "gold", "prior", "features")
_SHARE = "prior."
_MOST_NAMED = 20
csv.field_size_limit(2**31 - 1)  # `CsvLines` limits the bytes of a row instead


def csv_items(file: BinaryIO, most: int) -> Iterator[ParsedItem]:
    """Read one item per row, below a header row; an empty cell means that its field is left out."""
    lines = CsvLines(file, most)
    rows = csv_rows(lines)
    _, header = next(rows, (1, []))
    table = _Table(header)
    for line, row in rows:
        yield table.item(row, line, lines)


class CsvLines:
    """Lines of text for the csv module; also counts bytes and items, which that module does not."""

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


def csv_rows(lines: CsvLines) -> Iterator[tuple[int, list[str]]]:
    """Yield rows that are not empty, each with the number of its first line."""
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
    """The columns from the header row."""

    def __init__(self, header: Sequence[str]) -> None:
        names = [name.strip() for name in header]
        _refuse_bad_names(names)
        self.names = names
        self.columns = frozenset(names)
        self.put = [_putter(name) for name in names]

    def item(self, row: Sequence[str], line: int, lines: CsvLines) -> ParsedItem:
        if len(row) > len(self.put):
            message = f"Line {line}: The row has {len(row)} cells, but the header has {len(self.put)} columns"
            raise bad_body(message, f"#/{lines.position}")
        fields: dict[str, Any] = {}
        for put, cell in zip(self.put, row, strict=False):
            if cell:
                put(fields, cell)
        found = ParsedItem(fields, lines.size, line, self.columns)
        lines.position += 1
        return found


def _refuse_bad_names(names: Sequence[str]) -> None:
    others = [name for name in names if name not in _FIELDS and not name.startswith(_SHARE)]
    if "key" not in names:
        raise bad_body(f"Line 1: There must be a column 'key'; {found_columns(names)}")
    for name, times in Counter(names).items():
        if not name:
            raise bad_body("Line 1: Every column must have a name")
        if times > 1:
            raise bad_body(f"Line 1: The column {shortened(name)} occurs {times} times")
    if "payload" in names and others:
        raise bad_body(f"Line 1: Use a column 'payload', or columns such as {shortened(others[0])}, but not both")
    if "prior" in names and any(name.startswith(_SHARE) for name in names):
        raise bad_body("Line 1: Give 'prior' in one column or in one column per label, not in both")


def found_columns(names: Sequence[str], owner: str = "item") -> str:
    """Describe the columns that were found, for the message."""
    if len(names) == 1 and (sign := next((sign for sign in ";\t|" if sign in names[0]), None)):
        return f"the columns must be separated by commas, not by {'tabs' if sign == chr(9) else repr(sign)}"
    listed = ", ".join(shortened(name) for name in names[:_MOST_NAMED])
    return f"the columns are {listed}; rename the one with the {owner}'s name" if names else "the first line is empty"


def _putter(name: str) -> Callable[[dict[str, Any], str], None]:
    """Return a function that puts a cell of this column into an item."""
    if name in {"payload", "prior", "features"}:
        return lambda fields, cell: fields.update({name: _json(cell)})
    if name in _FIELDS:
        return lambda fields, cell: fields.update({name: cell})
    group, field = ("prior", name.removeprefix(_SHARE)) if name.startswith(_SHARE) else ("payload", name)
    return lambda fields, cell: fields.setdefault(group, {}).update({field: cell})


def _json(cell: str) -> Any:  # noqa: ANN401  whatever was sent
    """Parse the cell as JSON; text that is not JSON is a string."""
    try:
        return from_json(cell, allow_inf_nan=False)
    except ValueError:
        return cell
