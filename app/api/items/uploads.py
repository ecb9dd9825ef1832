"""Receive a body of items: store it as it arrives, then read it in the format of its content type."""

import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import BinaryIO, cast

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.api.http.content_type import CSV, NDJSON, content_type
from app.api.http.idempotency import RequestDigest
from app.api.items.csv_items import csv_items
from app.api.items.json_items import json_items, line_items
from app.api.items.parsed_items import Draft, ParsedItem, Row, RowKind, bad_body, drafts_of
from app.errors import FieldError, UnsupportedMediaType, shortened
from app.use_cases.threads import in_thread

Reader = Callable[[BinaryIO, int], Iterator[ParsedItem]]

_IN_MEMORY_BYTES = 1024 * 1024
_READERS: dict[str, Reader] = {
    "application/json": json_items,
    **dict.fromkeys(NDJSON, line_items),
    CSV: csv_items,
}
_DOCUMENTED = ("application/json", "application/x-ndjson", "text/csv")


class Spool:
    """A body that is stored as it arrives: in memory if it is small, otherwise on disk."""

    def __init__(self, digest: RequestDigest, most_item_bytes: int) -> None:
        self.file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115  closed by `spooled`
        self.digest = digest
        self.most_item_bytes = most_item_bytes
        self.size = 0

    @property
    def is_large(self) -> bool:
        return self.size > _IN_MEMORY_BYTES

    async def fill(self, pieces: AsyncIterator[bytes]) -> None:
        """Write the pieces in a thread, because the disk may be slow; small pieces are collected first."""
        waiting: list[bytes] = []
        gathered = 0
        async for piece in pieces:
            waiting.append(piece)
            gathered += len(piece)
            if gathered >= _IN_MEMORY_BYTES:
                await in_thread(partial(self._write, waiting))
                waiting, gathered = [], 0
        await in_thread(partial(self._write, waiting))

    def _write(self, pieces: Sequence[bytes]) -> None:
        for piece in pieces:
            self.size += self.file.write(piece)
            self.digest.update(piece)

    def drafts(self, reader: Reader, kind: RowKind[Row, Draft]) -> Iterator[list[Draft]]:
        self.file.seek(0)
        return drafts_of(reader(cast("BinaryIO", self.file), self.most_item_bytes), kind)


def reader_for(request: Request) -> Reader:
    """The reader for the request's content type; JSON if none is given."""
    named = content_type(request, "application/json")
    reader = _READERS.get(named)
    if reader is None:
        raise UnsupportedMediaType(
            f"Items cannot be read as {shortened(named)}. Send one of the supported content types.",
            errors=(FieldError("Content-Type", f"Must be {_DOCUMENTED[0]}, {_DOCUMENTED[1]} or {_DOCUMENTED[2]}"),),
        )
    return reader


@asynccontextmanager
async def spooled(request: Request, most_item_bytes: int) -> AsyncIterator[Spool]:
    """Receive the whole body before any lock is taken, so that other requests do not wait for a slow sender."""
    spool = Spool(RequestDigest(request), most_item_bytes)
    try:
        await spool.fill(request.stream())
        yield spool
    except ClientDisconnect as error:
        raise bad_body("The connection ended before the whole body was sent. Send the request again") from error
    finally:
        spool.file.close()
