"""Items from JSON, one at a time: from one large array, or from one object per line."""

import re
from collections.abc import Iterator
from typing import BinaryIO

from app.api.items.parsed_items import BYTE_ORDER_MARK, ParsedItem, bad_body, lines_of, too_long

_READ_BYTES = 256 * 1024
_MOST_LEVELS = 1000  # the parser refuses fewer, so no valid item has as many
_SPACE = b" \t\r\n"
_NOT_SPACE = re.compile(rb"[^ \t\r\n]")
# Matches up to the next bracket outside a string; pairs of brackets without inner brackets are skipped on the way,
# so that a million empty lists cost a few matches. Possessive quantifiers prevent backtracking on hostile text.
_TEXT = rb'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*+")'
_BRACKET = re.compile(rb"(?:%b|\[%b*+\]|\{%b*+\})*+([\[\]{}])" % (_TEXT, _TEXT, _TEXT), re.DOTALL)


def line_items(file: BinaryIO, most: int) -> Iterator[ParsedItem]:
    """Read one JSON object per line; blank lines are skipped."""
    position = 0
    for number, line in enumerate(lines_of(file, most), start=1):
        if len(line) > most:
            raise too_long(position, most)
        text = line.strip(_SPACE)
        if not text:
            continue
        if not text.startswith(b"{"):
            raise bad_body(f"Line {number}: Must be a JSON object", f"#/{position}")
        yield ParsedItem(text, len(text), number)
        position += 1


def json_items(file: BinaryIO, most: int) -> Iterator[ParsedItem]:
    """Read the objects of one JSON array.

    Counting brackets finds the end of each object, which is then parsed separately. The available streaming parser
    changes broken characters, refuses long numbers and crashes on deeply nested objects.
    """
    text = _Text(file, most)
    if text.next_sign() != b"[":
        raise bad_body("Must be a JSON array of items")
    separator = b"," if text.peek() != b"]" else text.next_sign()
    while separator == b",":
        yield text.item()
        separator = text.next_sign()
    if separator != b"]":
        raise bad_body(
            f"The body is not JSON: after item {text.position} there must be a comma or the end of the array"
        )
    if text.next_sign():
        raise bad_body("The body is not JSON: there is text after the array")


def _not_an_item(sign: bytes, position: int) -> tuple[str, str]:
    if not sign:
        return "The body is not JSON: it ends within the array", "#"
    if sign in b"],":
        return f"The body is not JSON: item {position + 1} is missing after the comma", "#"
    return "Must be a JSON object", f"#/{position}"


class _Text:
    """A buffer on the file that moves forward as items are read from it."""

    def __init__(self, file: BinaryIO, most: int) -> None:
        self.file = file
        self.most = most
        self.window = file.read(_READ_BYTES).removeprefix(BYTE_ORDER_MARK)
        self.at = 0
        self.position = 0  # items taken

    def peek(self) -> bytes:
        """Return the next character that is not space, without consuming it; empty at the end."""
        while not (found := _NOT_SPACE.search(self.window, self.at)):
            self.at = len(self.window)
            if not self._more():
                return b""
        self.at = found.start()
        return found.group()

    def next_sign(self) -> bytes:
        """Consume and return the next character that is not space."""
        sign = self.peek()
        self.at += len(sign)
        return sign

    def item(self) -> ParsedItem:
        """Consume and return the next object."""
        if (sign := self.peek()) != b"{":
            raise bad_body(*_not_an_item(sign, self.position))
        depth, seen = 1, 1  # seen: bytes since the item's beginning
        while depth:
            bracket = _BRACKET.match(self.window, self.at + seen)
            if bracket is None:
                self._grow()
                continue
            depth += 1 if bracket.group(1) in b"{[" else -1
            if depth > _MOST_LEVELS:
                raise bad_body(f"Must have at most {_MOST_LEVELS:,} nested levels", f"#/{self.position}")
            seen = bracket.end() - self.at
        if seen > self.most:
            raise too_long(self.position, self.most)
        source = self.window[self.at : self.at + seen]
        self.at += seen
        self.position += 1
        return ParsedItem(source, seen)

    def _grow(self) -> None:
        if len(self.window) - self.at > self.most:
            raise too_long(self.position, self.most)
        if not self._more():
            raise bad_body(f"The body is not JSON: it ends within item {self.position + 1}")

    def _more(self) -> bool:
        """Read more of the file; twice as much each time, so that a long item is not searched too often."""
        rest = self.window[self.at :]
        read = self.file.read(max(_READ_BYTES, len(rest)))
        self.window, self.at = rest + read, 0
        return bool(read)
