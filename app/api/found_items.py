"""What the readers of the three formats have in common: an item as it was found, and how its errors are named."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO, NamedTuple

from pydantic import TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from app.api.item_schemas import ItemIn
from app.errors import FieldError, InvalidInput, TooLarge
from app.use_cases.add_items import ItemDraft

BYTE_ORDER_MARK = b"\xef\xbb\xbf"

_MOST_ERRORS = 20
_CHUNK_ITEMS = 2000
_CHUNK_BYTES = 2 * 1024 * 1024
_ITEM = TypeAdapter(ItemIn)


class Found(NamedTuple):
    """An item before it is checked: JSON text, or fields from the cells of a table."""

    source: bytes | Mapping[str, Any]
    size: int  # bytes
    line: int | None = None
    columns: frozenset[str] = frozenset()

    def place(self, column: str | None = None) -> str:
        """How a message about this item begins."""
        if self.line is None:
            return ""
        return f"Line {self.line}: " if column is None else f"Line {self.line}, column {column!r}: "


def drafts_of(found: Iterable[Found]) -> Iterator[list[ItemDraft]]:
    """The items, checked, in chunks that fit into memory; of the first chunk with errors up to 20 are named."""
    position = 0
    for chunk in _chunks(found):
        yield _checked(chunk, position)
        position += len(chunk)
    if not position:
        raise bad_body("There must be at least one item")


def bad_body(message: str, pointer: str = "#") -> InvalidInput:
    return InvalidInput.at(pointer, message)


def too_long(position: int, most: int) -> TooLarge:
    return TooLarge(f"Item {position + 1} has more than {most} bytes")


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """Lines with their ends, none longer than `most`, which the caller must look at: a longer one comes in pieces."""
    first = file.readline(most + 1).removeprefix(BYTE_ORDER_MARK)
    if first:
        yield first
    while line := file.readline(most + 1):
        yield line


def _chunks(found: Iterable[Found]) -> Iterator[list[Found]]:
    chunk: list[Found] = []
    size = 0
    for one in found:
        chunk.append(one)
        size += one.size
        if len(chunk) >= _CHUNK_ITEMS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _checked(chunk: Iterable[Found], first: int) -> list[ItemDraft]:
    drafts: list[ItemDraft] = []
    errors: list[FieldError] = []
    for position, found in enumerate(chunk, start=first):
        try:
            item = _validated(found)
        except ValidationError as error:
            errors += [_field_error(found, position, one) for one in error.errors(include_url=False)]
            if len(errors) >= _MOST_ERRORS:
                break
        else:
            drafts.append(_draft(item, found.line))
    if errors:
        raise InvalidInput.of(errors[:_MOST_ERRORS])
    return drafts


def _validated(found: Found) -> ItemIn:
    if isinstance(found.source, bytes):
        return _ITEM.validate_json(found.source)
    return _ITEM.validate_python(found.source)


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


def _field_error(found: Found, position: int, error: ErrorDetails) -> FieldError:
    path = [str(step) for step in error["loc"] if step != "[key]"]
    steps = "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)
    column = next((name for name in (".".join(path[:2]), *path[:1]) if name in found.columns), None)
    not_json = error["type"] == "json_invalid"
    message = f"Not JSON: {error['ctx']['error']} of this item" if not_json else error["msg"]
    return FieldError(f"#/{position}{steps}", found.place(column) + message)
