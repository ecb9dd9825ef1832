"""The body of an upload, as a client streams it."""

from collections.abc import AsyncIterator
from pathlib import Path


async def pieces_of(path: Path) -> AsyncIterator[bytes]:
    """A file in pieces, so that the client holds none of it in memory."""
    with path.open("rb") as file:
        while piece := file.read(2**18):
            yield piece
