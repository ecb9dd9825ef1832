"""Read CSV tables made by people, and report errors with file, line and column."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

_GZIP_MAGIC = b"\x1f\x8b"
_OTHER_WORDS = {  # other common names of the columns
    "item": ("task", "question", "example", "instance", "object", "unit", "key", "id"),
    "worker": ("annotator", "user", "rater", "labeler", "performer", "judge", "workerid"),
    "label": ("answer", "response", "vote", "category", "class", "value", "annotation"),
    "truth": ("gold", "label", "gt", "answer", "class", "true", "correct"),
}


class WrongFile(ValueError):
    """A file that cannot be read: which file, where, and what to change."""

    def __init__(self, path: Path, where: "int | Cell", message: str) -> None:
        place = f"line {where}" if isinstance(where, int) else where.place
        super().__init__(f"{path}, {place}: {message}")


class Cell(NamedTuple):
    """A text, and its position in the file."""

    text: str
    line: int
    column: int
    name: str

    @property
    def place(self) -> str:
        return f"line {self.line}, column {self.column} ({self.name})"


def read_table(
    path: Path, columns: Sequence[str], optional: str | None = None, *, also_named: str = "", empty: str = ""
) -> list[tuple[Cell, ...]]:
    """Read the cells of these columns, row by row, and of the `optional` column if the file has it.

    The last of the columns may have the name `also_named` instead. Cells must not be empty, but for those of the column
    `empty`. Other columns are ignored. Files may be compressed with gzip.
    """
    lines = _text(path)
    rows = _rows(path, lines)
    _, header = next(rows, (1, []))
    if columns[-1] not in header and header.count(also_named) == 1:
        columns, empty = (*columns[:-1], also_named), also_named if empty == columns[-1] else empty
    also = (optional,) if optional is not None and header.count(optional) == 1 else ()
    places = [_place(path, header, column) for column in (*columns, *also)]
    needed = [column for column in columns if column != empty]
    return [tuple(_cells(path, row, line, header, places, needed)) for line, row in rows]


def header_of(path: Path) -> list[str]:
    """The names of all columns."""
    return next(_rows(path, _text(path)), (1, []))[1]


def _text(path: Path) -> str:
    raw = path.read_bytes()
    try:
        raw = gzip.decompress(raw) if raw.startswith(_GZIP_MAGIC) else raw
    except (OSError, EOFError, zlib.error) as error:
        raise WrongFile(path, 1, f"the gzip file is damaged ({error})") from error
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise WrongFile(path, line, "the file must be UTF-8 text") from error


def _rows(path: Path, text: str) -> Iterator[tuple[int, list[str]]]:
    """The rows that are not empty, with the line in which each begins."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    begins = 1
    try:
        for row in reader:
            if row:
                yield begins, row
            begins = reader.line_num + 1
    except csv.Error as error:
        raise WrongFile(path, begins, f"the row is not valid CSV ({error})") from error


def _place(path: Path, header: Sequence[str], column: str) -> int:
    if header.count(column) == 1:
        return header.index(column)
    if column in header:
        raise WrongFile(path, 1, f"two columns are named {column!r}: rename one of them")
    if len(header) < 2:  # noqa: PLR2004  every table has several columns
        other = next((mark for mark in ("\t", ";", "|") if mark in "".join(header)), None)
        if other is not None:
            raise WrongFile(path, 1, f"cells are separated by {other!r}: use commas")
    near = [
        name for name in header if name.strip().lower().removesuffix("_id") in (column, *_OTHER_WORDS.get(column, ()))
    ]
    near += get_close_matches(column, header, n=1)
    hint = f"; rename {near[0]!r} to {column!r}" if near else "; the first line must name the columns"
    has = ", ".join(map(repr, header)) if header else "no columns at all"
    raise WrongFile(path, 1, f"there is no column {column!r}: the file has {has}{hint}")


def _cells(
    path: Path, row: list[str], line: int, header: Sequence[str], places: Sequence[int], needed: Sequence[str]
) -> Iterator[Cell]:
    if len(row) != len(header):
        wrong = f"the row has {len(row)} cells, and the first line names {len(header)} columns"
        raise WrongFile(path, line, f"{wrong}: put text with commas into double quotes")
    for place in places:
        cell = Cell(row[place], line, place + 1, header[place])
        if not cell.text and cell.name in needed:
            raise WrongFile(path, cell, "the cell must not be empty")
        yield cell
