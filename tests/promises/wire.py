"""HTTP by hand over asyncio streams: light enough that sixty clients in one process do not slow the service down."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Reply:
    status: int
    body: Any


class ConnectionLost(Exception):
    """No answer came: the request may have been carried out, or not."""


class Wire:
    """One connection, kept open between requests."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host, self.port = parts.hostname or "", parts.port or 80
        self.streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> Reply:
        return await self._request("GET", path, None)

    async def post(self, path: str, body: object = None) -> Reply:
        return await self._request("POST", path, body)

    async def send(self, method: str, path: str, body: object) -> asyncio.StreamReader:
        """Only send; the caller reads the response if it needs it."""
        if self.streams is not None and self.streams[0].at_eof():
            self.hang_up()  # the service closes what is idle for some seconds
        if self.streams is None:
            self.streams = await asyncio.open_connection(self.host, self.port)
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}\r\nContent-Type: application/json\r\n"
        reader, writer = self.streams
        writer.write(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        await writer.drain()
        return reader

    async def _request(self, method: str, path: str, body: object) -> Reply:
        try:
            async with asyncio.timeout(60):
                return await _read(await self.send(method, path, body))
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self.hang_up()
            raise ConnectionLost(repr(error)) from error

    def hang_up(self) -> None:
        if self.streams is not None:
            self.streams[1].transport.abort()
            self.streams = None


async def _read(reader: asyncio.StreamReader) -> Reply:
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    status = int(head.split(" ", 2)[1])
    [length] = [line.partition(":")[2] for line in head.split("\r\n") if line.startswith("content-length:")]
    return Reply(status, json.loads(await reader.readexactly(int(length))))
