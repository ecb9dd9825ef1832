"""A body of items on its way in: put aside as it comes, then read in the format that its header names."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import BinaryIO, cast

from fastapi import Request
from starlette.requests import ClientDisconnect

from app.api.csv_items import csv_items
from app.api.found_items import Found, bad_body, drafts_of
from app.api.idempotency import RequestDigest
from app.api.json_items import json_items, line_items
from app.errors import FieldError, UnsupportedMediaType
from app.use_cases.add_items import ItemDraft
from app.use_cases.threads import in_thread
from app.use_cases.turns import Turns

Reader = Callable[[BinaryIO, int], Iterator[Found]]

_IN_MEMORY_BYTES = 1024 * 1024
_READERS: dict[str, Reader] = {
    "application/json": json_items,
    "application/x-ndjson": line_items,
    "application/ndjson": line_items,
    "application/jsonl": line_items,
    "application/x-jsonlines": line_items,
    "text/csv": csv_items,
}
TAKEN = ("application/json", "application/x-ndjson", "text/csv")  # the names by which the documentation knows them


class Imports:
    """How many imports a process works on at once: a large one takes long, and each holds a connection meanwhile.

    Of one job they come in turn, before they take one of these places, so that no other job's wait for it.
    """

    def __init__(self, large: int = 2, small: int = 4) -> None:
        self.turns = Turns()
        self.large = asyncio.Semaphore(large)
        self.small = asyncio.Semaphore(small)


class Spool:
    """A body that has arrived."""

    def __init__(self, digest: RequestDigest, most_item_bytes: int) -> None:
        self.file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES)  # noqa: SIM115  closed by `spooled`
        self.digest = digest
        self.most_item_bytes = most_item_bytes
        self.size = 0

    @property
    def is_large(self) -> bool:
        return self.size > _IN_MEMORY_BYTES

    async def fill(self, pieces: AsyncIterator[bytes]) -> None:
        """Small pieces gather until they are worth a thread: the disk may be slow."""
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

    def drafts(self, reader: Reader) -> Iterator[list[ItemDraft]]:
        self.file.seek(0)
        return drafts_of(reader(cast("BinaryIO", self.file), self.most_item_bytes))


def reader_for(request: Request) -> Reader:
    """By the content type; JSON where none is given."""
    named = request.headers.get("Content-Type", "application/json")
    reader = _READERS.get(named.partition(";")[0].strip().lower())
    if reader is None:
        raise UnsupportedMediaType(
            f"Items cannot be read from {named!r}",
            errors=(FieldError("Content-Type", f"Must be {TAKEN[0]}, {TAKEN[1]} or {TAKEN[2]}"),),
        )
    return reader


@asynccontextmanager
async def spooled(request: Request) -> AsyncIterator[Spool]:
    """The whole body, in memory while it is small and else on disk, so that a slow sender keeps nobody waiting."""
    spool = Spool(RequestDigest(request), request.app.state.settings.max_body_bytes)
    try:
        await spool.fill(request.stream())
        yield spool
    except ClientDisconnect as error:
        raise bad_body("The body ended before all of it was sent") from error
    finally:
        spool.file.close()
