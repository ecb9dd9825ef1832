"""Shared by the readers of the three formats: rows before validation, and their error messages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Generic, NamedTuple, TypeVar

from propcache.api import cached_property
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, from_json

from app.api.http.invalid_fields import sentence, unknown_field
from app.api.http.json_body import refuse_bad_shape
from app.api.items.schemas import ItemIn
from app.errors import MOST_ERRORS, FieldError, InvalidInput, TooLarge, shortened
from app.use_cases.items.add_items import ItemDraft

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_LARGE_BYTES = 64 * 1024
_CHUNK_ITEMS = 2000
_CHUNK_BYTES = 2 * 1024 * 1024

Row = TypeVar("Row", bound=BaseModel)
Draft = TypeVar("Draft")


class ParsedItem(NamedTuple):
    """An item before validation: JSON text, or fields from the cells of a CSV row."""

    source: bytes | Mapping[str, Any]
    size: int  # bytes
    line: int | None = None
    columns: frozenset[str] = frozenset()

    def place(self, column: str | None = None) -> str:
        """Return the beginning of a message about this item: its line, and its column if known."""
        if self.line is None:
            return ""
        return f"Line {self.line}: " if column is None else f"Line {self.line}, column {column!r}: "


@dataclass(frozen=True)
class RowKind(Generic[Row, Draft]):
    """What the rows of a body are: their schema, and what a use case takes for each, with its line."""

    name: str
    schema: type[Row]
    draft: Callable[[Row, int | None], Draft]

    @cached_property
    def adapter(self) -> TypeAdapter[Row]:
        return TypeAdapter(self.schema)


def drafts_of(found: Iterable[ParsedItem], kind: RowKind[Row, Draft]) -> Iterator[list[Draft]]:
    """Validate rows in chunks that fit into memory; raises at the first chunk with errors."""
    position = 0
    for chunk in _chunks(found):
        yield _checked(chunk, position, kind)
        position += len(chunk)
    if not position:
        raise bad_body(f"There must be at least one {kind.name}")


def bad_body(message: str, pointer: str = "#") -> InvalidInput:
    return InvalidInput.at(pointer, message)


def too_long(position: int, most: int) -> TooLarge:
    return TooLarge(
        f"Item {position + 1} has more than {most:,} bytes. Put a link into its payload instead of the content."
    )


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Yield lines with their line ends; a line longer than `most` comes in pieces, so the caller must check lengths."""
    first = file.readline(most + 1).removeprefix(BYTE_ORDER_MARK)
    if first:
        yield first
    while line := file.readline(most + 1):
        yield line


def _chunks(found: Iterable[ParsedItem]) -> Iterator[list[ParsedItem]]:
    chunk: list[ParsedItem] = []
    size = 0
    for one in found:
        chunk.append(one)
        size += one.size
        if len(chunk) >= _CHUNK_ITEMS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _checked(chunk: Iterable[ParsedItem], first: int, kind: RowKind[Row, Draft]) -> list[Draft]:
    drafts: list[Draft] = []
    errors: list[FieldError] = []
    for position, found in enumerate(chunk, start=first):
        try:
            row = _validated(found, position, kind.adapter)
        except ValidationError as error:
            all_of_them = error.errors(include_url=False)[:MOST_ERRORS]
            errors += [_field_error(found, position, one, kind) for one in all_of_them]
            if len(errors) >= MOST_ERRORS:
                break
        else:
            drafts.append(kind.draft(row, found.line))
    if errors:
        raise InvalidInput.of(errors[:MOST_ERRORS])
    return drafts


def _validated(found: ParsedItem, position: int, adapter: TypeAdapter[Row]) -> Row:
    if found.size > _LARGE_BYTES:
        _refuse_bad_shape(found.source, f"#/{position}")
    if isinstance(found.source, bytes):
        return adapter.validate_json(found.source)
    return adapter.validate_python(found.source)


def _refuse_bad_shape(source: bytes | Mapping[str, Any], pointer: str) -> None:
    """Refuse an item with too many unknown fields, each of which would be an error; a payload may be large."""
    with suppress(ValueError):  # JSON that cannot be read is refused later
        fields = from_json(source) if isinstance(source, bytes) else source
        refuse_bad_shape({name: one for name, one in fields.items() if name != "payload"}, pointer)


def _draft(item: ItemIn, line: int | None) -> ItemDraft:
    return ItemDraft(
        key=item.key,
        payload=item.payload,
        cost=item.cost,
        gold=item.gold,
        prior=item.prior,
        features=item.features,
        line=line,
    )


ITEMS = RowKind("item", ItemIn, _draft)


def _field_error(found: ParsedItem, position: int, error: ErrorDetails, kind: RowKind[Row, Draft]) -> FieldError:
    path = [shortened(step, quoted=False) for step in error["loc"] if step != "[key]"]
    steps = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)
    column = next((name for name in (".".join(path[:2]), *path[:1]) if name in found.columns), None)
    not_json = error["type"] == "json_invalid"
    if not_json:
        message = f"Not JSON: {error['ctx']['error']} of this {kind.name}"
    elif error["type"] == "extra_forbidden":
        message = unknown_field(error["loc"], kind.schema)
    else:
        message = sentence(error)
    return FieldError(f"#/{position}{steps}", found.place(column) + message)
