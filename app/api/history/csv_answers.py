"""Recorded answers from CSV, with the columns that an export of answers has."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from app.api.history.schemas import HistoryAnswerIn
from app.api.items.csv_items import CsvLines, csv_rows, found_columns
from app.api.items.parsed_items import ParsedItem, bad_body
from app.errors import shortened

_COLUMNS = tuple(HistoryAnswerIn.model_fields)
_SAID = ("label", "labels", "value")
_MAY_BE_EMPTY = "labels"  # an answer that no label applies, not an answer that is left out


def csv_answers(file: BinaryIO, most: int) -> Iterator[ParsedItem]:
    """Read one answer per row, below a header row; an empty cell means that its field is left out."""
    lines = CsvLines(file, most)
    rows = csv_rows(lines)
    _, header = next(rows, (1, []))
    names = [name.strip() for name in header]
    _refuse_bad_names(names)
    columns = frozenset(names)
    for line, row in rows:
        if len(row) > len(names):
            message = f"Line {line}: The row has {len(row)} cells, but the header has {len(names)} columns"
            raise bad_body(message, f"#/{lines.position}")
        fields = {name: cell for name, cell in zip(names, row, strict=False) if cell or name == _MAY_BE_EMPTY}
        yield ParsedItem(fields, lines.size, line, columns)
        lines.position += 1


def _refuse_bad_names(names: Sequence[str]) -> None:
    for needed in ("item", "worker"):
        if needed not in names:
            raise bad_body(f"Line 1: There must be a column {needed!r}; {found_columns(names, needed)}")
    if not any(name in names for name in _SAID):
        raise bad_body("Line 1: There must be a column 'label', 'labels' or 'value'")
    for name, times in Counter(names).items():
        if name not in _COLUMNS:
            raise bad_body(f"Line 1: The column {shortened(name)} is unknown; the columns are {', '.join(_COLUMNS)}")
        if times > 1:
            raise bad_body(f"Line 1: The column {shortened(name)} occurs {times} times")
